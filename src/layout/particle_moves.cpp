// SPDX-License-Identifier: BSD-3-Clause
// Particles are assigned and counted when moves are made, and copied when they are packed: tile by
// tile, to all receivers at once, so that each value is read once.
#include "layout/particle_moves.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/copy.hpp"
#include "base/error.hpp"

namespace pillion::layout {

using model::MeshBlocks;

const model::Array& array_of(const model::Block& block, const std::string& field) {
  const auto at = block.arrays.find(field);
  if (at == block.arrays.end())
    base::fail(ErrorCode::Sharing, "block {} of particles came without field '{}'", block.number(),
               field);
  return at->second;
}

void ParticleMoves::Group::add(const MeshBlocks& mine, const std::string& field) {
  std::optional<size_t> size;
  columns.resize(mine.blocks.size());
  for (size_t b = 0; b < mine.blocks.size(); ++b) {
    const auto& block = mine.blocks[b];
    if (block.owned == 0) continue;
    const auto& array = array_of(block, field);
    const size_t element = model::size_of(array.type);
    const auto components = static_cast<size_t>(array.components);
    if (size.value_or(element * components) != element * components)
      base::fail(ErrorCode::Sharing,
                 "block {} has {} bytes of field '{}' for each particle, others have {}",
                 block.number(), element * components, field, *size);
    size = element * components;
    const bool together = components == 1 || (array.strides[3] == 1 && !array.is_apart());
    for (size_t c = 0; c < (together ? 1 : components); ++c)
      columns[b].push_back(
          {static_cast<const std::byte*>(array.data) +
               static_cast<int64_t>(element) * array.component_at(static_cast<int32_t>(c)),
           array.strides[0] * static_cast<int64_t>(element), together ? *size : element,
           record + c * element});
  }
  record += size.value_or(0);
}

std::vector<std::vector<std::string>> field_groups(const Request& request) {
  if (request.kind != Kind::ByKey) {
    std::vector<std::vector<std::string>> groups;
    for (const auto& name : request.needed()) groups.push_back({name});
    return groups;
  }
  std::vector<std::string> others = request.needed();
  std::erase(others, request.key);
  return {{request.key}, others};
}

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

ParticleMoves::ParticleMoves(const MeshBlocks& mine, const Request& request, Assignment assignment)
    : assignment_(std::move(assignment)) {
  for (const auto& block : mine.blocks) particles_.push_back(block.owned);
  for (const auto& names : field_groups(request)) {
    auto& group = groups_.emplace_back();
    for (const auto& name : names) {
      group.add(mine, name);
      group.is_position = name == request.position;
    }
    record_ += group.record;
  }
  const auto& receivers = assignment_.receivers();
  receivers_.resize(receivers.size());
  std::iota(receivers_.begin(), receivers_.end(), size_t{0});
  std::sort(receivers_.begin(), receivers_.end(),
            [&](size_t a, size_t b) { return receivers[a].rank < receivers[b].rank; });
  for (const size_t number : receivers_) ranks_.push_back(receivers[number].rank);
}

size_t ParticleMoves::size_for(int rank) const {
  const auto at = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
  if (at == ranks_.end() || *at != rank) return 0;
  const auto& to = assignment_.receivers()[receivers_[static_cast<size_t>(at - ranks_.begin())]];
  return 2 * sizeof(int64_t) + record_ * static_cast<size_t>(to.owned + to.copies);
}

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

/// Whether particles that follow each other all go to one rank.
bool is_run(std::span<const int32_t> owners) {
  if (owners[0] == Assignment::none || owners[0] != owners.back()) return false;
  int32_t different = 0;  // without a branch, so that several are compared at once
  for (const int32_t owner : owners) different |= owner ^ owners[0];
  return different == 0;
}

/// Particles of one block, and where their records go.
struct Tile {
  std::array<int64_t, particle_tile> index;
  std::array<std::byte*, particle_tile> to;
};

}  // namespace

void ParticleMoves::displace(std::byte* position, size_t size, const Edges& edges) const {
  const Vector shift = cell_->shift({edges.along[0], edges.along[1], edges.along[2]});
  size == 3 * sizeof(float) ? add<float>(shift, position) : add<double>(shift, position);
}

