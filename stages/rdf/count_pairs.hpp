// SPDX-License-Identifier: BSD-3-Clause
// Counting pairs of points by distance. The rule that gives a pair its bin is that of LAMMPS
// `compute rdf`, operation by operation, so that counts agree exactly: distance first, times the
// reciprocal of the bin's width, cut to an integer. Loops over neighbours are kept free of branches
// for the compiler to vectorise.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "cells.hpp"

namespace pillion::stages {

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

}  // namespace pillion::stages
