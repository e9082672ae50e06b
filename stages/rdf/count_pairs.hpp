// SPDX-License-Identifier: BSD-3-Clause
// Particles sorted into cells as wide as the cutoff, and pairs of them counted by distance.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace pillion::stages::rdf {

// Points sorted into the cells of a grid, so that all that may lie near a place is found in a few
// contiguous stretches: cells along x follow each other, hence one stretch per row of cells. How
// far a stretch reaches is cut to the sphere that is asked for.

struct Points {
  std::array<std::vector<double>, 3> at;
  std::vector<int64_t> molecule;  ///< empty if it is not needed

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(at[0].size()); }
};

/// A regular grid over a box; what lies outside belongs to the nearest cell.
class CellGrid {
 public:
  /// Cells of about `edge`, but larger ones rather than more than `most` cells.
  CellGrid(const std::array<double, 3>& lo, const std::array<double, 3>& hi, double edge,
           double most)
      : lo_(lo), edge_(edge) {
    const auto cells = [&](int axis) { return std::floor((hi[axis] - lo[axis]) / edge_) + 1; };
    while (cells(0) * cells(1) * cells(2) > most && cells(0) + cells(1) + cells(2) > 3)
      edge_ *= 1.5;
    for (int axis = 0; axis < 3; ++axis) n_[axis] = static_cast<int64_t>(cells(axis));
    per_length_ = 1 / edge_;
  }

  [[nodiscard]] int64_t size() const { return n_[0] * n_[1] * n_[2]; }
  [[nodiscard]] int64_t cells(int axis) const { return n_[axis]; }
  [[nodiscard]] int64_t index(int axis, double place) const {
    const double cell = (place - lo_[axis]) * per_length_;
    if (!(cell > 0)) return 0;
    return cell < static_cast<double>(n_[axis]) ? static_cast<int64_t>(cell) : n_[axis] - 1;
  }
  [[nodiscard]] int64_t number(int64_t i, int64_t j, int64_t k) const {
    return (k * n_[1] + j) * n_[0] + i;
  }
  /// Distance from a place to a cell along one axis. The outermost cells reach to infinity.
  [[nodiscard]] double distance(int axis, int64_t cell, double place) const {
    const double from = lo_[axis] + static_cast<double>(cell) * edge_;
    if (place < from) return cell == 0 ? 0 : from - place;
    if (place > from + edge_) return cell == n_[axis] - 1 ? 0 : place - from - edge_;
    return 0;
  }

 private:
  std::array<double, 3> lo_;
  double edge_, per_length_ = 0;
  std::array<int64_t, 3> n_{};
};

/// A grid for points among which all within `radius` will be looked for. Cells are the smaller the
/// denser the points are, so that a stretch is worth the time to find it.
inline CellGrid grid_for(const Points& points, double radius) {
  std::array<double, 3> lo{}, hi{};
  double volume = 1;
  for (int axis = 0; axis < 3; ++axis) {
    bool first = true;
    for (const double v : points.at[axis]) {
      if (!std::isfinite(v)) continue;
      lo[axis] = first ? v : std::min(lo[axis], v);
      hi[axis] = first ? v : std::max(hi[axis], v);
      first = false;
    }
    volume *= std::max(hi[axis] - lo[axis], radius);
  }
  const auto count = static_cast<double>(points.size());
  double edge = radius;
  for (const double parts : {2, 3, 4}) {
    const double in_stretch = count / volume * 2 * radius * (radius / parts) * (radius / parts);
    if (in_stretch > 8) edge = radius / parts;
  }
  return CellGrid(lo, hi, edge, 2 * count + 64);
}

class CellList {
 public:
  /// For searches within about `radius`.
  CellList(const Points& points, double radius) : CellList(grid_for(points, radius), points) {}

  CellList(const CellGrid& grid, const Points& points) : grid_(grid), start_(grid.size() + 1) {
    std::vector<int64_t> cell(static_cast<size_t>(points.size()));
    for (int64_t i = 0; i < points.size(); ++i) {
      cell[i] = grid.number(grid.index(0, points.at[0][i]), grid.index(1, points.at[1][i]),
                            grid.index(2, points.at[2][i]));
      ++start_[cell[i] + 1];
    }
    for (int64_t c = 0; c < grid.size(); ++c) start_[c + 1] += start_[c];
    for (auto& component : sorted_.at) component.resize(cell.size());
    sorted_.molecule.resize(points.molecule.size());
    auto next = start_;
    for (int64_t i = 0; i < points.size(); ++i) place(points, i, next[cell[i]]++);
  }

  [[nodiscard]] const Points& points() const { return sorted_; }

  /// Calls use(from, to) with ranges of points() that hold every point within `radius` of a place,
  /// and others.
  template <class F>
  void near(double x, double y, double z, double radius, F&& use) const {
    rows({x, y, z}, radius, false, use);
  }
  /// The same, but leaves out most of the points that come before the one at this place.
  template <class F>
  void near_after(double x, double y, double z, double radius, F&& use) const {
    rows({x, y, z}, radius, true, use);
  }

