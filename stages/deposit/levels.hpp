// SPDX-License-Identifier: BSD-3-Clause
// Putting particles on a mesh with levels of refinement. A particle is a cloud in cells of the
// finest level that has a box where the particle is. A share of such a cell goes to the cell that
// counts there: to itself, to the coarser one that holds it, or, where it is refined, in equal
// parts to the finer cells in it. So no mass is lost between levels.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <pillion/stage.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cloud.hpp"

namespace pillion::stages::deposit {

using Index = std::array<int64_t, 3>;

/// A box of a level, the peer that has it, and the number of its block there.
struct LevelBox {
  int32_t level, peer, block, reserved;
  Index lo, hi;

  [[nodiscard]] bool has(const Index& cell) const {
    for (size_t d = 0; d < 3; ++d)
      if (cell[d] < lo[d] || cell[d] >= hi[d]) return false;
    return true;
  }
  /// The number of a cell among those of the box, the first axis fastest.
  [[nodiscard]] int64_t number(const Index& cell) const {
    return ((cell[2] - lo[2]) * (hi[1] - lo[1]) + cell[1] - lo[1]) * (hi[0] - lo[0]) + cell[0] -
           lo[0];
  }
};

/// Mass in a cell of a block of another peer.
struct CellMass {
  int64_t block, cell;
  double mass;
};

/// Cells along the axes at each level, and by how much each is finer than the one before.
struct Hierarchy {
  std::vector<Index> cells, ratios;  ///< ratios[l] leads from level l to level l + 1
  std::array<bool, 3> periodic{};

  explicit Hierarchy(const pillion_mesh& mesh) {
    cells.push_back({mesh.cells[0], mesh.cells[1], mesh.cells[2]});
    for (size_t d = 0; d < 3; ++d) periodic[d] = mesh.periodic[d] != 0;
    for (int32_t l = 0; l + 1 < mesh.levels; ++l) {
      ratios.push_back({mesh.ratios[3 * l], mesh.ratios[3 * l + 1], mesh.ratios[3 * l + 2]});
      auto& next = cells.emplace_back(cells.back());
      for (size_t d = 0; d < 3; ++d) next[d] *= ratios.back()[d];
    }
  }
  [[nodiscard]] int32_t levels() const { return static_cast<int32_t>(cells.size()); }
  /// Brings a cell beyond a periodic end back; false if it is beyond another end.
  [[nodiscard]] bool wrap(int32_t level, Index& cell) const {
    const auto& all = cells[static_cast<size_t>(level)];
    for (size_t d = 0; d < 3; ++d) {
      if (periodic[d]) cell[d] = (cell[d] % all[d] + all[d]) % all[d];
      if (cell[d] < 0 || cell[d] >= all[d]) return false;
    }
    return true;
  }
};

/// Finds the box that has a cell.
class BoxFinder {
 public:
  explicit BoxFinder(std::vector<LevelBox> boxes) : boxes_(std::move(boxes)) {
    for (size_t n = 0; n < boxes_.size(); ++n) {
      const auto& box = boxes_[n];
      for (int64_t k = box.lo[2] >> side; k <= (box.hi[2] - 1) >> side; ++k)
        for (int64_t j = box.lo[1] >> side; j <= (box.hi[1] - 1) >> side; ++j)
          for (int64_t i = box.lo[0] >> side; i <= (box.hi[0] - 1) >> side; ++i)
            buckets_[key(box.level, i, j, k)].push_back(n);
    }
  }
  /// The box's number; -1 if there is none.
  [[nodiscard]] int64_t find(int32_t level, const Index& cell) const {
    const auto at = buckets_.find(key(level, cell[0] >> side, cell[1] >> side, cell[2] >> side));
    if (at == buckets_.end()) return -1;
    for (const size_t n : at->second)
      if (boxes_[n].level == level && boxes_[n].has(cell)) return static_cast<int64_t>(n);
    return -1;
  }
  [[nodiscard]] const LevelBox& operator[](int64_t n) const {
    return boxes_[static_cast<size_t>(n)];
  }

