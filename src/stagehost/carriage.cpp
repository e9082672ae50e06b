// SPDX-License-Identifier: BSD-3-Clause
// Whatever may fail on one rank alone is done before a fence, so that no rank is left in a message.
#include "stagehost/carriage.hpp"

#include <numeric>

#include "model/coarsen.hpp"

namespace pillion::stagehost {

using layout::Request;
using layout::Wanted;
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

}  // namespace

void Carriage::carry(const Request& request, const MeshBlocks& mine, int coarsening,
                     const Circumstances& circumstances) {
  const auto& catalogue = *circumstances.catalogue;
  const auto mesh = model::coarse_mesh(catalogue.mesh_of(request.fields.front()), coarsening);
  std::vector<Carried> fields;
  for (const auto& name : request.fields) fields.push_back(source_of(catalogue.field(name), mine));
  auto here = boxes_of(mine);
  const bool is_new = !plan_ || peers_ != circumstances.peers || cells_ != mesh.cells ||
                      periodic_ != mesh.periodic || plan_->here() != here;
  if (circumstances.fence->any_before_collective(is_new))
    plan(request, mesh, std::move(here), circumstances);
  for (size_t f = 0; f < fields.size(); ++f) fields[f].to = places_[f];
  plan_->carry(fields);
}

void Carriage::plan(const Request& request, const model::Mesh& mesh, std::vector<Box> here,
                    const Circumstances& circumstances) {
  peers_ = circumstances.peers;
  cells_ = mesh.cells;
  periodic_ = mesh.periodic;
  ++plans_;
  std::vector<int> owners(static_cast<size_t>(peers_->size()));
  std::iota(owners.begin(), owners.end(), 0);
  const Wanted wanted = layout::wanted_of(request, mesh, peers_->size());
  plan_ =
      std::make_unique<redistribution::Redistribution>(*peers_, std::move(here), wanted, owners);
  check_coverage(mesh);
  make_room(request, wanted, *circumstances.catalogue);
  circumstances.fence->before_collective();
}

void Carriage::check_coverage(const model::Mesh& mesh) const {
  const int64_t cells = cells_of(plan_->boxes());
  const int64_t coming = plan_->cells_received() + plan_->cells_kept();
  if (coming != cells)
    base::fail(ErrorCode::Sharing,
               "of {} cells of mesh '{}' that a peer needs {} are shared; to divide a mesh anew, "
               "each of its cells must be shared by one rank",
               cells, mesh.name, coming);
}

void Carriage::make_room(const Request& request, const Wanted& wanted,
                         const model::Catalogue& catalogue) {
  blocks_.clear();
  inner_.clear();
  for (const auto& place : wanted.tiling.places_of(peers_->rank())) {
    if (place.box.volume() == 0) continue;
    inner_.push_back(place.box);
    blocks_.push_back({place.number, wanted.grown(place.box), place.box.volume(), {}});
  }
  rooms_.resize(request.fields.size());
  places_.assign(request.fields.size(), {});
  for (size_t f = 0; f < rooms_.size(); ++f) make_room(catalogue.field(request.fields[f]), f);
}

void Carriage::make_room(const model::Field& field, size_t number) {
  const size_t per_cell = model::size_of(field.type) * static_cast<size_t>(field.components);
  const size_t size = static_cast<size_t>(cells_of(plan_->boxes())) * per_cell;
  Room& room = rooms_[number];
  if (room.size < size) room = {std::make_unique_for_overwrite<std::byte[]>(size), size};
  std::byte* at = room.bytes.get();
  auto block = blocks_.begin();
  for (const auto& box : plan_->boxes()) {
    places_[number].push_back(layout::packed_at(at, box, field.components));
    if (box.volume() == 0) continue;
    block->arrays[field.name] = {at, field.type, field.components,
                                 model::packed_strides(box, field.components)};
    at += static_cast<size_t>(box.volume()) * per_cell;
    ++block;
  }
}

}  // namespace pillion::stagehost
