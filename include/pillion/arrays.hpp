// SPDX-License-Identifier: BSD-3-Clause
// What arrays a program in C++ may share: the types of their elements, ranges of these, and the box
// of cells that an array covers.
#pragma once

#include <pillion/types.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>

namespace pillion {

/// A type that a field's elements may have: float, double, or an integer of 1 to 8 bytes. A bool is
/// an unsigned integer of one byte, 0 or 1.
template <class T>
concept Element = std::same_as<T, float> || std::same_as<T, double> ||
    (std::integral<T> && !std::same_as<T, char> && sizeof(T) <= 8);

template <Element T>
constexpr pillion_type element_type() {
  if constexpr (std::same_as<T, double>) return PILLION_FLOAT64;
  else if constexpr (std::same_as<T, float>) return PILLION_FLOAT32;
  else if constexpr (sizeof(T) == 1) return std::signed_integral<T> ? PILLION_INT8 : PILLION_UINT8;
  else if constexpr (sizeof(T) == 2)
    return std::signed_integral<T> ? PILLION_INT16 : PILLION_UINT16;
  else if constexpr (sizeof(T) == 4)
    return std::signed_integral<T> ? PILLION_INT32 : PILLION_UINT32;
  else return std::signed_integral<T> ? PILLION_INT64 : PILLION_UINT64;
}

/// A contiguous range of elements that does not own its memory for the length of one call only: a
/// named vector or array, or a span.
template <class R>
concept Shareable = std::ranges::contiguous_range<R> && std::ranges::borrowed_range<R> &&
    Element<std::ranges::range_value_t<R>>;

/// A half-open index range [lo, hi) with one entry per axis of the mesh, e.g. Box({0, 0}, {8, 8}).
struct Box {
  template <size_t Axes>
  requires(Axes >= 1 && Axes <= 3) Box(const int64_t (&first)[Axes], const int64_t (&last)[Axes])
      : axes(Axes) {
    for (size_t a = 0; a < Axes; ++a) {
      lo[a] = first[a];
      hi[a] = last[a];
    }
  }

  /// Number of cells; 0 if the box is empty.
  [[nodiscard]] int64_t cells() const {
    int64_t count = 1;
    for (size_t a = 0; a < axes; ++a) count *= hi[a] > lo[a] ? hi[a] - lo[a] : 0;
    return count;
  }

  /// The same indices as cells of a level of refinement; 0 is the coarsest.
  [[nodiscard]] Box on_level(int32_t of) const {
    Box box = *this;
    box.level = of;
    return box;
  }

  std::array<int64_t, 3> lo{};
  std::array<int64_t, 3> hi{};
  size_t axes;
  int32_t level = 0;
};

}  // namespace pillion