 private:
  template <class F>
  void rows(const std::array<double, 3>& at, double radius, bool after, F& use) const {
    const double reach = radius * (1 + 1e-6), reach2 = reach * reach;
    const int64_t own_j = grid_.index(1, at[1]), own_k = grid_.index(2, at[2]);
    const int64_t first_j = grid_.index(1, at[1] - reach), last_j = grid_.index(1, at[1] + reach);
    const int64_t last_k = grid_.index(2, at[2] + reach);
    for (int64_t k = after ? own_k : grid_.index(2, at[2] - reach); k <= last_k; ++k) {
      const double dz = grid_.distance(2, k, at[2]);
      for (int64_t j = after && k == own_k ? own_j : first_j; j <= last_j; ++j) {
        const double dy = grid_.distance(1, j, at[1]);
        const double left = reach2 - dy * dy - dz * dz;
        if (left < 0) continue;
        const double half = std::sqrt(left);
        const int64_t row = grid_.number(0, j, k);
        const int64_t from = start_[row + grid_.index(0, at[0] - half)];
        const int64_t to = start_[row + grid_.index(0, at[0] + half) + 1];
        if (from < to) use(from, to);
      }
    }
  }
  void place(const Points& points, int64_t from, int64_t to) {
    for (int axis = 0; axis < 3; ++axis) sorted_.at[axis][to] = points.at[axis][from];
    if (!points.molecule.empty()) sorted_.molecule[to] = points.molecule[from];
  }

  CellGrid grid_;
  Points sorted_;
  std::vector<int64_t> start_;
};

// Counting pairs of points by distance. The rule that gives a pair its bin is that of LAMMPS
// `compute rdf`, operation by operation, so that counts agree exactly: distance first, times the
// reciprocal of the bin's width, cut to an integer. Loops over neighbours are kept free of branches
// for the compiler to vectorise.

struct PairRule {
  double cutoff = 0;
  int64_t bins = 0;
  bool skip_same_molecule = false;

  [[nodiscard]] double bins_per_length() const {
    const double width = cutoff / static_cast<double>(bins);
    return 1.0 / width;
  }
};

/// Adds pairs to bins, `weight` for each.
class PairCounter {
 public:
  PairCounter(const PairRule& rule, int64_t weight, std::span<int64_t> counts)
      : rule_(rule),
        per_length_(rule.bins_per_length()),
        limit_(rule.cutoff * rule.cutoff * (1 + 1e-6)),
        weight_(weight),
        counts_(counts) {}

  /// Pairs of one point with points [from, to).
  void add(const Points& points, int64_t from, int64_t to, const std::array<double, 3>& centre,
           int64_t molecule) {
    for (; from < to; from += stretch) {
      const int64_t n = std::min(to - from, stretch);
      if (held_ + n > capacity) flush();
      measure(points, from, n, centre);
      if (rule_.skip_same_molecule && molecule != 0) keep_others(points, from, n, molecule);
      else keep_near(n);
    }
  }

  /// To be called after the last `add`.
  void flush() {
    std::array<int32_t, capacity> bin;
    for (int64_t i = 0; i < held_; ++i)
      bin[i] = static_cast<int32_t>(std::sqrt(near_[i]) * per_length_);
    for (int64_t i = 0; i < held_; ++i)
      if (bin[i] < rule_.bins) counts_[bin[i]] += weight_;
    held_ = 0;
  }

 private:
  static constexpr int64_t stretch = 256, capacity = 1024;

  void measure(const Points& points, int64_t from, int64_t n, const std::array<double, 3>& centre) {
    const double *x = &points.at[0][from], *y = &points.at[1][from], *z = &points.at[2][from];
    for (int64_t i = 0; i < n; ++i) {
      const double dx = centre[0] - x[i], dy = centre[1] - y[i], dz = centre[2] - z[i];
      squared_[i] = dx * dx + dy * dy + dz * dz;
    }
  }
  void keep_near(int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      near_[held_] = squared_[i];
      held_ += squared_[i] <= limit_ ? 1 : 0;
    }
  }
  void keep_others(const Points& points, int64_t from, int64_t n, int64_t molecule) {
    for (int64_t i = 0; i < n; ++i) {
      near_[held_] = squared_[i];
      const bool other = points.molecule[from + i] != molecule;
      held_ += (squared_[i] <= limit_) & other ? 1 : 0;
    }
  }

  PairRule rule_;
  double per_length_, limit_;
  int64_t weight_;
  std::span<int64_t> counts_;
  int64_t held_ = 0;
  std::array<double, stretch> squared_;
  std::array<double, capacity + 1> near_;
};

/// Every point of `centres` with every point of `partners`, which are other points.
inline void count_pairs(const CellList& centres, const CellList& partners, const PairRule& rule,
                        std::span<int64_t> counts) {
  const auto& c = centres.points();
  PairCounter counter(rule, 1, counts);
  for (int64_t i = 0; i < c.size(); ++i) {
    const std::array<double, 3> at = {c.at[0][i], c.at[1][i], c.at[2][i]};
    const int64_t molecule = rule.skip_same_molecule ? c.molecule[i] : 0;
    partners.near(at[0], at[1], at[2], rule.cutoff, [&](int64_t from, int64_t to) {
      counter.add(partners.points(), from, to, at, molecule);
    });
  }
  counter.flush();
}

/// Every point with every other of the same set, both ways round; each distance is computed once.
inline void count_pairs_within(const CellList& set, const PairRule& rule,
                               std::span<int64_t> counts) {
  const auto& c = set.points();
  PairCounter counter(rule, 2, counts);
  for (int64_t i = 0; i < c.size(); ++i) {
    const std::array<double, 3> at = {c.at[0][i], c.at[1][i], c.at[2][i]};
    const int64_t molecule = rule.skip_same_molecule ? c.molecule[i] : 0;
    set.near_after(at[0], at[1], at[2], rule.cutoff, [&](int64_t from, int64_t to) {
      counter.add(c, std::max(from, i + 1), to, at, molecule);
    });
  }
  counter.flush();
}

}  // namespace pillion::stages::rdf
