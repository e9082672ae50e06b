// SPDX-License-Identifier: BSD-3-Clause
// Points are planned as the cells of a mesh that has one more along each axis. Of the points on the
// border of two blocks, the upper block sends them, so that each point is sent once.
#include "stagehost/box_points.hpp"

#include "stagehost/block_geometry.hpp"

namespace pillion::stagehost {

using model::Box;

namespace {

/// The points of all cells of a box.
Box points_of(Box cells, const model::Mesh& mesh) {
  for (size_t d = 0; d < static_cast<size_t>(mesh.axes); ++d) ++cells.hi[d];
  return cells;
}

/// The points that no other box of the mesh sends.
Box own_points_of(Box cells, const model::Mesh& mesh) {
  for (size_t d = 0; d < static_cast<size_t>(mesh.axes); ++d)
    if (cells.hi[d] == mesh.cells[d]) ++cells.hi[d];
  return cells;
}

}  // namespace

void BoxPoints::bring(const model::Mesh& mesh, const model::MeshBlocks& mine,
                      const std::string& field, std::vector<model::Block>& blocks,
                      const ExecutionContext& context) {
  const auto& described = context.catalogue->field(mesh.coordinates);
  redistribution::FieldArrays points{.components = described.components,
                                     .element = model::size_of(described.type)};
  std::vector<Box> here, wanted;
  for (const auto& block : mine.blocks) {
    if (!block.arrays.contains(field)) continue;
    here.push_back(own_points_of(block.box, mesh));
    points.from.push_back(layout::source_of(geometry_of(block, mesh.coordinates), block.box));
  }
  for (const auto& block : blocks) wanted.push_back(points_of(block.box, mesh));
  const size_t per_point = points.element * static_cast<size_t>(points.components);
  const bool stays = plan_ && plan_->here() == here && wanted_ == wanted;
  if (context.fence->any_before_collective(!stays)) {
    plan_.reset();
    const Box all = points_of({{0, 0, 0}, mesh.cells}, mesh);
    plan_.emplace(*context.peers, std::move(here),
                  redistribution::WantedBoxes{wanted, all, {false, false, false}});
    wanted_ = std::move(wanted);
    int64_t needed = 0;
    for (const auto& box : wanted_) needed += box.volume();
    if (const int64_t came = plan_->cells_received() + plan_->cells_kept(); came != needed) {
      plan_.reset();
      base::fail(ErrorCode::Sharing,
                 "a peer needs {} points of mesh '{}', but '{}' is shared at {} of them; to divide "
                 "a mesh again, each of its cells must be shared by one rank",
                 needed, mesh.name, mesh.coordinates, came);
    }
    plan_->reserve(per_point);
  }
  int64_t count = 0;
  for (const auto& box : wanted_) count += box.volume();
  std::byte* at = room_.of(static_cast<size_t>(count) * per_point);
  for (size_t b = 0; b < blocks.size(); ++b) {
    const Box& box = wanted_[b];
    points.to.push_back(layout::packed_at(at, box, points.components));
    model::Array array{at, described.type, points.components,
                       model::packed_strides(box, points.components), model::Centering::Point};
    model::set_point_extents((1u << static_cast<unsigned>(mesh.axes)) - 1, blocks[b].box, array);
    blocks[b].arrays[mesh.coordinates] = std::move(array);
    at += static_cast<size_t>(box.volume()) * per_point;
  }
  context.fence->before_collective();
  plan_->exchange(std::span(&points, 1));
}

}  // namespace pillion::stagehost
