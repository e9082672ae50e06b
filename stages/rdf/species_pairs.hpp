// SPDX-License-Identifier: BSD-3-Clause
// Pairs of species: which the parameters name, and averages of their counts over publications.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <pillion/stage.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../common/options.hpp"
#include "../common/species.hpp"

namespace pillion::stages::rdf {

// Which pairs of particles a pair of species means. Species may overlap, so particles are put into
// classes: particles of the same species are one class. Pairs are counted once for each two classes
// that are needed, and the counts of two species are sums of those.

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

// Reading the parameters of `rdf` that no other stage has.

inline size_t species_index(const stage::Value& value, const Selection& selection) {
  const auto name = value.text();
  const int index = selection.find(name);
  if (index < 0) {
    std::string list;
    for (const auto& one : selection.species()) list += (list.empty() ? "" : ", ") + one.name;
    value.fail("'" + name + "' is none of the species: " + list);
  }
  return static_cast<size_t>(index);
}

inline std::vector<SpeciesPair> pairs_of(const stage::Value& list, const Selection& selection) {
  if (!list.is_list() || list.size() == 0)
    list.fail("expected a list of pairs of species, such as [[ion, O], [O, O]]");
  std::vector<SpeciesPair> out;
  std::set<std::string> seen;
  for (int64_t i = 0; i < list.size(); ++i) {
    const auto entry = list[i];
    if (!entry.is_list() || entry.size() != 2)
      entry.fail("expected a pair of species, [A, B], not " + written(entry));
    const auto name = entry[0].text() + "_" + entry[1].text();
    if (!seen.insert(name).second) entry.fail("the pair " + name + " is listed twice");
    out.push_back({species_index(entry[0], selection), species_index(entry[1], selection), name});
  }
  return out;
}

inline double cutoff_of(const stage::Value& value) {
  const double cutoff = value.real();
  if (!(cutoff > 0) || !std::isfinite(cutoff))
    value.fail("the cutoff must be above 0, not " + value.text());
  return cutoff;
}

inline int64_t bins_of(const stage::Value& value) { return integer_from(value, 1, most_bins); }

// The time average of a radial distribution function: counts and what they are divided by, summed
// frame by frame, so that a changing volume or number of particles is weighed rightly.

/// What a pair of equal particles is compared with: the density of all of them, or of all others.
enum class Density { all, others };

struct Averages {
  int64_t frames = 0;
  int64_t coarse_frames = 0;
  int64_t dimensions = 3;        ///< in two, volumes are areas
  std::vector<int64_t> counts;   ///< [pair of classes][bin], ordered pairs
  std::vector<double> expected;  ///< [pair] Σ N_A N_B / V: pairs per volume if there were no order
  std::vector<double> particles;  ///< [species] Σ N
  std::vector<double> density;    ///< [species] Σ N / V
  std::vector<double> centres;    ///< [species] Σ N / coarsening

  Averages(const PairPlan& plan, size_t species, int64_t bins)
      : counts(plan.class_pairs().size() * bins),
        expected(plan.pairs().size()),
        particles(species),
        density(species),
        centres(species) {}

  /// Adds a frame that holds one of `coarsening` particles; numbers and counts are of these. Of the
  /// partners of each as few are there, so for the mean number of partners it weighs less.
  void add(const PairPlan& plan, std::span<const int64_t> frame_counts,
           std::span<const int64_t> in_class, double volume, Density rule, int64_t coarsening) {
    ++frames;
    coarse_frames += coarsening > 1 ? 1 : 0;
    for (size_t i = 0; i < counts.size(); ++i) counts[i] += frame_counts[i];
    for (size_t s = 0; s < particles.size(); ++s) {
      const auto n = static_cast<double>(plan.particles(s, in_class));
      particles[s] += n;
      density[s] += n / volume;
      centres[s] += n / static_cast<double>(coarsening);
    }
    for (size_t p = 0; p < expected.size(); ++p) {
      const auto& pair = plan.pairs()[p];
      const auto a = static_cast<double>(plan.particles(pair.a, in_class));
      const auto b = static_cast<double>(plan.particles(pair.b, in_class));
      const auto self = static_cast<double>(plan.common(pair, in_class));
      expected[p] += (a * b - (rule == Density::others ? self : 0)) / volume;
    }
  }
};

/// Centres of the bins.
inline std::vector<double> radii(double cutoff, int64_t bins) {
  std::vector<double> out;
  const double width = cutoff / static_cast<double>(bins);
  for (int64_t i = 0; i < bins; ++i) out.push_back((static_cast<double>(i) + 0.5) * width);
  return out;
}

/// Counts over those expected in each shell, or ring; not a number if nothing is expected.
inline std::vector<double> distribution(const std::vector<int64_t>& counts, double expected,
                                        double cutoff, int64_t dimensions) {
  std::vector<double> out;
  const double width = cutoff / static_cast<double>(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    const double inner = static_cast<double>(i) * width;
    const double outer = static_cast<double>(i + 1) * width;
    const double shell = dimensions == 2 ? std::numbers::pi * (outer * outer - inner * inner)
                                         : 4 * std::numbers::pi / 3 *
                                               (outer * outer * outer - inner * inner * inner);
    out.push_back(expected > 0 ? static_cast<double>(counts[i]) / (shell * expected)
                               : std::numeric_limits<double>::quiet_NaN());
  }
  return out;
}

/// Mean number of partners nearer than the outer edge of each bin; not a number without centres.
inline std::vector<double> coordination(const std::vector<int64_t>& counts, double centres) {
  std::vector<double> out;
  int64_t sum = 0;
  for (const auto count : counts) {
    sum += count;
    out.push_back(centres > 0 ? static_cast<double>(sum) / centres
                              : std::numeric_limits<double>::quiet_NaN());
  }
  return out;
}

}  // namespace pillion::stages::rdf
