// SPDX-License-Identifier: BSD-3-Clause
// Adding up many doubles. Terms go into eight partial sums, which the compiler keeps in vector
// registers. They are folded every thousand terms, and the rounding error of that is carried along
// (Neumaier's sum), so the error does not grow with the number of terms.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pillion::stages {

/// Sum of term(0) … term(count - 1).
template <class Term>
double sum_of(int64_t count, Term&& term) {
  constexpr int64_t lanes = 8, stretch = 1024;
  double total = 0, lost = 0;
  for (int64_t start = 0; start < count; start += stretch) {
    const int64_t end = std::min(count, start + stretch);
    double lane[lanes] = {};
    int64_t i = start;
    for (; i + lanes <= end; i += lanes)
      for (int64_t l = 0; l < lanes; ++l) lane[l] += term(i + l);
    for (; i < end; ++i) lane[0] += term(i);
    const double part =
        ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    const double sum = total + part;
    lost += std::abs(total) >= std::abs(part) ? (total - sum) + part : (part - sum) + total;
    total = sum;
  }
  return std::isfinite(lost) ? total + lost : total;
}

}  // namespace pillion::stages
