// SPDX-License-Identifier: BSD-3-Clause
// Whatever may fail on one rank alone is done before a fence, so that no rank is left in a message.
#include "stagehost/field_redistributor.hpp"

#include <algorithm>

#include "comm/agreement.hpp"
#include "model/coarsen.hpp"

namespace pillion::stagehost {

using layout::Request;
using model::Box;
using model::MeshBlocks;
using redistribution::FieldArrays;

namespace {

int64_t cells_of(const std::vector<Box>& boxes) {
  int64_t cells = 0;
  for (const auto& box : boxes) cells += box.volume();
  return cells;
}

void check_coverage(const std::string& field, const Plan& plan) {
  layout::check_coverage(field, plan.division.mesh, cells_of(plan.moves.boxes()),
                         plan.moves.cells_received() + plan.moves.cells_kept());
}

}  // namespace

FieldRedistributor::FieldTransfer FieldRedistributor::transfer(const model::Field& field,
                                                               const MeshBlocks& mine) {
  FieldTransfer out{&field, {}, {}};
  out.carried.components = field.components;
  out.carried.element = model::size_of(field.type);
  for (const auto& block : mine.blocks) {
    const auto at = block.arrays.find(field.name);
    if (at == block.arrays.end()) continue;
    out.here.push_back(block.box);
    out.carried.from.push_back(layout::source_of(at->second, block.box));
    out.versions.emplace_back(block.id, at->second.version);
  }
  return out;
}

void FieldRedistributor::carry(const Request& request, const MeshBlocks& mine, int coarsening,
                               const ExecutionContext& context) {
  const auto& catalogue = *context.catalogue;
  const auto mesh =
      model::coarse_mesh(catalogue.mesh(layout::mesh_of(request, catalogue)), coarsening);
  blocks_.clear();
  inner_.clear();
  transfers_.clear();
  owners_ = {};
  for (const auto& name : request.fields)
    transfers_.push_back(transfer(catalogue.field(name), mine));
  buffers_.resize(transfers_.size());
  carried_.resize(transfers_.size());
  const Division division(request, mesh);
  // As a rule once: fields in other boxes go one after the other.
  while (std::any_of(transfers_.begin(), transfers_.end(),
                     [](const FieldTransfer& t) { return !t.is_there; }))
    redistribute_some(division, mesh, request.in_parts, context);
}

// The plan must fit on all ranks, and so must every field that it moves.
void FieldRedistributor::redistribute_some(const Division& division, const model::Mesh& mesh,
                                           bool in_parts, const ExecutionContext& context) {
  auto& plans = *context.plans;
  auto& fence = *context.fence;
  const auto first = std::find_if(transfers_.begin(), transfers_.end(),
                                  [](const FieldTransfer& t) { return !t.is_there; });
  const bool equal = std::all_of(first, transfers_.end(), [&](const FieldTransfer& t) {
    return t.is_there || t.here == first->here;
  });
  // What comes takes no memory between the agreement and the exchange, where others would wait.
  std::vector<FieldArrays> fields;
  std::vector<size_t> numbers;
  fields.reserve(transfers_.size());
  numbers.reserve(transfers_.size());
  const uint32_t bits = plans.fitting(division, first->here, bytes_per_cell(), owners_);
  // All plans for a division have the same boxes.
  if (bits != 0) {
    const auto& moves = plans.peek(bits).moves;
    reserve(in_parts && equal ? moves.cells_received() : cells_of(moves.boxes()));
  }
  constexpr uint32_t all_together = 1u << (comm::Fence::most_common - 1),
                     all_carried = all_together >> 1;
  const uint32_t agreed = fence.common_before_collective(bits | (equal ? all_together : 0) |
                                                         (has_all() ? all_carried : 0));
  const uint32_t common = agreed & ~all_carried;
  Plan* plan = nullptr;
  if ((common & ~all_together) != 0) {
    plan = plans.use(common & ~all_together);
  } else {
    auto made =
        plans.make(division.request, mesh, first->here, bytes_per_cell(), *context.peers, owners_);
    check_coverage(first->field->name, *made);
    fence.before_collective();
    plan = plans.keep(std::move(made));
  }
  owners_ = plan->owners;
  for (auto t = first; t != transfers_.end(); ++t) {
    if (t->is_there) continue;
    const bool comes = (common & all_together) != 0 || t == first ||
                       !fence.any_before_collective(t->here != plan->moves.here());
    if (comes) numbers.push_back(static_cast<size_t>(t - transfers_.begin()));
  }
  // Fields that lie in different blocks would not have the same parts.
  const bool comes_in_parts =
      in_parts && (common & all_together) != 0 && first == transfers_.begin();
  if (blocks_.empty() && comes_in_parts) place_parts(*plan);
  else if (blocks_.empty()) place(plan->places, plan->wanted);
  for (const size_t n : numbers) {
    if (comes_in_parts) allocate_parts(*plan, buffers_[n], transfers_[n]);
    else allocate(plan->moves.boxes(), buffers_[n], transfers_[n]);
    transfers_[n].is_there = true;
    const bool stays = (agreed & all_carried) != 0 && transfers_[n].field->is_constant &&
                       carried_[n].plan == plan->number && carried_[n].in_parts == comes_in_parts;
    if (stays) continue;
    carried_[n] = {};  // a rank that fails from here on knows nothing of what it has
    fields.push_back(transfers_[n].carried);
  }
  if (common <= all_together || in_parts != comes_in_parts) fence.before_collective();
  if (fields.empty()) return;
  if (comes_in_parts) plan->moves.exchange_parts(fields);
  else plan->moves.exchange(fields);
  for (const size_t n : numbers)
    carried_[n] = {plan->number, comes_in_parts, std::move(transfers_[n].versions),
                   buffers_[n].data()};
}

// All ranks have the same constant fields. Without any, no rank's answer matters.
bool FieldRedistributor::has_all() const {
  for (size_t t = 0; t < transfers_.size(); ++t) {
    const auto& transfer = transfers_[t];
    if (transfer.is_there || !transfer.field->is_constant) continue;
    const bool is_known = std::all_of(transfer.versions.begin(), transfer.versions.end(),
                                      [](const auto& version) { return version.second != 0; });
    if (!is_known || carried_[t].plan == 0 || carried_[t].versions != transfer.versions ||
        carried_[t].at != buffers_[t].data())
      return false;
  }
  return true;
}

size_t FieldRedistributor::bytes_per_cell() const {
  size_t bytes = 0;
  for (const auto& t : transfers_)
    if (!t.is_there) bytes += t.carried.element * static_cast<size_t>(t.carried.components);
  return bytes;
}

void FieldRedistributor::reserve(int64_t cells) {
  for (size_t t = 0; t < transfers_.size(); ++t) {
    const auto& carried = transfers_[t].carried;
    (void)buffers_[t].of(static_cast<size_t>(cells) * carried.element *
                         static_cast<size_t>(carried.components));
  }
}

void FieldRedistributor::place(const std::vector<layout::Place>& places,
                               const layout::Wanted& wanted) {
  for (const auto& place : places) {
    if (place.box.volume() == 0) continue;
    inner_.push_back(place.box);
    blocks_.push_back({place.number, wanted.grown(place.box), place.box.volume(), {}});
  }
}

void FieldRedistributor::place_parts(const Plan& plan) {
  for (const auto& part : plan.moves.parts()) {
    const auto& place = plan.places[static_cast<size_t>(part.box)];
    inner_.push_back(place.box);
    blocks_.push_back({place.number, part.region, part.region.volume(), {}});
  }
}

void FieldRedistributor::allocate_parts(const Plan& plan, base::ScratchBuffer& room,
                                        FieldTransfer& transfer) {
  const auto& field = *transfer.field;
  auto& carried = transfer.carried;
  const size_t per_cell = carried.element * static_cast<size_t>(carried.components);
  std::byte* at = room.of(static_cast<size_t>(plan.moves.cells_received()) * per_cell);
  auto block = blocks_.begin();
  for (const auto& part : plan.moves.parts()) {
    auto& array = (block++)->arrays[field.name];
    if (part.from < 0) {
      carried.to.push_back(layout::packed_at(at, part.region, field.components));
      array = {at, field.type, field.components,
               model::packed_strides(part.region, field.components)};
      at += static_cast<size_t>(part.region.volume()) * per_cell;
    } else {
      const auto& from = carried.from[static_cast<size_t>(part.from)];
      array = {layout::address(from, part.region.lo, carried.element),
               field.type,
               field.components,
               from.strides,
               model::Centering::Natural,
               from.offsets};
    }
  }
}

void FieldRedistributor::allocate(const std::vector<Box>& boxes, base::ScratchBuffer& room,
                                  FieldTransfer& transfer) {
  const auto& field = *transfer.field;
  auto& carried = transfer.carried;
  const size_t per_cell = carried.element * static_cast<size_t>(carried.components);
  std::byte* at = room.of(static_cast<size_t>(cells_of(boxes)) * per_cell);
  auto block = blocks_.begin();
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
