// SPDX-License-Identifier: BSD-3-Clause
// Boxes of cells, and how the cells of every level of a mesh are divided among the peers: the mesh
// of level 0 in blocks, and each finer level where the cells of level 0 are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <pillion/stage.hpp>
#include <vector>

namespace pillion::stages::flatten {

using Index = std::array<int64_t, 3>;

struct Box {
  Index lo{}, hi{};

  [[nodiscard]] int64_t extent(size_t d) const { return std::max<int64_t>(hi[d] - lo[d], 0); }
  [[nodiscard]] int64_t volume() const { return extent(0) * extent(1) * extent(2); }
  /// Where a cell of the box is, the first axis fastest.
  [[nodiscard]] int64_t at(int64_t i, int64_t j, int64_t k) const {
    return ((k - lo[2]) * extent(1) + j - lo[1]) * extent(0) + i - lo[0];
  }
};

inline Box common(const Box& a, const Box& b) {
  Box out;
  for (size_t d = 0; d < 3; ++d) {
    out.lo[d] = std::max(a.lo[d], b.lo[d]);
    out.hi[d] = std::min(a.hi[d], b.hi[d]);
  }
  return out;
}

/// The cells of a level that is `ratio` times finer.
inline Box refined(Box box, const Index& ratio) {
  for (size_t d = 0; d < 3; ++d) box.lo[d] *= ratio[d], box.hi[d] *= ratio[d];
  return box;
}

/// The cells of a level that is `ratio` times coarser in which the box has any. Not below 0.
inline Box coarsened(Box box, const Index& ratio) {
  for (size_t d = 0; d < 3; ++d) {
    box.lo[d] /= ratio[d];
    box.hi[d] = (box.hi[d] + ratio[d] - 1) / ratio[d];
  }
  return box;
}

inline Box moved(Box box, const Index& by) {
  for (size_t d = 0; d < 3; ++d) box.lo[d] += by[d], box.hi[d] += by[d];
  return box;
}

inline Box grown(Box box, const Index& by) {
  for (size_t d = 0; d < 3; ++d) box.lo[d] -= by[d], box.hi[d] += by[d];
  return box;
}

template <class F>
void for_each_cell(const Box& box, F&& use) {
  for (int64_t k = box.lo[2]; k < box.hi[2]; ++k)
    for (int64_t j = box.lo[1]; j < box.hi[1]; ++j)
      for (int64_t i = box.lo[0]; i < box.hi[0]; ++i) use(i, j, k);
}

class Tiles {
 public:
  /// [peers]
  Tiles(const stage::Step& step, const pillion_mesh& mesh) : me_(step.peer()) {
    std::copy_n(mesh.cells, 3, cells_.begin());
    finer_.push_back({1, 1, 1});
    for (int32_t level = 1; level < mesh.levels; ++level) {
      Index next = finer_.back();
      for (size_t d = 0; d < 3; ++d) next[d] *= mesh.ratios[3 * (level - 1) + static_cast<int>(d)];
      finer_.push_back(next);
    }
    pillion_division division{};
    division.layout = PILLION_LAYOUT_BLOCKS;
    division.axes = mesh.axes;
    std::copy_n(mesh.cells, 3, division.cells);
    const auto part = step.part(division);
    const std::array<Index, 2> mine{part.lo, part.hi};
    std::vector<std::byte> all;
    for (const auto& message : step.gather(std::as_bytes(std::span(mine))))
      all.insert(all.end(), message.bytes.begin(), message.bytes.end());
    const auto bytes = step.broadcast(all);
    std::vector<Box> parts(bytes.size() / sizeof(Box));
    std::memcpy(parts.data(), bytes.data(), bytes.size());
    arrange(parts);
  }

  [[nodiscard]] int levels() const { return static_cast<int>(finer_.size()); }
  /// By how much a level is finer than a coarser one.
  [[nodiscard]] Index ratio(int coarse, int fine) const {
    Index out{};
    for (size_t d = 0; d < 3; ++d)
      out[d] = finer_[static_cast<size_t>(fine)][d] / finer_[static_cast<size_t>(coarse)][d];
    return out;
  }
  /// All cells of a level.
  [[nodiscard]] Box domain(int level) const {
    return refined({{0, 0, 0}, cells_}, finer_[static_cast<size_t>(level)]);
  }
  /// The cells of a level that this peer has; none if it has no part.
  [[nodiscard]] Box mine(int level) const {
    return refined(mine_, finer_[static_cast<size_t>(level)]);
  }
  /// Calls use(peer, cells) for each peer that has cells of a box within the domain, with all of
  /// that peer's cells of the level.
  template <class F>
  void for_each_peer(const Box& box, int level, F&& use) const {
    if (box.volume() == 0) return;
    const Index& finer = finer_[static_cast<size_t>(level)];
    Index first{}, last{};
    for (size_t d = 0; d < 3; ++d) {
      first[d] = along(d, box.lo[d] / finer[d]);
      last[d] = along(d, (box.hi[d] - 1) / finer[d]);
    }
    for_each_cell(
        {first, {last[0] + 1, last[1] + 1, last[2] + 1}}, [&](int64_t i, int64_t j, int64_t k) {
          const auto& [peer, part] = parts_[static_cast<size_t>((k * count(1) + j) * count(0) + i)];
          use(peer, refined(part, finer));
        });
  }

 private:
  [[nodiscard]] int64_t count(size_t d) const { return static_cast<int64_t>(cuts_[d].size()); }
  [[nodiscard]] int64_t along(size_t d, int64_t cell) const {
    return std::upper_bound(cuts_[d].begin(), cuts_[d].end(), cell) - cuts_[d].begin() - 1;
  }
  /// Blocks are those of a grid of cuts along each axis.
  void arrange(const std::vector<Box>& parts) {
    for (size_t d = 0; d < 3; ++d) {
      for (const auto& part : parts)
        if (part.volume() > 0) cuts_[d].push_back(part.lo[d]);
      std::sort(cuts_[d].begin(), cuts_[d].end());
      cuts_[d].erase(std::unique(cuts_[d].begin(), cuts_[d].end()), cuts_[d].end());
    }
    parts_.resize(static_cast<size_t>(count(0) * count(1) * count(2)));
    for (size_t p = 0; p < parts.size(); ++p) {
      const auto& part = parts[p];
      if (static_cast<int32_t>(p) == me_) mine_ = part;
      if (part.volume() == 0) continue;
      const int64_t at = (along(2, part.lo[2]) * count(1) + along(1, part.lo[1])) * count(0) +
                         along(0, part.lo[0]);
      parts_[static_cast<size_t>(at)] = {static_cast<int32_t>(p), part};
    }
  }

  int32_t me_;
  Index cells_{};
  std::vector<Index> finer_;  ///< by level: than level 0
  std::array<std::vector<int64_t>, 3> cuts_;
  std::vector<std::pair<int32_t, Box>> parts_;  ///< of level 0, in the grid of cuts
  Box mine_;
};

}  // namespace pillion::stages::flatten
