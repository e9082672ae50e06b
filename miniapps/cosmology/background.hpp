// SPDX-License-Identifier: BSD-3-Clause
// The expanding background: a flat universe of matter and a cosmological constant, whose radiation
// is neglected. Time is measured in 1/H0 and follows from the scale factor a, which is 1 today.
#pragma once

namespace cosmology {

class Background {
 public:
  explicit Background(double omega_m);

  /// H(a)/H0.
  [[nodiscard]] double expansion(double a) const;
  /// Growing mode of linear perturbations, 1 today (Heath 1977).
  [[nodiscard]] double growth(double a) const;
  /// d ln growth / d ln a.
  [[nodiscard]] double growth_rate(double a) const;
  /// Integral of dt/a, by which accelerations act on momenta (Quinn et al. 1997).
  [[nodiscard]] double kick(double from, double to) const;
  /// Integral of dt/a^2, by which momenta act on positions.
  [[nodiscard]] double drift(double from, double to) const;

 private:
  [[nodiscard]] double growing_mode(double a) const;

  double omega_m_;
  double growing_mode_today_;
};

}  // namespace cosmology
