// SPDX-License-Identifier: BSD-3-Clause
// The time average of a radial distribution function: counts and what they are divided by, summed
// frame by frame, so that a changing volume or number of particles is weighed rightly.
#pragma once

#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "species_pairs.hpp"

namespace pillion::stages {

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

/// Counts over those expected in each shell, or ring; zeros if nothing is expected.
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
    out.push_back(expected > 0 ? static_cast<double>(counts[i]) / (shell * expected) : 0);
  }
  return out;
}

/// Mean number of partners nearer than the outer edge of each bin.
inline std::vector<double> coordination(const std::vector<int64_t>& counts, double centres) {
  std::vector<double> out;
  int64_t sum = 0;
  for (const auto count : counts) {
    sum += count;
    out.push_back(centres > 0 ? static_cast<double>(sum) / centres : 0);
  }
  return out;
}

}  // namespace pillion::stages