 private:
  static constexpr int side = 3;  ///< buckets of 2^3 cells along each axis
  /// Several buckets may have one key, which costs time alone.
  static uint64_t key(int32_t level, int64_t i, int64_t j, int64_t k) {
    uint64_t out = static_cast<uint64_t>(level);
    for (const int64_t n : {i, j, k})
      out = (out ^ static_cast<uint64_t>(n)) * 0x9e3779b97f4a7c15u + (out >> 29);
    return out;
  }

  std::vector<LevelBox> boxes_;
  std::unordered_map<uint64_t, std::vector<size_t>> buckets_;
};

/// Deposits particles into the boxes that are known here; `put(box, cell number, mass)` gets what
/// each cell does.
template <class Put>
class LevelDeposit {
 public:
  LevelDeposit(const Hierarchy& hierarchy, const BoxFinder& boxes, Put put)
      : hierarchy_(hierarchy), boxes_(boxes), put_(std::move(put)) {}

  /// At a place in units of the mesh's edges. Where no level has a box it is lost.
  template <Cloud cloud>
  void add(const std::array<double, 3>& place, double mass) {
    const int32_t level = level_at(place);
    if (level < 0) return;
    const auto& cells = hierarchy_.cells[static_cast<size_t>(level)];
    std::array<Cover, 3> covers;
    for (size_t d = 0; d < 3; ++d)
      covers[d] = cover<cloud>(place[d] * static_cast<double>(cells[d]));
    constexpr size_t width = width_of(cloud);
    for (size_t k = 0; k < width; ++k)
      for (size_t j = 0; j < width; ++j)
        for (size_t i = 0; i < width; ++i) {
          Index cell{covers[0].first + static_cast<int64_t>(i),
                     covers[1].first + static_cast<int64_t>(j),
                     covers[2].first + static_cast<int64_t>(k)};
          const double share =
              mass * covers[2].shares[k] * covers[1].shares[j] * covers[0].shares[i];
          if (share != 0 && hierarchy_.wrap(level, cell)) add_to(level, cell, share);
        }
  }

 private:
  /// The finest that has a box there; -1 if none has.
  [[nodiscard]] int32_t level_at(const std::array<double, 3>& place) const {
    for (int32_t level = hierarchy_.levels(); level-- > 0;) {
      Index cell{};
      for (size_t d = 0; d < 3; ++d)
        cell[d] = static_cast<int64_t>(std::floor(
            place[d] * static_cast<double>(hierarchy_.cells[static_cast<size_t>(level)][d])));
      if (hierarchy_.wrap(level, cell) && boxes_.find(level, cell) >= 0) return level;
    }
    return -1;
  }

  void add_to(int32_t level, const Index& cell, double mass) {
    if (level + 1 < hierarchy_.levels()) {
      const auto& ratio = hierarchy_.ratios[static_cast<size_t>(level)];
      const Index first{cell[0] * ratio[0], cell[1] * ratio[1], cell[2] * ratio[2]};
      if (boxes_.find(level + 1, first) >= 0) return add_to_children(level, first, ratio, mass);
    }
    int64_t box = boxes_.find(level, cell);
    Index at = cell;
    // What has no box is a part of a coarser cell.
    for (; box < 0 && level-- > 0; box = boxes_.find(level, at))
      for (size_t d = 0; d < 3; ++d) at[d] /= hierarchy_.ratios[static_cast<size_t>(level)][d];
    if (box >= 0) put_(boxes_[box], boxes_[box].number(at), mass);
  }
  // Boxes begin and end where coarser cells do, so a cell is refined whole or not at all.
  void add_to_children(int32_t level, const Index& first, const Index& ratio, double mass) {
    const double each = mass / static_cast<double>(ratio[0] * ratio[1] * ratio[2]);
    for (int64_t k = 0; k < ratio[2]; ++k)
      for (int64_t j = 0; j < ratio[1]; ++j)
        for (int64_t i = 0; i < ratio[0]; ++i)
          add_to(level + 1, {first[0] + i, first[1] + j, first[2] + k}, each);
  }

  const Hierarchy& hierarchy_;
  const BoxFinder& boxes_;
  Put put_;
};

}  // namespace pillion::stages::deposit
