// SPDX-License-Identifier: BSD-3-Clause
// The decay of correlation with the lag: a sum of exponentials, rates to begin with, and the fit
// (Levenberg and Marquardt).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace pillion::stages::uncertainty {

// The model of an autocorrelation: two decays, rho(k) = a e^(-bk) + (1 - a) e^(-ck). What it says
// of the mean of n samples is a sum over all lags in closed form.

struct Decay {
  double weight = 1;  ///< a, of the fast part
  double fast = 0;    ///< b, per lag
  double slow = 0;    ///< c, per lag; not above b

  [[nodiscard]] double at(double lag) const {
    return weight * std::exp(-fast * lag) + (1 - weight) * std::exp(-slow * lag);
  }
};

/// Sum over k from 1 to n - 1 of (1 - k/n) e^(-rate k).
inline double decay_sum(double rate, double n) {
  // So slow that the difference of two great numbers would remain: a series in rate * n.
  constexpr double slow = 1e-4;
  if (rate * n < slow)
    return (n - 1) / 2 - rate * (n * n - 1) / 6 + rate * rate * n * (n * n - 1) / 24;
  const double q = std::exp(-rate), rest = -std::expm1(-rate);
  return q / rest + q * std::expm1(-rate * n) / (n * rest * rest);
}

/// 1 + 2 sum of (1 - k/n) rho(k): by how much fewer the independent samples among n are.
inline double inefficiency(const Decay& decay, double n) {
  double sum = 0;
  if (decay.weight != 0) sum += decay.weight * decay_sum(decay.fast, n);
  if (decay.weight != 1) sum += (1 - decay.weight) * decay_sum(decay.slow, n);
  return 1 + 2 * sum;
}

// Where fits start: all pairs of some rates of decay, a factor apart. Of each pair the best weights
// follow from inner products that are known beforehand, so trying them all costs less than one step
// of an iteration, and no basin is missed.

/// The rates that decays over lags 1 to `lags` may have.
struct RateBounds {
  explicit RateBounds(size_t lags, double reach)
      : slowest(1 / (reach * static_cast<double>(lags))) {}
  double slowest;       ///< a slower decay looks like a constant
  double fastest = 40;  ///< nothing is left of it at lag 1
};

class Rates {
 public:
  Rates(size_t lags, const RateBounds& bounds) : lags_(lags) {
    constexpr int steps = 15;
    constexpr double quick = 4;  // 2 % are left after one lag
    const double ratio = std::pow(quick / bounds.slowest, 1.0 / (steps - 1));
    for (int i = 0; i < steps; ++i) rates_.push_back(bounds.slowest * std::pow(ratio, i));
    rates_.push_back(bounds.fastest);
    for (const double rate : rates_)
      for (size_t k = 1; k <= lags; ++k)
        powers_.push_back(std::exp(-rate * static_cast<double>(k)));
    for (size_t i = 0; i < rates_.size(); ++i)
      for (size_t j = 0; j < rates_.size(); ++j)
        products_.push_back(dot(&powers_[i * lags], &powers_[j * lags]));
  }

  struct Starts {
    Decay one, two;
  };
  /// The best single decay and the best pair for rho at lags 1 to `lags`.
  [[nodiscard]] Starts best(const double* rho) const {
    const size_t n = rates_.size();
    double along[max_rates];
    for (size_t i = 0; i < n; ++i) along[i] = dot(&powers_[i * lags_], rho);
    Starts best;
    double least_one = 0, least_two = 0;
    bool is_first = true;
    for (size_t slow = 0; slow < n; ++slow) {
      // Squares of residuals, but for those of rho alone, which all have.
      const double one = product(slow, slow) - 2 * along[slow];
      if (is_first || one < least_one) least_one = one, best.one = {1, rates_[slow], rates_[slow]};
      for (size_t fast = slow + 1; fast < n; ++fast) {
        const double across = along[fast] - along[slow] - product(fast, slow) + product(slow, slow);
        const double width = product(fast, fast) - 2 * product(fast, slow) + product(slow, slow);
        const double weight = std::clamp(across / width, 0.0, 1.0);
        const double two = one - 2 * weight * across + weight * weight * width;
        if (is_first || two < least_two)
          least_two = two, best.two = {weight, rates_[fast], rates_[slow]};
        is_first = false;
      }
    }
    return best;
  }

 private:
  static constexpr size_t max_rates = 16;

  [[nodiscard]] double dot(const double* a, const double* b) const {
    double sum = 0;
    for (size_t k = 0; k < lags_; ++k) sum += a[k] * b[k];
    return sum;
  }
  [[nodiscard]] double product(size_t i, size_t j) const {
    return products_[i * rates_.size() + j];
  }

  size_t lags_;
  std::vector<double> rates_;
  std::vector<double> powers_;    ///< e^(-rate k), by rate
  std::vector<double> products_;  ///< of these, by pair of rates
};

// Least squares of the model in decay.hpp by the method of Levenberg and Marquardt, in the weight
// and the logarithms of the rates, which stay within bounds.

struct Fitted {
  Decay decay;
  double squares = 0;  ///< of the residuals
};

