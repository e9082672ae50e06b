// SPDX-License-Identifier: BSD-3-Clause
// A publication of what is shared: the blocks of each mesh, whose fields must fit together.
#include <algorithm>

#include "model/geometry.hpp"
#include "model/topology.hpp"
#include "redistribution/coverage.hpp"
#include "simulation/sharing.hpp"

namespace pillion::simulation {

using model::Block;
using model::Box;

namespace {

[[noreturn]] void differ(const model::Mesh& mesh, const std::string& field, int32_t block,
                         const Box& one, const Box& other) {
  const auto text_of = [&](const Box& box) {
    return is_counted(mesh.kind) ? fmt::format("{} {}", box.extent(0), model::items_of(mesh.kind))
                                 : model::to_string(box, 3);
  };
  base::fail(ErrorCode::Sharing,
             "block {} of field '{}' was shared as {}, but another field of mesh '{}' as {}", block,
             field, text_of(one), mesh.name, text_of(other));
}

}  // namespace

// Cells name points, and programs may share either first, and either again.
Sharing::CellRange Sharing::cells_of(const model::Mesh& mesh, const std::string& name,
                                     int32_t block, const Shared& entry) const {
  const auto* cells = find(model::topology_of(mesh.name), block);
  const auto* points = find(model::coordinates_of(mesh.name), block);
  if (cells == nullptr || points == nullptr)
    base::fail(ErrorCode::Sharing,
               "block {} of mesh '{}' was shared without {}; call {} before the step", block,
               mesh.name, cells == nullptr ? "its cells" : "its points",
               cells == nullptr ? "pillion_share_cells" : "pillion_share_points");
  const auto topology = model::read_topology(
      {static_cast<const std::byte*>(cells->data), static_cast<size_t>(cells->extents[0])});
  if (topology.least_points > points->extents[0])
    base::fail(ErrorCode::Sharing, "cells of block {} of mesh '{}', rank {}: {}", block, mesh.name,
               rank_,
               model::fault_of(topology, points->extents[0], mesh.axes, mesh.patches.size()));
  if (!model::is_geometry(name)) {
    const auto& field = catalogue_.field(name);
    const bool at_points = model::centering_of(mesh, field) == model::Centering::Point;
    const int64_t wanted = at_points ? points->extents[0] : topology.cells();
    if (entry.box.extent(0) != wanted)
      base::fail(ErrorCode::Sharing,
                 "block {} of field '{}' was shared with values at {} {}, but the block has {}",
                 block, name, entry.box.extent(0), items_of(mesh, field), wanted);
  }
  return {{{0, 0, 0}, {topology.cells(), 1, 1}}, topology.owned};
}

// Fields of one mesh may be cut differently: then a number stands for several blocks. Their ids
// differ in the part that names the maker.
void Sharing::add_blocks(const std::string& name, const FieldBlocks& shared,
                         std::vector<Block>& blocks) const {
  const auto& mesh = catalogue_.mesh_of(name);
  const size_t known = blocks.size();
  size_t first = 0;
  for (const auto& [number, entry] : shared.blocks) {
    const auto [box, owned] = model::has_points(mesh.kind)
                                  ? cells_of(mesh, name, number, entry)
                                  : CellRange{entry.box, entry.box.volume()};
    while (first < known && blocks[first].number() < number) ++first;
    size_t at = first;
    while (at < known && blocks[at].number() == number &&
           (blocks[at].box != box || blocks[at].level != entry.level))
      ++at;
    if (at == known || blocks[at].number() != number) {
      const auto cuts = static_cast<int>(at - first);
      if (cuts > 0 && is_counted(mesh.kind)) differ(mesh, name, number, box, blocks[first].box);
      at = blocks.size();
      blocks.push_back(
          {.id = model::block_id(rank_, number, cuts == 0 ? 0 : model::maker_of_cut(cuts)),
           .box = box,
           .owned = owned,
           .arrays = {},
           .level = entry.level});
    }
    blocks[at].arrays.emplace(name, entry.array);
  }
  const auto is_before = [](const Block& a, const Block& b) { return a.number() < b.number(); };
  if (known > 0 && known < blocks.size()) std::stable_sort(blocks.begin(), blocks.end(), is_before);
}

// Blocks lack a field where fields are cut differently, or where it was forgotten.
void Sharing::check_fields(const model::Mesh& mesh, const std::vector<std::string>& fields,
                           const std::vector<Block>& blocks) const {
  if (std::all_of(blocks.begin(), blocks.end(),
                  [&](const Block& block) { return block.arrays.size() == fields.size(); }))
    return;
  if (model::has_boxes(mesh.kind))
    for (const auto& name : model::geometry_fields(mesh))
      for (const auto& block : blocks)
        if (std::find(fields.begin(), fields.end(), name) != fields.end() &&
            !block.arrays.contains(name))
          base::fail(
              ErrorCode::Sharing,
              "block {} of mesh '{}', rank {}, has values in box {} and no '{}' there; share "
              "'{}' in the same boxes as the other fields of the mesh",
              block.number(), mesh.name, rank_, model::to_string(block.box, mesh.axes), name, name);
  const auto boxes_with = [&](const std::string& name) {
    std::vector<redistribution::MeshBox> boxes;
    for (const auto& block : blocks)
      if (block.arrays.contains(name)) boxes.push_back({block.level, block.number(), block.box});
    return boxes;
  };
  const std::string& some = blocks.front().arrays.begin()->first;
  for (const auto& name : fields) {
    if (redistribution::have_same_cells(boxes_with(name), boxes_with(some))) continue;
    const auto& parts = catalogue_.field(name).parts;
    for (const auto& block : blocks)
      if (!block.arrays.contains(name) && find(name, block.number()) == nullptr)
        base::fail(ErrorCode::Sharing,
                   "block {} of mesh '{}' was shared without {}, which {} needed{}", block.number(),
                   mesh.name, model::name_of_geometry(name),
                   model::is_geometry(name) ? "are" : "is",
                   parts.empty() ? ""
                                 : fmt::format("; share all of '{}' in it, with the same strides",
                                               fmt::join(parts, "', '")));
    base::fail(ErrorCode::Sharing,
               "fields '{}' and '{}' were shared on different cells of mesh '{}'; fields of one "
               "mesh may be cut differently, but a rank shares all of them on the same cells",
               name, some, mesh.name);
  }
}

stagehost::Publication Sharing::publication(const std::set<std::string>& fields, int64_t step,
                                            double time) const {
  if (!faults_.empty()) throw_fault(fields);
  stagehost::Publication out{
      .step = step, .time = time, .meshes = {}, .domains = domains_, .coordinates = coordinates_};
  std::map<std::string, std::vector<std::string>> wanted;
  for (const auto& name : fields) {
    const std::string& mesh = catalogue_.field(name).mesh;
    wanted[mesh].push_back(name);
    const auto shared = shared_.find(name);
    if (shared == shared_.end()) continue;
    if (shared->second.is_open)
      base::fail(
          ErrorCode::Sharing,
          "field '{}' was shared in part: its blocks were begun and not ended; call end_blocks "
          "before the step",
          name);
    if (!shared->second.blocks.empty()) add_blocks(name, shared->second, out.meshes[mesh].blocks);
  }
  for (auto& [name, blocks] : out.meshes) {
    const auto& mesh = catalogue_.mesh(name);
    blocks.kind = mesh.kind;
    check_fields(mesh, wanted[name], blocks.blocks);
  }
  return out;
}

}  // namespace pillion::simulation
