// SPDX-License-Identifier: BSD-3-Clause
// Truncating one element: the Legendre coefficients of its values, as few of them and as coarsely
// rounded as a bound on the error of the values allows. The bound holds for what comes out of the
// decoder, whose rounding is allowed for; where it could not hold, the values stay as they are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../common/element_coding.hpp"
#include "geometry.hpp"
#include "keep_largest.hpp"
#include "transform.hpp"

namespace pillion::stages::truncation {

/// What the bound is on: the root mean square over an element's volume, or every point.
enum class Norm { rms, largest };

struct Rule {
  double bound = 0;  ///< in the field's units; 0: nothing is lost
  Norm norm = Norm::rms;
  bool rounds = true;  ///< coefficients that are kept become multiples of a step
};

struct Outcome {
  double step = as_values;
  double error = 0;  ///< in the norm of the rule, at most
  int64_t kept = 0;  ///< coefficients that are not 0, or all values
};

class ElementTruncation {
 public:
  /// `single`: values are stored in single precision.
  ElementTruncation(const LobattoBasis& basis, bool single);

  /// From n^3 values to n^3 coefficients. If the outcome is as_values, `coefficients` is undefined.
  Outcome truncate(const double* values, const Geometry& geometry, const Rule& rule,
                   double* coefficients);

 private:
  /// The element at hand, in units in which its numbers can be squared.
  struct Work {
    const Geometry& geometry;
    Norm norm;
    double bound;  ///< what is left of it after all rounding
  };
  [[nodiscard]] double slack(double most, const Geometry& geometry, Norm norm) const;
  double measure(const Work& work, const double* differences);
  [[nodiscard]] double measure_values(const Work& work, const double* values) const;
  [[nodiscard]] double safe_share(const Work& work) const;
  [[nodiscard]] double spectral_error(double step) const;
  double measure_rounded(const Work& work, double step);
  [[nodiscard]] bool is_spectral(const Work& work) const {
    return work.norm == Norm::rms && work.geometry.shares.empty();
  }
  struct Found {
    int index;
    double error;
  };
  template <class ErrorOf>
  static Found search(int guess, double bound, double enough, ErrorOf&& error_of);
  Outcome round(const Work& work, int octaves, double* out);
  Outcome keep(const Work& work, int octaves, double* out);

  int points_, size_;
  bool single_;
  double reference_;  ///< the least weight of a point, of 8
  const Kernels& kernels_;
  Operator analysis_, synthesis_;
  LargestKept largest_kept_;
  std::vector<double> scaled_, all_, some_, values_;
};

}  // namespace pillion::stages::truncation
