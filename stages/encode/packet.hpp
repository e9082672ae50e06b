// SPDX-License-Identifier: BSD-3-Clause
// Elements packed for a lossless code. Similar numbers lie together: the same coefficient of all
// elements, those of low degree first, so that all that was truncated is one long row of zeros.
// FORMAT.md describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace pillion::stages::encode {

/// What is stored of one component of an element.
enum class Kind : uint8_t { rounded = 0, coefficients = 1, values = 2 };

/// Elements of one field that are packed together, all with `points` points along each axis.
struct PacketShape {
  int points = 0, axes = 3, components = 1;
};

/// The numbers of a packet; element e has those from `at(e)` on, component after component.
template <class T>
struct PacketSource {
  int64_t elements = 0;
  const T* data = nullptr;
  int64_t stride = 0;             ///< from one element to the next
  std::span<const double> steps;  ///< by element, then component: as truncation says them
};

/// The order in which coefficients are stored: by degree, then as they lie in an element.
std::vector<int32_t> by_degree(int points, int axes);

template <class T>
std::vector<std::byte> packed(const PacketShape& shape, const PacketSource<T>& source);

extern template std::vector<std::byte> packed(const PacketShape&, const PacketSource<float>&);
extern template std::vector<std::byte> packed(const PacketShape&, const PacketSource<double>&);

}  // namespace pillion::stages::encode
