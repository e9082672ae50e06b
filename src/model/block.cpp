// SPDX-License-Identifier: BSD-3-Clause
// Boxes and arrangements in memory.
#include "model/block.hpp"

#include <cstring>

namespace pillion::model {

bool overlap(const Box& a, const Box& b) {
  if (a.volume() == 0 || b.volume() == 0) return false;
  for (int axis = 0; axis < 3; ++axis)
    if (a.lo[axis] >= b.hi[axis] || b.lo[axis] >= a.hi[axis]) return false;
  return true;
}

std::string to_string(const Box& box, int axes) {
  std::string text;
  for (int a = 0; a < axes; ++a)
    text += fmt::format("{}[{},{})", a == 0 ? "" : "x", box.lo[a], box.hi[a]);
  return text;
}

std::array<int64_t, 4> packed_strides(const Box& box, int32_t components) {
  return {components, components * box.extent(0), components * box.extent(0) * box.extent(1), 1};
}

namespace {

template <class T>
void gather(const Array& array, const Box& box, T* to) {
  const T* from = static_cast<const T*>(array.data);
  const auto& s = array.strides;
  for (int64_t k = 0; k < box.extent(2); ++k)
    for (int64_t j = 0; j < box.extent(1); ++j)
      for (int64_t i = 0; i < box.extent(0); ++i)
        for (int32_t c = 0; c < array.components; ++c)
          *to++ = from[i * s[0] + j * s[1] + k * s[2] + c * s[3]];
}

}  // namespace

void pack(const Array& array, const Box& box, std::byte* to) {
  const size_t element = size_of(array.type);
  const auto packed = packed_strides(box, array.components);
  const auto& s = array.strides;
  const bool rows_packed = s[0] == packed[0] && (array.components == 1 || s[3] == packed[3]);
  if (box.volume() == 0) return;
  if (!rows_packed) {
    if (element == 4) return gather(array, box, reinterpret_cast<int32_t*>(to));
    return gather(array, box, reinterpret_cast<int64_t*>(to));
  }
  // Rows along the first axis are contiguous; whole planes or the whole block often are, too.
  const bool planes = s[1] == packed[1] || box.extent(1) == 1;
  const bool whole = planes && (s[2] == packed[2] || box.extent(2) == 1);
  const int64_t row = packed[1] * static_cast<int64_t>(element);
  const auto* from = static_cast<const std::byte*>(array.data);
  if (whole) {
    std::memcpy(to, from, static_cast<size_t>(row * box.extent(1) * box.extent(2)));
    return;
  }
  for (int64_t k = 0; k < box.extent(2); ++k)
    for (int64_t j = 0; j < box.extent(1); ++j, to += row)
      std::memcpy(to, from + (j * s[1] + k * s[2]) * static_cast<int64_t>(element),
                  static_cast<size_t>(row));
}

}  // namespace pillion::model
