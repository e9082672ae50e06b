// SPDX-License-Identifier: BSD-3-Clause
// Round numbers: 1, 2 and 5 times powers of ten, and powers of ten on a logarithmic scale.
#include "ticks.hpp"

#include <algorithm>
#include <cmath>

namespace pillion::image {

namespace {

/// The largest step of 1, 2 or 5 times a power of ten that is not above the wanted one, and up.
double nice_step(double wanted) {
  const double power = std::pow(10, std::floor(std::log10(wanted)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= wanted * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

}  // namespace

std::vector<double> ticks(const Range& range, int most) {
  std::vector<double> out;
  if (!(range.hi > range.lo)) return {range.lo};
  if (range.logarithmic) {
    const double decades = std::log10(range.hi) - std::log10(range.lo);
    const double every = std::max(1.0, std::ceil(decades / most));
    const double first = std::ceil(std::log10(range.lo) - 1e-9);
    for (double p = first; p <= std::log10(range.hi) + 1e-9; p += every)
      out.push_back(std::pow(10, p));
    if (out.size() >= 2) return out;
    return {range.lo, range.hi};
  }
  const double step = nice_step((range.hi - range.lo) / most);
  const double slack = 1e-9 * (range.hi - range.lo);
  const double first = std::ceil((range.lo - slack) / step);
  const double count = std::floor((range.hi + slack) / step) - first + 1;
  // Where the range is but rounding, or as wide as numbers go, there is no such step.
  const bool is_good = count <= 4.0 * most && std::abs(first) < 1e12;
  for (int i = 0; is_good && i < static_cast<int>(count); ++i) out.push_back((first + i) * step);
  if (out.size() >= 2) return out;
  return {range.lo, range.hi};
}

}  // namespace pillion::image