void ParticleMoves::pack(const Group& group, std::byte** owned, std::byte** copies) const {
  const size_t record = group.record;
  const int32_t* const owners = assignment_.owners().data();
  auto displaced = assignment_.displaced().begin();
  const auto displaced_end = assignment_.displaced().end();
  auto copy = assignment_.copies().begin();
  const auto copies_end = assignment_.copies().end();
  Tile tile;
  int64_t first = 0;
  for (size_t b = 0; b < particles_.size(); first += particles_[b++]) {
    const auto copy_values = [&](size_t count) {
      for (const Column& column : group.columns[b])
        with_size(column.size, [&](auto size) {
          for (size_t i = 0; i < count; ++i)
            std::memcpy(tile.to[i] + column.offset, column.data + tile.index[i] * column.step,
                        size);
        });
    };
    const auto pack_owned = [&](int64_t begin, int64_t end) {
      size_t count = 0;
      for (int64_t i = begin; i < end; ++i) {
        const int32_t owner = owners[i];
        if (owner == Assignment::none) continue;
        tile.index[count] = i - first;
        tile.to[count++] = owned[owner];
        owned[owner] += record;
      }
      copy_values(count);
      for (; displaced != displaced_end && displaced->particle < end; ++displaced) {
        if (!group.is_position) continue;
        const auto at = std::lower_bound(tile.index.begin(), tile.index.begin() + count,
                                         displaced->particle - first);
        displace(tile.to[static_cast<size_t>(at - tile.index.begin())], record, displaced->edges);
      }
    };
    const auto pack_copies = [&](int64_t end) {
      while (copy != copies_end && copy->particle < end) {
        const auto begin = copy;
        size_t count = 0;
        for (; count < particle_tile && copy != copies_end && copy->particle < end; ++copy) {
          tile.index[count] = copy->particle - first;
          tile.to[count++] = copies[copy->receiver];
          copies[copy->receiver] += record;
        }
        copy_values(count);
        for (size_t i = 0; group.is_position && i < count; ++i)
          if (!begin[static_cast<std::ptrdiff_t>(i)].edges.none)
            displace(tile.to[i], record, begin[static_cast<std::ptrdiff_t>(i)].edges);
      }
    };
    const int64_t end = first + particles_[b];
    for (int64_t begin = first; begin < end;) {
      const int64_t stop = std::min(end, begin + static_cast<int64_t>(particle_tile));
      const auto count = static_cast<size_t>(stop - begin);
      const bool in_place = displaced == displaced_end || displaced->particle >= stop;
      if (in_place && group.is_one_array(b) && is_run({owners + begin, count})) {
        std::byte*& to = owned[owners[begin]];
        std::memcpy(to, group.columns[b][0].data + (begin - first) * group.columns[b][0].step,
                    count * record);
        to += count * record;
      } else {
        pack_owned(begin, stop);
      }
      begin = stop;
    }
    pack_copies(end);
  }
}

void ParticleMoves::pack(std::span<std::byte* const> to) const {
  std::vector<std::byte*> at(receivers_.size()), owned(at.size()), copies(at.size());
  for (size_t r = 0; r < at.size(); ++r) {
    const Receiver& receiver = assignment_.receivers()[receivers_[r]];
    const int64_t counts[2] = {receiver.owned, receiver.copies};
    std::memcpy(to[r], counts, sizeof counts);
    at[receivers_[r]] = to[r] + sizeof counts;
    base::count_copy(base::CopyKind::Pack, size_for(receiver.rank) - sizeof counts);
  }
  for (const auto& group : groups_) {
    for (size_t r = 0; r < at.size(); ++r) {
      const Receiver& receiver = assignment_.receivers()[r];
      owned[r] = at[r];
      copies[r] = owned[r] + group.record * static_cast<size_t>(receiver.owned);
      at[r] = copies[r] + group.record * static_cast<size_t>(receiver.copies);
    }
    if (group.record > 0) pack(group, owned.data(), copies.data());
  }
}

}  // namespace pillion::layout
