// SPDX-License-Identifier: BSD-3-Clause
// Loops of the transform and of rounding, written in vectors of four that the compiler maps to what
// its target has. Sums are in an order of their own that is the same everywhere.
#pragma once

#include <cmath>
#include <cstring>

#include "transform.hpp"

// Vectors are handed about between functions that become one.
#pragma GCC diagnostic ignored "-Wpsabi"

#define PILLION_INLINE [[gnu::always_inline]] inline

namespace pillion::stages::truncate::kernel {

// A number of doubles that are processed at once, and the same wherever it lies in memory.
typedef double Two __attribute__((vector_size(16)));                       // NOLINT
typedef double Four __attribute__((vector_size(32)));                      // NOLINT
typedef double TwoAnywhere __attribute__((vector_size(16), aligned(8)));   // NOLINT
typedef double FourAnywhere __attribute__((vector_size(32), aligned(8)));  // NOLINT

template <class V>
struct Memory {
  using Anywhere = double;
};
template <>
struct Memory<Two> {
  using Anywhere = TwoAnywhere;
};
template <>
struct Memory<Four> {
  using Anywhere = FourAnywhere;
};
template <class V>
constexpr int width = sizeof(V) / sizeof(double);

template <class V>
PILLION_INLINE void load(V& to, const double* from) {
  to = *reinterpret_cast<const typename Memory<V>::Anywhere*>(from);
}
template <class V>
PILLION_INLINE void store(double* to, const V& from) {
  *reinterpret_cast<typename Memory<V>::Anywhere*>(to) = from;
}

/// One of the coefficients of either parity, of as many sums or differences of values.
template <int terms_count, class V>
PILLION_INLINE void combine(const double* row, const V* terms, double* to) {
  V sum = row[0] * terms[0];
#pragma GCC unroll 8
  for (int r = 1; r < terms_count; ++r) sum = sum + row[r] * terms[r];
  store<V>(to, sum);
}

/// Values at n points `stride` apart become n coefficients as far apart.
template <int N, class V>
PILLION_INLINE void analyse_lines(const Operator& by, const double* from, double* to, int stride) {
  constexpr int half = N / 2, sums = (N + 1) / 2;
  V even[sums], odd[half];
#pragma GCC unroll 8
  for (int r = 0; r < half; ++r) {
    V low, high;
    load<V>(low, from + r * stride);
    load<V>(high, from + (N - 1 - r) * stride);
    even[r] = low + high;
    odd[r] = low - high;
  }
  if constexpr (N % 2 == 1) load<V>(even[half], from + half * stride);
#pragma GCC unroll 8
  for (int a = 0; a < N; a += 2) combine<sums, V>(by.rows.data() + a * N, even, to + a * stride);
#pragma GCC unroll 8
  for (int a = 1; a < N; a += 2) combine<half, V>(by.rows.data() + a * N, odd, to + a * stride);
}

/// The other way.
template <int N, class V>
PILLION_INLINE void synthesise_lines(const Operator& by, const double* from, double* to,
                                     int stride) {
  V terms[N];
#pragma GCC unroll 16
  for (int j = 0; j < N; ++j) load<V>(terms[j], from + j * stride);
#pragma GCC unroll 8
  for (int r = 0; r < (N + 1) / 2; ++r) {
    const double* row = by.rows.data() + r * N;
    V even = row[0] * terms[0], odd = row[1] * terms[1];
#pragma GCC unroll 8
    for (int j = 2; j < N; j += 2) even = even + row[j] * terms[j];
#pragma GCC unroll 8
    for (int j = 3; j < N; j += 2) odd = odd + row[j] * terms[j];
    // At the point in the middle odd polynomials are 0.
    if (r != N - 1 - r) store<V>(to + (N - 1 - r) * stride, even - odd);
    store<V>(to + r * stride, r != N - 1 - r ? V(even + odd) : even);
  }
}

template <int N, bool analysis, class V>
PILLION_INLINE void lines(const Operator& by, const double* from, double* to, int stride) {
  if constexpr (analysis) analyse_lines<N, V>(by, from, to, stride);
  else synthesise_lines<N, V>(by, from, to, stride);
}

/// `count` lines side by side.
template <int N, bool analysis, class V>
PILLION_INLINE void side_by_side(const Operator& by, const double* from, double* to, int count) {
  int c = 0;
  for (; c + width<V> <= count; c += width<V>) lines<N, analysis, V>(by, from + c, to + c, count);
  for (; c < count; ++c) lines<N, analysis, double>(by, from + c, to + c, count);
}

/// Lines that are contiguous: each is a row, multiplied with the matrix.
template <int N, int rows, class V>
PILLION_INLINE void along_rows(const Operator& by, const double* from, double* to) {
  constexpr int w = width<V>, parts = (N + w - 1) / w;
  for (int row = 0; row < rows; ++row) {
    V sum[parts];
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i)
#pragma GCC unroll 8
      for (int p = 0; p < parts; ++p) {
        V column;
        load<V>(column, by.columns.data() + i * most_points + w * p);
        sum[p] = i == 0 ? V(column * from[row * N]) : V(sum[p] + column * from[row * N + i]);
      }
#pragma GCC unroll 8
    for (int p = 0; p < N / w; ++p) store<V>(to + row * N + w * p, sum[p]);
    if constexpr (N % w != 0)
      std::memcpy(to + row * N + N / w * w, &sum[parts - 1], N % w * sizeof(double));
  }
}

