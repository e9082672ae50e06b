// SPDX-License-Identifier: BSD-3-Clause
// Particles are assigned and counted when moves are made, and copied when they are packed: records
// of a known length inline, long runs at once.
#include "layout/particle_moves.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "layout/assignment.hpp"

namespace pillion::layout {

const model::Array& array_of(const model::Block& block, const std::string& field) {
  const auto at = block.arrays.find(field);
  if (at == block.arrays.end())
    base::fail(ErrorCode::Sharing, "block {} of particles came without field '{}'", block.number(),
               field);
  return at->second;
}

ParticleColumn::ParticleColumn(const model::Array& array)
    : data_(static_cast<const std::byte*>(array.data)),
      element_(model::size_of(array.type)),
      components_(static_cast<size_t>(array.components)),
      record_(element_ * components_),
      step_(array.strides[0] * static_cast<int64_t>(element_)),
      component_step_(array.strides[3] * static_cast<int64_t>(element_)) {}

/// `size` is an integral constant or, for sizes out of the ordinary, a variable.
template <class Size>
std::byte* ParticleColumn::pack_records(const std::byte* begin, std::span<const ParticleRun> runs,
                                        Size size, std::byte* to) const {
  constexpr uint32_t long_run = 8;
  constexpr size_t ahead = 16;
  const bool packed = step_ == static_cast<int64_t>(record_);
  for (size_t r = 0; r < runs.size(); ++r) {
    const ParticleRun& run = runs[r];
    const std::byte* from = begin + run.first * step_;
    __builtin_prefetch(begin + runs[std::min(r + ahead, runs.size() - 1)].first * step_);
    if (packed && run.count >= long_run) {
      std::memcpy(to, from, run.count * size);
      to += run.count * size;
      continue;
    }
    for (uint32_t i = 0; i < run.count; ++i, to += size, from += step_) std::memcpy(to, from, size);
  }
  return to;
}

template <class Size>
std::byte* ParticleColumn::pack_components(const std::byte* begin,
                                           std::span<const ParticleRun> runs, Size size,
                                           std::byte* to) const {
  for (const ParticleRun& run : runs) {
    const std::byte* from = begin + run.first * step_;
    for (uint32_t i = 0; i < run.count; ++i, from += step_)
      for (size_t c = 0; c < components_; ++c, to += size)
        std::memcpy(to, from + static_cast<int64_t>(c) * component_step_, size);
  }
  return to;
}

std::byte* ParticleColumn::pack(int64_t begin, std::span<const ParticleRun> runs,
                                std::byte* to) const {
  using std::integral_constant;
  const std::byte* from = data_ + begin * step_;
  if (components_ != 1 && component_step_ != static_cast<int64_t>(element_))
    return element_ == 4 ? pack_components(from, runs, integral_constant<size_t, 4>(), to)
                         : pack_components(from, runs, integral_constant<size_t, 8>(), to);
  switch (record_) {
    case 4: return pack_records(from, runs, integral_constant<size_t, 4>(), to);
    case 8: return pack_records(from, runs, integral_constant<size_t, 8>(), to);
    case 12: return pack_records(from, runs, integral_constant<size_t, 12>(), to);
    case 24: return pack_records(from, runs, integral_constant<size_t, 24>(), to);
    default: return pack_records(from, runs, record_, to);
  }
}

using model::MeshBlocks;

namespace {

template <class T>
void add(const Vector& shift, std::byte* to) {
  for (size_t c = 0; c < 3; ++c) {
    T value;
    std::memcpy(&value, to + c * sizeof value, sizeof value);
    value = static_cast<T>(value + shift[c]);
    std::memcpy(to + c * sizeof value, &value, sizeof value);
  }
}

std::byte* pack(const std::vector<ParticleColumn>& columns, const ParticleList& list,
                std::byte* to) {
  std::span<const ParticleRun> runs(list.runs);
  for (const auto& range : list.ranges) {
    to = columns[static_cast<size_t>(range.block)].pack(range.begin, runs.first(range.runs), to);
    runs = runs.subspan(range.runs);
  }
  return to;
}

}  // namespace

ParticleMoves ParticleMoves::by_key(const MeshBlocks& mine, const Request& request, int ranks) {
  return {mine, request, assign_by_key(mine, request, ranks)};
}

ParticleMoves ParticleMoves::spatial(const MeshBlocks& mine, const Request& request,
                                     const pillion_domain& domain, int ranks) {
  const Cell cell(domain);
  ParticleMoves moves(mine, request, assign_spatial(mine, request, cell, ranks));
  moves.cell_ = cell;
  return moves;
}

ParticleMoves::ParticleMoves(const MeshBlocks& mine, const Request& request,
                             std::vector<SendList> lists)
    : lists_(std::move(lists)) {
  for (const auto& list : lists_) ranks_.push_back(list.rank);
  for (const auto& name : request.needed()) {
    fields_.push_back(field_of(mine, name));
    fields_.back().is_position = name == request.position;
    record_ += fields_.back().record;
  }
}

ParticleMoves::Field ParticleMoves::field_of(const MeshBlocks& mine, const std::string& name) {
  Field field;
  for (const auto& block : mine.blocks) {
    auto& column = field.columns.emplace_back();
    if (block.owned == 0) continue;
    column = ParticleColumn(array_of(block, name));
    if (field.record == 0) field.record = column.record();
    if (field.record != column.record())
      base::fail(ErrorCode::Sharing,
                 "block {} has {} bytes of field '{}' for each particle, others have {}",
                 block.number(), column.record(), name, field.record);
  }
  return field;
}

const SendList* ParticleMoves::find(int rank) const {
  const auto at = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
  if (at == ranks_.end() || *at != rank) return nullptr;
  return &lists_[static_cast<size_t>(at - ranks_.begin())];
}

size_t ParticleMoves::size_for(int rank) const {
  const SendList* lists = find(rank);
  if (lists == nullptr) return 0;
  const int64_t particles = lists->owned.count + lists->copies.count;
  return 2 * sizeof(int64_t) + record_ * static_cast<size_t>(particles);
}

void ParticleMoves::pack(int rank, std::byte* to) const {
  const SendList* lists = find(rank);
  if (lists == nullptr) return;
  base::count_copy(base::CopyKind::Pack, size_for(rank) - 2 * sizeof(int64_t));
  const int64_t counts[2] = {lists->owned.count, lists->copies.count};
  std::memcpy(to, counts, sizeof counts);
  to += sizeof counts;
  for (const auto& field : fields_)
    for (const auto* list : {&lists->owned, &lists->copies}) {
      std::byte* const begin = to;
      to = layout::pack(field.columns, *list, to);
      if (field.is_position) displace(*list, field.record, begin);
    }
}

void ParticleMoves::displace(const ParticleList& list, size_t record, std::byte* positions) const {
  for (const auto& [number, edges] : list.displaced) {
    const Vector shift = cell_->shift({edges.along[0], edges.along[1], edges.along[2]});
    std::byte* const at = positions + static_cast<size_t>(number) * record;
    record == 3 * sizeof(float) ? add<float>(shift, at) : add<double>(shift, at);
  }
}

}  // namespace pillion::layout
