// SPDX-License-Identifier: BSD-3-Clause
// Plans are kept with those for fields of meshes; these cells are of a mesh without a name.
#include "stagehost/regroup.hpp"

#include "stagehost/plans.hpp"

namespace pillion::stagehost {

using layout::Kind;
using layout::Request;
using model::Box;

namespace {

model::Mesh mesh_of(const pillion_division& division) {
  model::Mesh mesh;
  if (division.axes < 1 || division.axes > 3)
    base::fail(ErrorCode::Plugin, "a stage divides cells along {} axes", division.axes);
  mesh.axes = division.axes;
  for (size_t d = 0; d < 3; ++d) {
    mesh.cells[d] = division.cells[d];
    if (division.cells[d] < 1)
      base::fail(ErrorCode::Plugin, "a stage divides {} x {} x {} cells", division.cells[0],
                 division.cells[1], division.cells[2]);
  }
  return mesh;
}

Request request_of(const pillion_division& division) {
  Request request;
  request.kind = static_cast<Kind>(division.layout);
  request.axis = division.axis;
  if (request.kind != Kind::Blocks && request.kind != Kind::Slabs && request.kind != Kind::Pencils)
    base::fail(ErrorCode::Plugin,
               "a stage divides cells in layout {}; only blocks, slabs and pencils can be",
               division.layout);
  const std::string fault = layout::fault_of(request, mesh_of(division));
  if (!fault.empty()) base::fail(ErrorCode::Plugin, "a stage divides cells wrongly: {}", fault);
  return request;
}

/// The boxes of a division that a peer has and that are not empty: one or none.
std::vector<Box> boxes_of(const pillion_division& division, const comm::Communicator& peers) {
  const auto wanted = layout::wanted_of(request_of(division), mesh_of(division), peers.size());
  std::vector<Box> boxes;
  for (const auto& place : wanted.tiling.places_of(peers.rank()))
    if (place.box.volume() > 0) boxes.push_back(place.box);
  return boxes;
}

}  // namespace

Box part_of(const pillion_division& division, const comm::Communicator& peers) {
  const auto boxes = boxes_of(division, peers);
  return boxes.empty() ? Box{{0, 0, 0}, {0, 0, 0}} : boxes.front();
}

void regroup(const pillion_division& from, const pillion_division& to, int64_t bytes_per_cell,
             const void* source, void* target, const ExecutionContext& context) {
  for (int d = 0; d < 3; ++d)
    if (from.cells[d] != to.cells[d])
      base::fail(ErrorCode::Plugin, "a stage moves {} cells along axis {} to {}", from.cells[d], d,
                 to.cells[d]);
  auto& plans = *context.plans;
  auto& fence = *context.fence;
  const auto& peers = *context.peers;
  const auto here = boxes_of(from, peers);
  const auto mesh = mesh_of(to);
  const auto request = request_of(to);
  const uint32_t common =
      fence.common_before_collective(plans.fitting(Division(request, mesh), here));
  Plan* plan = nullptr;
  if (common != 0) {
    plan = plans.use(common);
  } else {
    auto made = plans.make(request, mesh, here, peers);
    fence.before_collective();
    plan = plans.keep(std::move(made));
  }
  redistribution::FieldArrays cells{.components = 1,
                                    .element = static_cast<size_t>(bytes_per_cell)};
  for (const auto& box : plan->moves.here())
    cells.from.push_back(layout::packed_at(static_cast<const std::byte*>(source), box, 1));
  for (const auto& box : plan->moves.boxes())
    cells.to.push_back(layout::packed_at(static_cast<std::byte*>(target), box, 1));
  plan->moves.exchange({&cells, 1});
}

}  // namespace pillion::stagehost
