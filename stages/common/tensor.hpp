// SPDX-License-Identifier: BSD-3-Clause
// Matrices along the axes of one hexahedral element: n x n x n values, the first axis fastest. A
// three-dimensional operator that is a product of one-dimensional ones costs 3 n^4 multiplications
// that way, not n^6. The usual numbers of points are known at compile time, so that loops unroll.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace pillion::stages {

/// An n x n matrix, row after row, and its transpose.
struct AxisMatrix {
  AxisMatrix(const std::vector<double>& matrix, size_t n) : rows(matrix), columns(n * n) {
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) columns[j * n + i] = rows[i * n + j];
  }
  std::vector<double> rows;
  std::vector<double> columns;
};

namespace detail {

/// to[i] = sum over m of factor[m] * from[m * stride + i], for i below `count`.
template <class Points, class Count>
inline void combine(const double* factor, const double* from, size_t stride, double* to, Points n,
                    Count count) {
  for (size_t i = 0; i < count; ++i) to[i] = factor[0] * from[i];
  for (size_t m = 1; m < n; ++m)
    for (size_t i = 0; i < count; ++i) to[i] += factor[m] * from[m * stride + i];
}

template <class Points>
void along_first(const AxisMatrix& a, const double* from, double* to, Points n) {
  for (size_t row = 0; row < n * n; ++row)
    combine(from + row * n, a.columns.data(), n, to + row * n, n, n);
}

template <class Points>
void along_second(const AxisMatrix& a, const double* from, double* to, Points n) {
  for (size_t k = 0; k < n; ++k)
    for (size_t j = 0; j < n; ++j)
      combine(a.rows.data() + j * n, from + k * n * n, n, to + (k * n + j) * n, n, n);
}

template <class Points>
void along_third(const AxisMatrix& a, const double* from, double* to, Points n) {
  for (size_t k = 0; k < n; ++k)
    for (size_t j = 0; j < n; ++j)
      combine(a.rows.data() + k * n, from + j * n, n * n, to + (k * n + j) * n, n, n);
}

/// Calls body with n as a constant where it is a usual one.
template <class Body>
void with_points(size_t n, Body&& body) {
  switch (n) {
    case 4: return body(std::integral_constant<size_t, 4>());
    case 5: return body(std::integral_constant<size_t, 5>());
    case 6: return body(std::integral_constant<size_t, 6>());
    case 7: return body(std::integral_constant<size_t, 7>());
    case 8: return body(std::integral_constant<size_t, 8>());
    case 9: return body(std::integral_constant<size_t, 9>());
    case 10: return body(std::integral_constant<size_t, 10>());
    case 12: return body(std::integral_constant<size_t, 12>());
    default: return body(n);
  }
}

}  // namespace detail

/// A matrix along one axis, 0 to 2. `from` and `to` may not overlap.
inline void apply_along(int axis, const AxisMatrix& a, size_t n, const double* from, double* to) {
  detail::with_points(n, [&](auto points) {
    if (axis == 0) detail::along_first(a, from, to, points);
    else if (axis == 1) detail::along_second(a, from, to, points);
    else detail::along_third(a, from, to, points);
  });
}

/// The same matrix along all three axes, e.g. values to Legendre coefficients. `from` and `to` may
/// be the same; `scratch` holds n^3 values.
inline void apply_tensor(const AxisMatrix& a, size_t n, const double* from, double* to,
                         double* scratch) {
  detail::with_points(n, [&](auto points) {
    detail::along_first(a, from, scratch, points);
    detail::along_second(a, scratch, to, points);
    detail::along_third(a, to, scratch, points);
    std::copy_n(scratch, n * n * n, to);
  });
}

}  // namespace pillion::stages