template <int N, int axes, bool analysis, class V>
PILLION_INLINE void transform(const Operator& by, const double* from, double* to) {
  if constexpr (axes == 2) {
    alignas(64) double second[N * N];
    side_by_side<N, analysis, V>(by, from, second, N);
    along_rows<N, N, V>(by, second, to);
  } else {
    alignas(64) double first[N * N * N], second[N * N * N];
    side_by_side<N, analysis, V>(by, from, first, N * N);
    for (int k = 0; k < N; ++k)
      side_by_side<N, analysis, V>(by, first + k * N * N, second + k * N * N, N);
    along_rows<N, N * N, V>(by, second, to);
  }
}

/// Sum of a term over values; sixteen of them at once.
template <class V, class Term>
PILLION_INLINE double sum_over(const double* values, int count, const Term& term) {
  constexpr int w = width<V>, parts = 16 / w;
  V sums[parts] = {};
  int i = 0;
  for (; i + 16 <= count; i += 16)
#pragma GCC unroll 8
    for (int p = 0; p < parts; ++p) {
      V value;
      load<V>(value, values + i + p * w);
      sums[p] = sums[p] + term(value);
    }
  V rest[parts] = {};
  std::memcpy(rest, values + i, static_cast<size_t>(count - i) * sizeof(double));
  for (int p = 0; p < parts; ++p) sums[p] = sums[p] + term(rest[p]);
  double sum = 0;
  for (int l = 0; l < 16; ++l) sum += sums[l / w][l % w];
  return sum;
}

template <class V>
struct Square {
  PILLION_INLINE V operator()(const V& value) const { return value * value; }
};

template <class V>
PILLION_INLINE double largest(const double* values, int count) {
  constexpr int w = width<V>;
  V most = {}, spoiled = {};
  const V zero = {};
  int i = 0;
  for (; i + w <= count; i += w) {
    V value;
    load<V>(value, values + i);
    const V size = value < zero ? -value : value;
    most = size > most ? size : most;
    spoiled = spoiled + value * zero;
  }
  double all = 0, no_number = 0;
  for (int l = 0; l < w; ++l) {
    all = most[l] > all ? most[l] : all;
    no_number += spoiled[l];
  }
  for (; i < count; ++i) {
    all = std::fabs(values[i]) > all ? std::fabs(values[i]) : all;
    no_number += values[i] * 0.0;
  }
  return all + no_number;
}

/// The nearest multiple, for what is less than 2^51 steps.
template <class V>
struct Nearest {
  PILLION_INLINE V operator()(const V& steps) const {
    const V shift = V{} + 0x1.8p52, zero = {}, zone = V{} + dead_zone;
    const V whole = (steps + shift) - shift, size = steps < zero ? -steps : steps;
    return size < zone ? zero : whole;
  }
};

template <class V>
struct RoundingError {
  double per_step;
  PILLION_INLINE V operator()(const V& value) const {
    const V steps = value * per_step, off = steps - Nearest<V>{}(steps);
    return off * off;
  }
};

/// Squares of what is smaller than a limit.
template <class V>
struct SquareBelow {
  double limit;
  PILLION_INLINE V operator()(const V& value) const {
    const V zero = {}, most = V{} + limit, size = value < zero ? -value : value;
    return size < most ? value * value : zero;
  }
};

template <class V>
PILLION_INLINE double weighted_squares(const double* values, const double* weights, int count) {
  constexpr int w = width<V>, parts = 16 / w;
  V sums[parts] = {};
  int i = 0;
  for (; i + 16 <= count; i += 16)
#pragma GCC unroll 8
    for (int p = 0; p < parts; ++p) {
      V value, weight;
      load<V>(value, values + i + p * w);
      load<V>(weight, weights + i + p * w);
      sums[p] = sums[p] + weight * (value * value);
    }
  double sum = 0;
  for (int l = 0; l < 16; ++l) sum += sums[l / w][l % w];
  for (; i < count; ++i) sum += weights[i] * (values[i] * values[i]);
  return sum;
}

template <class V>
PILLION_INLINE int multiples(const double* values, int count, double per_step, double unit,
                             double* to) {
  constexpr int w = width<V>;
  const V zero = {}, one = V{} + 1.0;
  V kept = {};
  int i = 0;
  for (; i + w <= count; i += w) {
    V value;
    load<V>(value, values + i);
    value = Nearest<V>{}(value * per_step);
    kept = kept + (value == zero ? zero : one);
    store<V>(to + i, value * unit);
  }
  V rest = {};
  std::memcpy(&rest, values + i, static_cast<size_t>(count - i) * sizeof(double));
  rest = Nearest<V>{}(rest * per_step);
  kept = kept + (rest == zero ? zero : one);
  rest = rest * unit;
  std::memcpy(to + i, &rest, static_cast<size_t>(count - i) * sizeof(double));
  double sum = 0;
  for (int l = 0; l < w; ++l) sum += kept[l];
  return static_cast<int>(sum);
}

}  // namespace pillion::stages::truncate::kernel
