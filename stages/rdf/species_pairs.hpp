// SPDX-License-Identifier: BSD-3-Clause
// Which pairs of particles a pair of species means. Species may overlap, so particles are put into
// classes: those that belong to the same species are one class. Pairs are counted once for each two
// classes that are needed, and the counts of two species are sums of those.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../common/species.hpp"

namespace pillion::stages {

/// Two species, by index, and what names of columns end in.
struct SpeciesPair {
  size_t a, b;
  std::string name;
};

class PairPlan {
 public:
  PairPlan(const Selection& selection, std::vector<SpeciesPair> pairs) : pairs_(std::move(pairs)) {
    for (const auto type : selection.types()) masks_.push_back(selection.membership(type));
    std::sort(masks_.begin(), masks_.end());
    masks_.erase(std::unique(masks_.begin(), masks_.end()), masks_.end());
    for (size_t a = 0; a < masks_.size(); ++a)
      for (size_t b = a; b < masks_.size(); ++b)
        if (needed(a, b)) class_pairs_.emplace_back(a, b);
  }

  [[nodiscard]] const std::vector<SpeciesPair>& pairs() const { return pairs_; }
  [[nodiscard]] size_t classes() const { return masks_.size(); }
  /// Unordered pairs of classes, a ≤ b.
  [[nodiscard]] const std::vector<std::pair<size_t, size_t>>& class_pairs() const {
    return class_pairs_;
  }
  /// Class of a particle, given the species it belongs to (at least one).
  [[nodiscard]] size_t class_of(uint64_t membership) const {
    return std::lower_bound(masks_.begin(), masks_.end(), membership) - masks_.begin();
  }

  /// Particles of a species, given those of each class.
  [[nodiscard]] int64_t particles(size_t species, std::span<const int64_t> in_class) const {
    return count(uint64_t{1} << species, in_class);
  }
  /// Particles that belong to both species of a pair.
  [[nodiscard]] int64_t common(const SpeciesPair& pair, std::span<const int64_t> in_class) const {
    return count(uint64_t{1} << pair.a | uint64_t{1} << pair.b, in_class);
  }

  /// Ordered pairs of two species by bin, from those of the pairs of classes, one after another.
  [[nodiscard]] std::vector<int64_t> counts(const SpeciesPair& pair,
                                            std::span<const int64_t> of_classes,
                                            int64_t bins) const {
    std::vector<int64_t> out(static_cast<size_t>(bins));
    for (size_t p = 0; p < class_pairs_.size(); ++p) {
      const auto [a, b] = class_pairs_[p];
      const int64_t times = (is(a, pair.a) && is(b, pair.b) ? 1 : 0) +
                            (a != b && is(b, pair.a) && is(a, pair.b) ? 1 : 0);
      if (times == 0) continue;
      for (int64_t n = 0; n < bins; ++n) out[n] += times * of_classes[p * bins + n];
    }
    return out;
  }

 private:
  [[nodiscard]] bool is(size_t cls, size_t species) const {
    return (masks_[cls] >> species & 1) != 0;
  }
  [[nodiscard]] bool needed(size_t a, size_t b) const {
    return std::any_of(pairs_.begin(), pairs_.end(), [&](const SpeciesPair& p) {
      return (is(a, p.a) && is(b, p.b)) || (is(b, p.a) && is(a, p.b));
    });
  }
  /// Particles of the classes that belong to all of these species.
  [[nodiscard]] int64_t count(uint64_t species, std::span<const int64_t> in_class) const {
    int64_t sum = 0;
    for (size_t c = 0; c < masks_.size(); ++c)
      if ((masks_[c] & species) == species) sum += in_class[c];
    return sum;
  }

  std::vector<SpeciesPair> pairs_;
  std::vector<uint64_t> masks_;
  std::vector<std::pair<size_t, size_t>> class_pairs_;
};

}  // namespace pillion::stages
