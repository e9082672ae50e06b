// SPDX-License-Identifier: BSD-3-Clause
// Which rank gets which particles: by key, or by place with those of neighbouring parts within a
// halo. The result is lists of runs, since particles that are neighbours in memory often go to the
// same rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
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

/// Particles that follow each other, counted from where their range begins.
struct ParticleRun {
  uint32_t first;
  uint32_t count;
};

/// Runs of one block.
struct ParticleRange {
  int32_t block;
  int64_t begin;
  size_t runs;
};

/// Whole edges of the domain, by which a particle is displaced.
struct Edges {
  Edges(int64_t x, int64_t y, int64_t z)
      : along{static_cast<int8_t>(x), static_cast<int8_t>(y), static_cast<int8_t>(z)},
        none((x | y | z) == 0) {}
  std::array<int8_t, 3> along;
  bool none;
};

/// A particle that is not where it is wanted.
struct Displaced {
  int64_t number;  ///< in its list
  Edges edges;
};

struct ParticleList {
  std::vector<ParticleRange> ranges;
  std::vector<ParticleRun> runs;
  std::vector<Displaced> displaced;
  int64_t count = 0;
};

/// What one rank is sent.
struct SendList {
  int rank;
  ParticleList owned;
  ParticleList copies;
};

/// SendLists in the making. Particles are given range by range, each from its beginning on.
class SendLists {
 public:
  static constexpr int64_t longest_range = std::numeric_limits<uint32_t>::max();

  explicit SendLists(int ranks) : slots_(static_cast<size_t>(ranks), none) {}

  void begin(int32_t block, int64_t index) {
    range_ = {block, index, 0};
    ++ranges_;
  }
  void own(int rank, int64_t index) { add(slot_of(rank).owned, index); }
  void own(int rank, int64_t index, const Edges& edges) { add(slot_of(rank).owned, index, edges); }
  void copy(int rank, int64_t index, const Edges& edges) {
    add(slot_of(rank).copies, index, edges);
  }
  /// The send lists that are not empty, by rank.
  std::vector<SendList> take();

 private:
  static constexpr int32_t none = -1;

  struct Growing {
    ParticleList list;
    int64_t range = 0;  ///< number of the last one
    int64_t next = 0;   ///< what would lengthen its last run
  };
  struct Slot {
    int rank;
    Growing owned, copies;
  };

  Slot& slot_of(int rank) {
    int32_t& slot = slots_[static_cast<size_t>(rank)];
    if (slot == none) {
      slot = static_cast<int32_t>(all_.size());
      all_.push_back({rank, {}, {}});
    }
    return all_[static_cast<size_t>(slot)];
  }

  void add(Growing& to, int64_t index) {
    if (to.range != ranges_) {
      to.range = ranges_;
      to.next = -1;
      to.list.ranges.push_back(range_);
    }
    if (index == to.next) {
      ++to.list.runs.back().count;
    } else {
      to.list.runs.push_back({static_cast<uint32_t>(index - range_.begin), 1});
      ++to.list.ranges.back().runs;
    }
    to.next = index + 1;
    ++to.list.count;
  }

  void add(Growing& to, int64_t index, const Edges& edges) {
    if (!edges.none) to.list.displaced.push_back({to.list.count, edges});
    add(to, index);
  }

  std::vector<int32_t> slots_;  ///< by rank, as long as particles are assigned
  std::vector<Slot> all_;
  ParticleRange range_{};
  int64_t ranges_ = 0;
};

/// SendLists that are not empty, by rank.
std::vector<SendList> assign_by_key(const model::MeshBlocks& mine, const Request& request,
                                    int ranks);
std::vector<SendList> assign_spatial(const model::MeshBlocks& mine, const Request& request,
                                     const Cell& cell, int ranks);

/// The part of a domain that is a rank's, in units of the domain's edges: from lo to hi.
struct DomainPart {
  Vector lo, hi;
};
DomainPart spatial_part(const pillion_domain& domain, int rank, int ranks);

}  // namespace pillion::layout
