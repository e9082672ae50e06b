// SPDX-License-Identifier: BSD-3-Clause
// The inner loop of all: products of new samples with those before them, added to sums by lag. A
// sum is loaded once for all new samples. The loop is compiled for several instruction sets, and
// the best that the processor has is taken; multiplication and addition are never fused, so all
// give the same bits.
#pragma once

#include <cstddef>

#include "row.hpp"

namespace pillion::stages {

namespace detail {

/// `many` lags at once, whose sums stay in registers.
template <size_t many>
[[gnu::always_inline]] inline void add_products_of(Row* sums, const Row* first, size_t count,
                                                   size_t lag) {
  Row sum[many];
  for (size_t m = 0; m < many; ++m) sum[m] = sums[lag + m];
  for (size_t i = 0; i < count; ++i) {
    const Row& now = first[i];
    for (size_t m = 0; m < many; ++m) {
      const Row& then = *(first + i - lag - m);
      for (size_t l = 0; l < lanes; ++l) sum[m].x[l] += now.x[l] * then.x[l];
    }
  }
  for (size_t m = 0; m < many; ++m) sums[lag + m] = sum[m];
}

template <size_t many>
[[gnu::always_inline]] inline void add_all_products(Row* sums, const Row* first, size_t count,
                                                    size_t lags) {
  size_t lag = 0;
  for (; lag + many <= lags + 1; lag += many) add_products_of<many>(sums, first, count, lag);
  for (; lag <= lags; ++lag) add_products_of<1>(sums, first, count, lag);
}

inline void add_products_plain(Row* sums, const Row* first, size_t count, size_t lags) {
  add_all_products<2>(sums, first, count, lags);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] inline void add_products_avx2(Row* sums, const Row* first, size_t count,
                                                      size_t lags) {
  add_all_products<4>(sums, first, count, lags);
}
[[gnu::target("avx512f,prefer-vector-width=512")]] inline void add_products_avx512(Row* sums,
                                                                                   const Row* first,
                                                                                   size_t count,
                                                                                   size_t lags) {
  add_all_products<8>(sums, first, count, lags);
}
#endif

}  // namespace detail

/// Adds first[i] * first[i - k], over i from 0 to count - 1, to sums[k] for k from 0 to `lags`.
inline void add_products(Row* sums, const Row* first, size_t count, size_t lags) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0)
    return detail::add_products_avx512(sums, first, count, lags);
  if (__builtin_cpu_supports("avx2") != 0)
    return detail::add_products_avx2(sums, first, count, lags);
#endif
  detail::add_products_plain(sums, first, count, lags);
}

}  // namespace pillion::stages
