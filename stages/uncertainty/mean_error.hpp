// SPDX-License-Identifier: BSD-3-Clause
// The standard error of a mean over time from autocovariances, and Student's quantile for its
// interval.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "decay.hpp"

namespace pillion::stages::uncertainty {

// Quantiles of the normal distribution and of Student's t for any real number of degrees of
// freedom, by which the error of a mean becomes an interval.

/// The z that a normal variable stays within, on both sides, with this probability.
inline double normal_reach(double probability) {
  double z = 1;
  for (int i = 0; i < 50; ++i) {
    const double density = 2 * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double step = (std::erf(z / std::numbers::sqrt2) - probability) / density;
    z -= std::clamp(step, -0.5, 0.5);
    if (std::abs(step) < 1e-14) break;
  }
  return z;
}

/// The same for Student's t, from that of the normal distribution: Cornish and Fisher's expansion
/// (Abramowitz and Stegun 26.7.5), good to 1e-3 from four degrees of freedom on at 95 %.
inline double student_reach(double z, double freedom) {
  const double z2 = z * z, f = freedom;
  const double g1 = (z2 + 1) * z / 4;
  const double g2 = ((5 * z2 + 16) * z2 + 3) * z / 96;
  const double g3 = (((3 * z2 + 19) * z2 + 17) * z2 - 15) * z / 384;
  const double g4 = ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) * z / 92160;
  return z + (g1 + (g2 + (g3 + g4 / f) / f) / f) / f;
}

// How far the mean of a correlated series may be from the true one: from a fit of its
// autocorrelation where that describes it, else from batch means; never zero because of missing
// data. The measures against what goes wrong are explained and measured in README.md here.

enum class Verdict : int32_t {
  fitted = 0,
  unresolved = 1,  ///< it decays more slowly than the lags or samples can tell: batch means
  misfit = 2,      ///< two decays do not describe it: batch means
  constant = 3,
  unknown = 4  ///< too few samples, or values that are not finite: no estimate
};
constexpr size_t verdicts = 5;

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

struct MeanError {
  Verdict verdict = Verdict::unknown;
  double sigma = not_known;         ///< of the mean
  double reach = not_known;         ///< half the interval
  double inefficiency = not_known;  ///< n / independent samples
};

/// What is known of one series.
struct Gathered {
  double mean = 0;
  std::span<const double> covariance;  ///< biased, at lags 0 to M
  double batch_variance = 0;           ///< NaN if there are too few batches
  double batches = 0;
};

/// For series of the same number of samples.
class ErrorOfMean {
 public:
  ErrorOfMean(int64_t samples, size_t lags, double confidence)
      : n_(static_cast<double>(samples)),
        lags_(std::min(lags, static_cast<size_t>(samples / 4))),
        z_(normal_reach(confidence)),
        bounds_(std::max<size_t>(1, lags_), slowest_in_spans),
        rates_(lags_, bounds_),
        rho_(lags_) {}

  [[nodiscard]] MeanError of(const Gathered& series) {
    if (n_ < 2) return {};
    const double c0 = series.covariance[0];
    // What rounding alone makes of a constant.
    const double rounding = 4 * std::numeric_limits<double>::epsilon() * series.mean;
    if (c0 <= rounding * rounding) return {Verdict::constant, 0, 0, not_known};
    const auto used = series.covariance.first(lags_ + 1);
    const bool finite =
        std::all_of(used.begin(), used.end(), [](double c) { return std::isfinite(c); });
    if (!std::isfinite(c0)) return {};
    if (lags_ == 0 || !finite) return by_batches(series, Verdict::unresolved, 0);
    return by_fit(series);
  }

 private:
  static constexpr double slowest_in_spans = 3;  // decay times, in units of the lags' span
  static constexpr double evidence = 16;         // for a second decay, in units of the noise
  static constexpr int corrections = 2;
  static constexpr double worst_fit = 0.1;  // root mean square of residuals
  static constexpr double freedom_share = 4;
  static constexpr double least_freedom = 3;
  // Below these, fits of white and of correlated series do not differ.
  static constexpr double least_samples = 50, least_independent = 5;

  struct Fit {
    Decay decay;
    double squares = 0;
    double noise = 0;  ///< sum of rho^2 over all lags, of both signs
  };

  // The biased estimate is on average (1 - k/n) (true - v), where v is the variance of the mean
  // that is being sought.
  [[nodiscard]] MeanError by_fit(const Gathered& series) {
    double variance = 0;
    Fit fit;
    double g = 1;
    Rates::Starts starts;
    for (int i = 0; i <= corrections; ++i) {
      const double c0 = series.covariance[0] + variance;
      for (size_t k = 1; k <= lags_; ++k) {
        const double share = 1 - static_cast<double>(k) / n_;
        rho_[k - 1] = (series.covariance[k] / share + variance) / c0;
      }
      if (i == 0) starts = rates_.best(rho_.data());
      fit = best_fit(starts);
      g = inefficiency(fit.decay, n_);
      variance = c0 * g / n_;
    }
    const bool is_short = n_ < least_samples || n_ < least_independent * g;
    if (is_short || is_unresolved(fit.decay))
      return by_batches(series, Verdict::unresolved, variance);
    if (is_misfit(fit)) return by_batches(series, Verdict::misfit, 0);
    const double freedom = std::max(least_freedom, n_ / (freedom_share * g));
    return {Verdict::fitted, std::sqrt(variance), student_reach(z_, freedom) * std::sqrt(variance),
            g};
  }

  // A second decay that is not there fits the noise, and a slow one of small weight would then make
  // up most of the sum. Starts become what was found.
  [[nodiscard]] Fit best_fit(Rates::Starts& starts) const {
    const auto one = fit_decay(rho_.data(), lags_, bounds_, starts.one, true);
    const double noise = 1 / std::tanh(one.decay.fast);
    const auto two = fit_decay(rho_.data(), lags_, bounds_, starts.two, false);
    starts = {one.decay, two.decay};
    const bool is_two = one.squares - two.squares > evidence * noise * noise / n_;
    return is_two ? Fit{two.decay, two.squares, noise} : Fit{one.decay, one.squares, noise};
  }

  [[nodiscard]] bool is_unresolved(const Decay& decay) const {
    const double limit = bounds_.slowest * 1.001;
    return (decay.weight > 0 && decay.fast <= limit) || (decay.weight < 1 && decay.slow <= limit);
  }
  [[nodiscard]] bool is_misfit(const Fit& fit) const {
    const double each = fit.squares / static_cast<double>(lags_);
    return each > std::max(worst_fit * worst_fit, evidence * fit.noise / n_);
  }

  [[nodiscard]] MeanError by_batches(const Gathered& series, Verdict verdict, double least) const {
    if (!std::isfinite(series.batch_variance)) return {};
    const double variance = std::max(series.batch_variance, least);
    const double sigma = std::sqrt(variance);
    return {verdict, sigma, student_reach(z_, series.batches - 1) * sigma,
            variance * n_ / series.covariance[0]};
  }

  double n_;
  size_t lags_;
  double z_;
  RateBounds bounds_;
  Rates rates_;
  std::vector<double> rho_;
};

}  // namespace pillion::stages::uncertainty
