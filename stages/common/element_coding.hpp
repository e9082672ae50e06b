// SPDX-License-Identifier: BSD-3-Clause
// What `truncate` says of each element beside its coefficients, for stages that store or decode
// them: numbers of a field with one value for each element. A step of rounding is one of sixteen in
// an octave, so that a small integer, its index, stands for it.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string>

namespace pillion::stages {

inline std::string coefficients_of(const std::string& field) { return field + "_coefficients"; }
inline std::string coding_of(const std::string& field) { return field + "_coding"; }

/// In the place of a step: coefficients that are not rounded, and values instead of coefficients.
constexpr double not_rounded = 0, as_values = -1;

/// Of one component.
struct ComponentCoding {
  double step = as_values;  ///< that coefficients are multiples of, not_rounded or as_values
  double error = 0;         ///< at most
  double bound = 0;
};

/// Of one element: one of these for each component, then its volume and the norm (0: rms, 1:
/// largest) as numbers.
constexpr int numbers_per_component = 3, numbers_beside = 2;
constexpr int coding_size(int components) {
  return numbers_per_component * components + numbers_beside;
}

constexpr int steps_per_octave = 16;

/// 2^(index / 16), the same to the bit wherever it is computed.
inline double step_at(int index) {
  static constexpr std::array<double, steps_per_octave> octave = {
      0x1p+0,
      0x1.0b5586cf9890fp+0,
      0x1.172b83c7d517bp+0,
      0x1.2387a6e756238p+0,
      0x1.306fe0a31b715p+0,
      0x1.3dea64c123422p+0,
      0x1.4bfdad5362a27p+0,
      0x1.5ab07dd485429p+0,
      0x1.6a09e667f3bcdp+0,
      0x1.7a11473eb0187p+0,
      0x1.8ace5422aa0dbp+0,
      0x1.9c49182a3f09p+0,
      0x1.ae89f995ad3adp+0,
      0x1.c199bdd85529cp+0,
      0x1.d5818dcfba487p+0,
      0x1.ea4afa2a490dap+0,
  };
  const int whole = index >= 0 ? index / steps_per_octave : -((-index + 15) / steps_per_octave);
  return std::ldexp(octave[static_cast<size_t>(index - whole * steps_per_octave)], whole);
}

/// Of the largest step that is at most this, or the one below.
inline int index_below(double step) {
  return static_cast<int>(std::floor(steps_per_octave * std::log2(step)));
}
/// Of a step that step_at has given.
inline int index_of(double step) {
  return static_cast<int>(std::lround(steps_per_octave * std::log2(step)));
}

}  // namespace pillion::stages
