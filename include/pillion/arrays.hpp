// SPDX-License-Identifier: BSD-3-Clause
// What arrays a program in C++ may share: the types of their elements, ranges of these, and the box
// of cells that an array covers. C++17; in programs of C++20 a Span and a std::span convert into
// each other.
#pragma once

#include <pillion/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

namespace pillion {

/// Whether a field's elements may have this type: float, double, or an integer of 1 to 8 bytes. A
/// bool is an unsigned integer of one byte, 0 or 1.
template <class T>
inline constexpr bool is_element = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                                   (std::is_integral_v<T> && !std::is_const_v<T> &&
                                    !std::is_volatile_v<T> && !std::is_same_v<T, char> &&
                                    sizeof(T) <= 8);

/// For declarations of templates: template <class T, if_element<T> = 0>.
template <class T>
using if_element = std::enable_if_t<is_element<T>, int>;

template <class T, if_element<T> = 0>
constexpr pillion_type element_type() {
  if constexpr (std::is_same_v<T, double>) return PILLION_FLOAT64;
  else if constexpr (std::is_same_v<T, float>) return PILLION_FLOAT32;
  else if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? PILLION_INT8 : PILLION_UINT8;
  else if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? PILLION_INT16 : PILLION_UINT16;
  else if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? PILLION_INT32 : PILLION_UINT32;
  else return std::is_signed_v<T> ? PILLION_INT64 : PILLION_UINT64;
}

// Behind is_shareable and Span; not for programs.
namespace ranges {

template <class R, class = void>
struct element {};
template <class R>
struct element<R, std::void_t<decltype(std::data(std::declval<std::remove_reference_t<R>&>())),
                              decltype(std::size(std::declval<std::remove_reference_t<R>&>()))>> {
  using type =
      std::remove_pointer_t<decltype(std::data(std::declval<std::remove_reference_t<R>&>()))>;
  // A constant vector gives pointers to constants, a constant span does not.
  static constexpr bool is_view =
      std::is_same_v<const decltype(std::data(std::declval<std::remove_reference_t<R>&>())),
                     const decltype(std::data(
                         std::declval<const std::remove_reference_t<R>&>()))> &&
      std::is_trivially_copyable_v<std::remove_reference_t<R>>;
};

template <class R, class = void>
inline constexpr bool is_shareable = false;
template <class R>
inline constexpr bool is_shareable<R, std::void_t<typename element<R>::type>> =
    is_element<std::remove_cv_t<typename element<R>::type>> &&
    (std::is_lvalue_reference_v<R> || element<R>::is_view);

}  // namespace ranges

/// Whether R is a contiguous range of elements that does not own its memory for the length of one
/// call only: a named vector or array, or a span.
template <class R>
inline constexpr bool is_shareable = ranges::is_shareable<R>;

template <class R>
using if_shareable = std::enable_if_t<is_shareable<R>, int>;

/// A contiguous range whose memory belongs to someone else: std::span of C++20.
template <class T>
class Span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  constexpr Span() noexcept = default;
  constexpr Span(T* data, size_t size) noexcept : data_(data), size_(size) {}
  /// Of a vector, an array, or another span.
  template <
      class R,
      std::enable_if_t<!std::is_same_v<std::decay_t<R>, Span> &&
                           std::is_convertible_v<typename ranges::element<R>::type (*)[], T (*)[]>,
                       int> = 0>
  constexpr Span(R&& range) noexcept : data_(std::data(range)), size_(std::size(range)) {}

  [[nodiscard]] constexpr T* data() const noexcept { return data_; }
  [[nodiscard]] constexpr size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr T* begin() const noexcept { return data_; }
  [[nodiscard]] constexpr T* end() const noexcept { return data_ + size_; }
  [[nodiscard]] constexpr T& operator[](size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] constexpr T& back() const noexcept { return data_[size_ - 1]; }
  [[nodiscard]] constexpr Span first(size_t count) const noexcept { return {data_, count}; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

/// A half-open index range [lo, hi) with one entry per axis of the mesh, e.g. Box({0, 0}, {8, 8}).
struct Box {
  template <size_t Axes>
  Box(const int64_t (&first)[Axes], const int64_t (&last)[Axes]) : axes(Axes) {
    static_assert(Axes >= 1 && Axes <= 3, "a box has 1 to 3 axes");
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