namespace detail {

using Three = std::array<double, 3>;

/// Half the gradient of the squares, and the normal matrix.
struct Normal {
  double squares = 0;
  Three gradient{};
  std::array<Three, 3> matrix{};
};

inline Normal normal_of(const double* rho, size_t lags, const Decay& d) {
  const double q1 = std::exp(-d.fast), q2 = std::exp(-d.slow);
  double p1 = 1, p2 = 1;
  double s = 0, ga = 0, gb = 0, gc = 0, aa = 0, ab = 0, ac = 0, bb = 0, bc = 0, cc = 0;
  const double to_b = -d.weight * d.fast, to_c = -(1 - d.weight) * d.slow;
  for (size_t i = 0; i < lags; ++i) {
    p1 *= q1, p2 *= q2;
    const auto k = static_cast<double>(i + 1);
    const double r = rho[i] - d.weight * p1 - (1 - d.weight) * p2;
    const double a = p1 - p2, b = to_b * k * p1, c = to_c * k * p2;
    s += r * r, ga += r * a, gb += r * b, gc += r * c;
    aa += a * a, ab += a * b, ac += a * c, bb += b * b, bc += b * c, cc += c * c;
  }
  return {s, {ga, gb, gc}, {{{aa, ab, ac}, {ab, bb, bc}, {ac, bc, cc}}}};
}

inline double squares_of(const double* rho, size_t lags, const Decay& d) {
  const double q1 = std::exp(-d.fast), q2 = std::exp(-d.slow);
  double p1 = d.weight, p2 = 1 - d.weight, s = 0;
  for (size_t i = 0; i < lags; ++i) {
    p1 *= q1, p2 *= q2;
    const double r = rho[i] - p1 - p2;
    s += r * r;
  }
  return s;
}

/// Solves for the step of the parameters that are free; 0 for the others.
inline Three solve(const Normal& normal, const std::array<bool, 3>& free, double damping) {
  auto m = normal.matrix;
  Three x{};
  for (size_t i = 0; i < 3; ++i) {
    x[i] = free[i] ? normal.gradient[i] : 0;
    for (size_t j = 0; j < 3; ++j)
      if (!free[i] || !free[j]) m[i][j] = 0;
    m[i][i] = m[i][i] > 0 ? m[i][i] * (1 + damping) : 1;
  }
  // The damped matrix is positive definite, so elimination needs no pivoting.
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = i + 1; j < 3; ++j) {
      const double ratio = m[j][i] / m[i][i];
      for (size_t l = i; l < 3; ++l) m[j][l] -= ratio * m[i][l];
      x[j] -= ratio * x[i];
    }
  for (size_t i = 3; i-- > 0;) {
    for (size_t j = i + 1; j < 3; ++j) x[i] -= m[i][j] * x[j];
    x[i] /= m[i][i];
  }
  return x;
}

/// Weight and logarithms of the rates.
inline Three parameters_of(const Decay& d) {
  return {d.weight, std::log(d.fast), std::log(d.slow)};
}
inline Decay decay_of(const Three& p) { return {p[0], std::exp(p[1]), std::exp(p[2])}; }

/// Where parameters may be.
struct Limits {
  explicit Limits(const RateBounds& bounds)
      : lower(parameters_of({0, bounds.slowest, bounds.slowest})),
        upper(parameters_of({1, bounds.fastest, bounds.fastest})) {}
  Three lower, upper;

  /// The parameters that are free: not at a limit beyond which the squares still fall.
  [[nodiscard]] std::array<bool, 3> free(const Three& at, const Three& gradient) const {
    std::array<bool, 3> out{};
    for (size_t p = 0; p < 3; ++p)
      out[p] = (at[p] > lower[p] || gradient[p] >= 0) && (at[p] < upper[p] || gradient[p] <= 0);
    return out;
  }
  [[nodiscard]] Three after(const Three& at, const Three& step) const {
    constexpr double longest = 2;
    Three out{};
    for (size_t p = 0; p < 3; ++p)
      out[p] = std::clamp(at[p] + std::clamp(step[p], -longest, longest), lower[p], upper[p]);
    return out;
  }
};

inline double distance(const Three& a, const Three& b) {
  double out = 0;
  for (size_t p = 0; p < 3; ++p) out = std::max(out, std::abs(a[p] - b[p]));
  return out;
}

}  // namespace detail

/// Improves a start. With `single`, the weight stays 1 and there is one decay.
inline Fitted fit_decay(const double* rho, size_t lags, const RateBounds& bounds,
                        const Decay& start, bool single) {
  constexpr int most = 60;
  constexpr double gain = 1e-7, move = 1e-9;  // what is not worth another step
  const detail::Limits limits(bounds);
  auto at = detail::parameters_of(start);
  auto normal = detail::normal_of(rho, lags, start);
  double damping = 1e-3;
  for (int i = 0; i < most && damping <= 1e8; ++i) {
    auto free = limits.free(at, normal.gradient);
    if (single) free[0] = free[2] = false;
    const auto next = limits.after(at, detail::solve(normal, free, damping));
    const double moved = detail::distance(at, next);
    const double squares = detail::squares_of(rho, lags, detail::decay_of(next));
    const double gained = normal.squares - squares;
    if (gained > 0) {
      at = next;
      normal = detail::normal_of(rho, lags, detail::decay_of(at));
      damping = std::max(damping * 0.1, 1e-12);
      if (gained <= gain * squares) break;
    } else {
      damping *= 10;
    }
    if (moved <= move) break;
  }
  return {detail::decay_of(at), normal.squares};
}

}  // namespace pillion::stages::uncertainty
