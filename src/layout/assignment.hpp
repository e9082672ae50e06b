// SPDX-License-Identifier: BSD-3-Clause
// Which rank gets which particles: by key, or by place with those of neighbouring parts within a
// halo. The result is one number for each particle and a list of copies, in the order of memory, so
// that packing reads each value once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/cell.hpp"
#include "layout/request.hpp"
#include "model/block.hpp"
#include "model/coarsen.hpp"

namespace pillion::layout {

/// Owner of a key among `ranks` ranks. Keys are scattered, so that keys with a stride are balanced
/// too. Of the scattered key the lower half alone decides, for subsamples are chosen by its highest
/// bits; as a fraction of all it needs no division.
inline int owner_of(int64_t key, int ranks) {
  const uint64_t lower = model::scatter(key) & 0xffffffffu;
  return static_cast<int>((lower * static_cast<uint64_t>(ranks)) >> 32);
}

/// Whole edges of the domain, by which a particle is displaced.
struct Edges {
  Edges(int64_t x, int64_t y, int64_t z)
      : along{static_cast<int8_t>(x), static_cast<int8_t>(y), static_cast<int8_t>(z)},
        none((x | y | z) == 0) {}
  std::array<int8_t, 3> along;
  bool none;
};

/// A copy of a particle for a rank. Particles are counted through all blocks.
struct ParticleCopy {
  int64_t particle;
  int32_t receiver;  ///< number among the receivers
  Edges edges;
};

/// An owned particle that is not where it is wanted.
struct Displaced {
  int64_t particle;
  Edges edges;
};

/// A rank that gets particles, and how many.
struct Receiver {
  int rank;
  int64_t owned = 0, copies = 0;
};

/// Which rank gets which particles.
class Assignment {
 public:
  static constexpr int32_t none = -1;

  Assignment(int ranks, int64_t particles)
      : numbers_(static_cast<size_t>(ranks), none), owners_(static_cast<size_t>(particles)) {}

  // Particles are assigned in their order, each to one owner or to none, and copied.
  void own(int rank, int64_t particle) {
    const int32_t number = number_of(rank);
    owners_[static_cast<size_t>(particle)] = number;
    ++receivers_[static_cast<size_t>(number)].owned;
  }
  /// Its owner sees it somewhere else.
  void displace(int64_t particle, const Edges& edges) {
    if (!edges.none) displaced_.push_back({particle, edges});
  }
  void leave_out(int64_t particle) { owners_[static_cast<size_t>(particle)] = none; }
  void copy(int rank, int64_t particle, const Edges& edges) {
    const int32_t number = number_of(rank);
    copies_.push_back({particle, number, edges});
    ++receivers_[static_cast<size_t>(number)].copies;
  }
  /// Everything is assigned: gives back what depends on the number of ranks.
  void finish() { numbers_ = {}; }

  /// Ranks that get anything, in no order.
  [[nodiscard]] const std::vector<Receiver>& receivers() const { return receivers_; }
  /// By particle: the number of its receiver, or `none`.
  [[nodiscard]] const std::vector<int32_t>& owners() const { return owners_; }
  /// In the order of the particles.
  [[nodiscard]] const std::vector<ParticleCopy>& copies() const { return copies_; }
  [[nodiscard]] const std::vector<Displaced>& displaced() const { return displaced_; }

 private:
  int32_t number_of(int rank) {
    int32_t& number = numbers_[static_cast<size_t>(rank)];
    if (number == none) {
      number = static_cast<int32_t>(receivers_.size());
      receivers_.push_back({rank});
    }
    return number;
  }

  std::vector<int32_t> numbers_;  ///< by rank
  std::vector<Receiver> receivers_;
  std::vector<int32_t> owners_;
  std::vector<ParticleCopy> copies_;
  std::vector<Displaced> displaced_;
};

Assignment assign_by_key(const model::MeshBlocks& mine, const Request& request, int ranks);
Assignment assign_spatial(const model::MeshBlocks& mine, const Request& request, const Cell& cell,
                          int ranks);

/// The part of a domain that is a rank's, in units of the domain's edges: from lo to hi.
struct DomainPart {
  Vector lo, hi;
};
DomainPart spatial_part(const pillion_domain& domain, int rank, int ranks);

}  // namespace pillion::layout
