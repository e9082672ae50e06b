// SPDX-License-Identifier: BSD-3-Clause
// What each rank gets of the particles that are here: lists of runs, since particles that are
// neighbours in memory often go to the same rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace pillion::layout {

/// Particles that follow each other, counted from where their stretch begins.
struct Run {
  uint32_t first;
  uint32_t count;
};

/// Runs of one block.
struct Stretch {
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
  std::vector<Stretch> stretches;
  std::vector<Run> runs;
  std::vector<Displaced> displaced;
  int64_t count = 0;
};

/// What one rank is sent.
struct Share {
  int rank;
  ParticleList owned;
  ParticleList copies;
};

/// Shares in the making. Particles are given stretch by stretch, each from its beginning on.
class Shares {
 public:
  static constexpr int64_t longest_stretch = std::numeric_limits<uint32_t>::max();

  explicit Shares(int ranks) : slots_(static_cast<size_t>(ranks), none) {}

  void begin(int32_t block, int64_t index) {
    stretch_ = {block, index, 0};
    ++stretches_;
  }
  void own(int rank, int64_t index) { add(slot_of(rank).owned, index); }
  void own(int rank, int64_t index, const Edges& edges) { add(slot_of(rank).owned, index, edges); }
  void copy(int rank, int64_t index, const Edges& edges) {
    add(slot_of(rank).copies, index, edges);
  }
  /// Those that are not empty, by rank.
  std::vector<Share> take();

 private:
  static constexpr int32_t none = -1;

  struct Growing {
    ParticleList list;
    int64_t stretch = 0;  ///< number of the last one
    int64_t next = 0;     ///< what would lengthen its last run
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
    if (to.stretch != stretches_) {
      to.stretch = stretches_;
      to.next = -1;
      to.list.stretches.push_back(stretch_);
    }
    if (index == to.next) {
      ++to.list.runs.back().count;
    } else {
      to.list.runs.push_back({static_cast<uint32_t>(index - stretch_.begin), 1});
      ++to.list.stretches.back().runs;
    }
    to.next = index + 1;
    ++to.list.count;
  }

  void add(Growing& to, int64_t index, const Edges& edges) {
    if (!edges.none) to.list.displaced.push_back({to.list.count, edges});
    add(to, index);
  }

  std::vector<int32_t> slots_;  ///< by rank, as long as particles are dealt
  std::vector<Slot> all_;
  Stretch stretch_{};
  int64_t stretches_ = 0;
};

}  // namespace pillion::layout
