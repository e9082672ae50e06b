// SPDX-License-Identifier: BSD-3-Clause
// The table of `uncertainty`: a row for each time that errors were estimated, over all series of
// each component.
#pragma once

#include <cmath>
#include <cstdint>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../common/elements.hpp"
#include "mean_error.hpp"
#include "median.hpp"

namespace pillion::stages {

/// What this peer found of one component's series.
struct Found {
  double sum_of_means = 0, means = 0;  ///< of those that are finite
  double greatest = 0;                 ///< sigma
  std::vector<double> sigmas, reaches, inefficiencies;
  std::vector<int64_t> verdicts = std::vector<int64_t>(stages::verdicts);

  void add(double mean, const MeanError& error) {
    ++verdicts[static_cast<size_t>(error.verdict)];
    if (std::isfinite(mean)) sum_of_means += mean, ++means;
    if (error.verdict == Verdict::unknown || error.verdict == Verdict::constant) return;
    greatest = std::max(greatest, error.sigma);
    sigmas.push_back(error.sigma);
    reaches.push_back(error.reach);
    inefficiencies.push_back(error.inefficiency);
  }
};

/// What is common to all series.
struct Samples {
  double count = 0, missing = 0, spacing_steps = 0, spacing_time = 0;
};

class History {
 public:
  explicit History(int32_t components) : components_(components) {}

  /// [peers]
  void append(const stage::Step& step, const Samples& samples, std::vector<Found>& found) {
    integers_.insert(integers_.end(), {step.index(), static_cast<int64_t>(samples.count),
                                       static_cast<int64_t>(samples.missing)});
    reals_.insert(reals_.end(), {step.time()});
    std::vector<double> sums, greatest;
    std::vector<int64_t> verdicts;
    std::vector<std::vector<double>> sets;
    for (auto& f : found) {
      sums.insert(sums.end(), {f.sum_of_means, f.means});
      greatest.push_back(f.greatest);
      verdicts.insert(verdicts.end(), f.verdicts.begin(), f.verdicts.end());
      for (auto* set : {&f.sigmas, &f.reaches, &f.inefficiencies}) sets.push_back(std::move(*set));
    }
    step.sum(std::span(sums));
    step.max(std::span(greatest));
    step.sum(std::span(verdicts));
    const auto middle = medians(step, sets);
    for (size_t c = 0; c < found.size(); ++c) {
      // Half of Delta (1 + 2 sum rho): the integral over lags by the trapezoidal rule.
      const double lags = middle[3 * c + 2] / 2;
      reals_.insert(reals_.end(),
                    {sums[2 * c] / sums[2 * c + 1], middle[3 * c], greatest[c], middle[3 * c + 1],
                     lags * samples.spacing_time, lags * samples.spacing_steps});
      for (size_t v = 0; v < stages::verdicts; ++v)
        integers_.push_back(verdicts[c * stages::verdicts + v]);
    }
  }

  [[nodiscard]] bool empty() const { return integers_.empty(); }
  [[nodiscard]] stage::Table table(const stage::Step& step, const std::string& field,
                                   double confidence) const {
    const auto units = step.units(field), time = step.units("time");
    stage::Table out("uncertainty_" + field, "Uncertainty of time averages of " + field);
    out.column("step", "", integers(0)).column("time", time, reals(0));
    out.column("samples", "", integers(1)).column("missing", "", integers(2));
    for (size_t c = 0; c < static_cast<size_t>(components_); ++c) {
      const auto end = ending_of(static_cast<int32_t>(c), components_);
      const size_t real = 1 + per_component_reals * c, integer = 3 + stages::verdicts * c;
      out.column("mean" + end, units, reals(real));
      out.column("sigma_median" + end, units, reals(real + 1));
      out.column("sigma_max" + end, units, reals(real + 2));
      out.column("interval_median" + end, units, reals(real + 3));
      out.column("integral_time_median" + end, time, reals(real + 4));
      out.column("integral_steps_median" + end, "", reals(real + 5));
      const char* names[] = {"fitted", "unresolved", "misfit", "constant", "unknown"};
      for (size_t v = 0; v < stages::verdicts; ++v)
        out.column(names[v] + end, "", integers(integer + v));
    }
    out.attribute("confidence", confidence);
    return out;
  }

  void save(const stage::State& state) const {
    state.save("integers", integers_);
    state.save("reals", reals_);
  }
  void restore(const stage::State& state) {
    integers_ = state.load<int64_t>("integers");
    reals_ = state.load<double>("reals");
  }

 private:
  static constexpr size_t per_component_reals = 6;

  template <class T>
  [[nodiscard]] static std::vector<T> column(const std::vector<T>& rows, size_t width, size_t at) {
    std::vector<T> out;
    for (size_t i = at; i < rows.size(); i += width) out.push_back(rows[i]);
    return out;
  }
  [[nodiscard]] std::vector<double> reals(size_t at) const {
    return column(reals_, 1 + per_component_reals * static_cast<size_t>(components_), at);
  }
  [[nodiscard]] std::vector<int64_t> integers(size_t at) const {
    return column(integers_, 3 + stages::verdicts * static_cast<size_t>(components_), at);
  }

  int32_t components_;
  std::vector<int64_t> integers_;
  std::vector<double> reals_;
};

}  // namespace pillion::stages
