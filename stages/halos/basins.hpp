// SPDX-License-Identifier: BSD-3-Clause
// Basins of a rank's cells: from every cell a path leads upwards, over own cells as long as there
// are any, to a maximum or to the first cell of another rank. The paths' ends are the basins. Where
// basins meet, a saddle joins them: the highest cell that connects them. One sweep over the cells
// finds both, and all that is known of the rank's part of the merge tree follows from them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "grid.hpp"

namespace pillion::stages::halos {

/// The upper end of paths: an own maximum, or an image of a cell of whichever rank.
struct Basin {
  Vertex top;
  Image image = 0;
  bool is_own = true;
};

/// A cell that joins two basins.
struct Saddle {
  Vertex vertex;
  uint32_t a, b;
};

struct Basins {
  std::vector<uint32_t> label;  ///< basin of each own cell, by its place in the piece
  std::vector<Basin> basins;
  std::vector<Saddle> saddles;
};

/// The most cells that a piece can have, the layer around it included.
constexpr int64_t most_cells = int64_t{1} << 31;

/// Finds the basins of values of a piece, first axis fastest; none may be NaN.
template <class T>
class Sweep {
 public:
  Sweep(const Grid& grid, const Piece& piece, const T* values)
      : grid_(grid), piece_(piece), values_(values), table_(representatives_of_all().data()) {
    const Cell strides = piece.strides();
    for (size_t n = 0; n < neighbours; ++n)
      offsets_[n] = steps[n][0] + steps[n][1] * strides[1] + steps[n][2] * strides[2];
    out_.label.assign(static_cast<size_t>(piece.size()), unseen);
    label_ = out_.label.data();
    higher_.resize(static_cast<size_t>(piece.inner_hi[0] - piece.inner_lo[0]));
  }

  Basins find() && {
    for (int64_t z = piece_.inner_lo[2]; z < piece_.inner_hi[2]; ++z)
      for (int64_t y = piece_.inner_lo[1]; y < piece_.inner_hi[1]; ++y) row(y, z);
    resolve();
    join();
    return std::move(out_);
  }

 private:
  // A label is the number of a basin with this bit, or the next cell of the path.
  static constexpr uint32_t is_basin = uint32_t{1} << 31, unseen = is_basin - 1;
  struct Critical {
    int64_t id;
    uint32_t cell, representatives;
  };

  [[nodiscard]] bool inside(int axis, int64_t at) const {
    return at > piece_.inner_lo[axis] && at < piece_.inner_hi[axis] - 1;
  }

  void row(int64_t y, int64_t z) {
    const int64_t lo = piece_.inner_lo[0], hi = piece_.inner_hi[0];
    if (!inside(1, y) || !inside(2, z) || hi - lo < 3) {
      for (int64_t x = lo; x < hi; ++x) edge({x, y, z});
      return;
    }
    edge({lo, y, z});
    interior(piece_.offset({lo + 1, y, z}), hi - lo - 2, grid_.id({lo + 1, y, z}));
    edge({hi - 1, y, z});
  }

  /// Cells whose neighbours are own cells, and in the order of their ids.
  void interior(int64_t begin, int64_t count, int64_t id) {
    const T* row = values_ + begin;
    uint16_t* higher = higher_.data();
    for (int64_t i = 0; i < count; ++i) {
      const T value = row[i];
      uint32_t set = 0;
      for (size_t n = 0; n < before; ++n) set |= uint32_t{row[i + offsets_[n]] > value} << n;
      for (size_t n = before; n < neighbours; ++n)
        set |= uint32_t{row[i + offsets_[n]] >= value} << n;
      higher[i] = static_cast<uint16_t>(set);
    }
    for (int64_t i = 0; i < count; ++i) place(begin + i, id + i, table_[higher[i]]);
  }

