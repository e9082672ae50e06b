// SPDX-License-Identifier: BSD-3-Clause
// Particles are dealt out and counted when moves are made, and copied when they are packed.
#include "layout/particle_moves.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "layout/dealing.hpp"

namespace pillion::layout {

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
  std::span<const Run> runs(list.runs);
  for (const auto& stretch : list.stretches) {
    to = columns[static_cast<size_t>(stretch.block)].pack(stretch.begin, runs.first(stretch.runs),
                                                          to);
    runs = runs.subspan(stretch.runs);
  }
  return to;
}

}  // namespace

ParticleMoves ParticleMoves::by_key(const MeshBlocks& mine, const Request& request, int ranks) {
  return {mine, request, deal_by_key(mine, request, ranks)};
}

ParticleMoves ParticleMoves::spatial(const MeshBlocks& mine, const Request& request,
                                     const pillion_domain& domain, int ranks) {
  const Cell cell(domain);
  ParticleMoves moves(mine, request, deal_spatial(mine, request, cell, ranks));
  moves.cell_ = cell;
  return moves;
}

ParticleMoves::ParticleMoves(const MeshBlocks& mine, const Request& request,
                             std::vector<Share> shares)
    : shares_(std::move(shares)) {
  for (const auto& share : shares_) ranks_.push_back(share.rank);
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

const Share* ParticleMoves::find(int rank) const {
  const auto at = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
  if (at == ranks_.end() || *at != rank) return nullptr;
  return &shares_[static_cast<size_t>(at - ranks_.begin())];
}

size_t ParticleMoves::size_for(int rank) const {
  const Share* share = find(rank);
  if (share == nullptr) return 0;
  const int64_t particles = share->owned.count + share->copies.count;
  return 2 * sizeof(int64_t) + record_ * static_cast<size_t>(particles);
}

void ParticleMoves::pack(int rank, std::byte* to) const {
  const Share* share = find(rank);
  if (share == nullptr) return;
  const int64_t counts[2] = {share->owned.count, share->copies.count};
  std::memcpy(to, counts, sizeof counts);
  to += sizeof counts;
  for (const auto& field : fields_)
    for (const auto* list : {&share->owned, &share->copies}) {
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
