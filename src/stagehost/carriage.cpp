// SPDX-License-Identifier: BSD-3-Clause
// Whatever may fail on one rank alone is done before a fence, so that no rank is left in a message.
#include "stagehost/carriage.hpp"

#include "model/coarsen.hpp"

namespace pillion::stagehost {

using layout::Request;
using model::Box;
using model::MeshBlocks;
using redistribution::Carried;

namespace {

std::vector<Box> boxes_of(const MeshBlocks& mine) {
  std::vector<Box> boxes;
  for (const auto& block : mine.blocks) boxes.push_back(block.box);
  return boxes;
}

int64_t cells_of(const std::vector<Box>& boxes) {
  int64_t cells = 0;
  for (const auto& box : boxes) cells += box.volume();
  return cells;
}

Carried source_of(const model::Field& field, const MeshBlocks& mine) {
  Carried out;
  out.components = field.components;
  out.element = model::size_of(field.type);
  for (const auto& block : mine.blocks) {
    const auto at = block.arrays.find(field.name);
    if (at == block.arrays.end())
      base::fail(ErrorCode::Sharing, "block {} of mesh '{}' came without field '{}'", block.number,
                 field.mesh, field.name);
    out.from.push_back(layout::source_of(at->second, block.box));
  }
  return out;
}

void check_coverage(const Plan& plan) {
  layout::check_coverage(plan.division.mesh, cells_of(plan.moves.boxes()),
                         plan.moves.cells_received() + plan.moves.cells_kept());
}

}  // namespace

void Carriage::carry(const Request& request, const MeshBlocks& mine, int coarsening,
                     const Circumstances& circumstances) {
  const auto& catalogue = *circumstances.catalogue;
  auto& plans = *circumstances.plans;
  auto& fence = *circumstances.fence;
  const auto mesh = model::coarse_mesh(catalogue.mesh_of(request.fields.front()), coarsening);
  Fields fields;
  for (const auto& name : request.fields) fields.push_back(source_of(catalogue.field(name), mine));
  auto here = boxes_of(mine);
  Plan* plan = plans.find({request, mesh});
  const bool fits = plan != nullptr && plan->moves.here() == here;
  if (fits) make_room(*plan, request, catalogue, fields);
  if (fence.any_before_collective(!fits)) {
    auto made = plans.make(request, mesh, std::move(here), *circumstances.peers);
    check_coverage(*made);
    make_room(*made, request, catalogue, fields);
    fence.before_collective();
    plan = plans.keep(std::move(made));
  }
  plan->moves.carry(fields);
}

void Carriage::make_room(const Plan& plan, const Request& request,
                         const model::Catalogue& catalogue, Fields& fields) {
  const auto& boxes = plan.moves.boxes();
  blocks_.clear();
  inner_.clear();
  for (size_t b = 0; b < boxes.size(); ++b) {
    const auto& place = plan.places[b];
    if (place.box.volume() == 0) continue;
    inner_.push_back(place.box);
    blocks_.push_back({place.number, boxes[b], place.box.volume(), {}});
  }
  rooms_.resize(fields.size());
  for (size_t f = 0; f < fields.size(); ++f)
    make_room(catalogue.field(request.fields[f]), boxes, rooms_[f], fields[f]);
}

void Carriage::make_room(const model::Field& field, const std::vector<Box>& boxes, Room& room,
                         Carried& carried) {
  const size_t per_cell = carried.element * static_cast<size_t>(carried.components);
  const size_t size = static_cast<size_t>(cells_of(boxes)) * per_cell;
  if (room.size < size) room = {std::make_unique_for_overwrite<std::byte[]>(size), size};
  std::byte* at = room.bytes.get();
  auto block = blocks_.begin();
  carried.to.clear();
  for (const auto& box : boxes) {
    carried.to.push_back(layout::packed_at(at, box, field.components));
    if (box.volume() == 0) continue;
    block->arrays[field.name] = {at, field.type, field.components,
                                 model::packed_strides(box, field.components)};
    at += static_cast<size_t>(box.volume()) * per_cell;
    ++block;
  }
}

}  // namespace pillion::stagehost