  /// Any cell: neighbours may be others', across a periodic face, or missing.
  void edge(const Cell& at) {
    const Vertex self = vertex(at);
    Neighbours higher = 0, own = 0;
    for (size_t n = 0; n < neighbours; ++n) {
      const Cell other = {at[0] + steps[n][0], at[1] + steps[n][1], at[2] + steps[n][2]};
      if (is_itself(n) || !piece_.holds(other) || !(self < vertex(other))) continue;
      higher |= Neighbours{1} << n;
      if (piece_.owns(other)) own |= Neighbours{1} << n;
    }
    const Neighbours chosen = representatives(higher, own);
    for (Neighbours left = chosen & ~own; left != 0; left &= left - 1) {
      const auto n = static_cast<size_t>(std::countr_zero(left));
      meet({at[0] + steps[n][0], at[1] + steps[n][1], at[2] + steps[n][2]});
    }
    place(piece_.offset(at), self.id, chosen);
  }

  /// Along a periodic axis of one cell every step leads to the same cell as none, which is also
  /// how it is taken: nothing wraps round there.
  [[nodiscard]] bool is_itself(size_t n) const {
    for (size_t d = 0; d < 3; ++d)
      if (grid_.cells[d] == 1 && steps[n][d] != 0) return true;
    return false;
  }

  [[nodiscard]] Vertex vertex(const Cell& at) const {
    return {static_cast<double>(values_[piece_.offset(at)]), grid_.id(at)};
  }

  /// Paths that come to another's cell end there.
  void meet(const Cell& at) {
    auto& label = label_[piece_.offset(at)];
    if (label != unseen) return;
    label = new_basin({vertex(at), image_of(grid_.meshes_to(at)), false});
  }
  uint32_t new_basin(const Basin& basin) {
    out_.basins.push_back(basin);
    return is_basin | static_cast<uint32_t>(out_.basins.size() - 1);
  }

  /// Decides the next cell of the path of a cell.
  void place(int64_t cell, int64_t id, Neighbours representatives) {
    if (representatives == 0) {
      label_[cell] = new_basin({{static_cast<double>(values_[cell]), id}, 0, true});
      return;
    }
    const int64_t next = cell + offsets_[static_cast<size_t>(one_of(representatives))];
    label_[cell] = label_[next] != unseen ? label_[next] : static_cast<uint32_t>(next);
    if ((representatives & (representatives - 1)) != 0)
      critical_.push_back({id, static_cast<uint32_t>(cell), representatives});
  }

  /// Every own cell gets the basin that its path ends in; each path is walked once.
  void resolve() {
    for (int64_t z = piece_.inner_hi[2] - 1; z >= piece_.inner_lo[2]; --z)
      for (int64_t y = piece_.inner_hi[1] - 1; y >= piece_.inner_lo[1]; --y) {
        const int64_t first = piece_.offset({piece_.inner_lo[0], y, z});
        for (int64_t c = first + piece_.inner_hi[0] - piece_.inner_lo[0] - 1; c >= first; --c)
          if ((label_[c] & is_basin) == 0) walk(static_cast<uint32_t>(c));
      }
    for (auto& label : out_.label) label &= ~is_basin;
  }
  void walk(uint32_t cell) {
    uint32_t end = label_[cell];
    while ((end & is_basin) == 0) end = label_[end];
    while ((label_[cell] & is_basin) == 0) cell = std::exchange(label_[cell], end);
  }

  void join() {
    for (const auto& c : critical_) {
      const uint32_t a = label_[c.cell];
      const Vertex vertex = {static_cast<double>(values_[c.cell]), c.id};
      for (Neighbours left = c.representatives; left != 0; left &= left - 1) {
        const uint32_t b = label_[c.cell + offsets_[static_cast<size_t>(std::countr_zero(left))]];
        if (a != b) out_.saddles.push_back({vertex, a, b});
      }
    }
  }

  const Grid& grid_;
  const Piece& piece_;
  const T* values_;
  const uint16_t* table_;
  std::array<int64_t, neighbours> offsets_{};
  std::vector<uint16_t> higher_;
  std::vector<Critical> critical_;
  Basins out_;
  uint32_t* label_ = nullptr;
};

template <class T>
Basins find_basins(const Grid& grid, const Piece& piece, const T* values) {
  return Sweep<T>(grid, piece, values).find();
}

}  // namespace pillion::stages::halos
