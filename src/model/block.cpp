// SPDX-License-Identifier: BSD-3-Clause
// Boxes and arrangements in memory.
#include "model/block.hpp"

#include <cstring>
#include <type_traits>

#include "base/copy.hpp"

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

/// Puts pieces one behind the other.
class Appender {
 public:
  explicit Appender(std::byte* to) : to_(to) {}
  void put(const std::byte* from, size_t size) {
    std::memcpy(to_, from, size);
    to_ += size;
  }

 private:
  std::byte* to_;
};

const std::byte* at(const Array& array, int64_t element) {
  return static_cast<const std::byte*>(array.data) +
         element * static_cast<int64_t>(size_of(array.type));
}

template <size_t size, class Sink>
void put_values(const Array& array, const Box& box, Sink&& sink) {
  const auto& s = array.strides;
  for (int64_t k = 0; k < box.extent(2); ++k)
    for (int64_t j = 0; j < box.extent(1); ++j)
      for (int64_t i = 0; i < box.extent(0); ++i)
        for (int32_t c = 0; c < array.components; ++c)
          sink.put(at(array, i * s[0] + j * s[1] + k * s[2] + c * s[3]), size);
}

/// Each component, or the points of each, comes from an array of its own.
template <size_t size, class Sink>
void put_apart(const Array& array, const Box& box, Sink&& sink) {
  const auto& s = array.strides;
  const int32_t together = array.components_together();
  const bool is_run = s[3] == 1 && together > 1;
  for (int64_t k = 0; k < box.extent(2); ++k)
    for (int64_t j = 0; j < box.extent(1); ++j)
      for (int64_t i = 0; i < box.extent(0); ++i)
        for (const int64_t offset : array.offsets) {
          const int64_t first = i * s[0] + j * s[1] + k * s[2] + offset;
          if (is_run) sink.put(at(array, first), size * static_cast<size_t>(together));
          else
            for (int32_t c = 0; c < together; ++c) sink.put(at(array, first + c * s[3]), size);
        }
}

template <class Sink>
void put_rows(const Array& array, const Box& box, size_t row, Sink&& sink) {
  const auto& s = array.strides;
  for (int64_t k = 0; k < box.extent(2); ++k)
    for (int64_t j = 0; j < box.extent(1); ++j) sink.put(at(array, j * s[1] + k * s[2]), row);
}

/// The axis along which the block lies in one piece, cell after cell, if it is not the first: as
/// arrays of programs in C and in Python do. 0 if there is none.
int other_fast_axis(const Array& array, const Box& box) {
  if (array.is_apart() || (array.components > 1 && array.strides[3] != 1)) return 0;
  for (int axis = 1; axis < 3; ++axis)
    if (array.strides[static_cast<size_t>(axis)] == array.components && box.extent(axis) > 1)
      return axis;
  return 0;
}

/// Planes of the first axis and the fast one, one after the other.
bool put_transposed(const Array& array, const Box& box, std::byte* to) {
  const int fast = other_fast_axis(array, box);
  if (fast == 0) return false;
  const auto packed = packed_strides(box, array.components);
  const auto element = static_cast<int64_t>(size_of(array.type));
  const auto loop = [&](int axis) {
    const auto a = static_cast<size_t>(axis);
    return base::Loop{box.extent(axis), packed[a] * element, array.strides[a] * element};
  };
  const base::Loop planes = loop(3 - fast);
  const auto* from = static_cast<const std::byte*>(array.data);
  for (int64_t p = 0; p < planes.count; ++p)
    if (!base::copy_tiles(to + p * planes.to, from + p * planes.from, loop(0), loop(fast),
                          static_cast<size_t>(element * array.components)))
      return false;
  return true;
}

/// Calls f with the size of a type as a constant.
template <class F>
void with_size(ElementType type, F&& f) {
  switch (size_of(type)) {
    case 1: return f(std::integral_constant<size_t, 1>());
    case 2: return f(std::integral_constant<size_t, 2>());
    case 4: return f(std::integral_constant<size_t, 4>());
    default: return f(std::integral_constant<size_t, 8>());
  }
}

/// Rows along the first axis are contiguous more often than not.
template <class Sink>
void put_all(const Array& array, const Box& box, Sink&& sink) {
  const auto packed = packed_strides(box, array.components);
  const auto& s = array.strides;
  const bool rows = s[0] == packed[0] && (array.components == 1 || s[3] == packed[3]);
  if (array.is_apart())
    with_size(array.type, [&](auto size) { put_apart<size()>(array, box, sink); });
  else if (rows) put_rows(array, box, static_cast<size_t>(packed[1]) * size_of(array.type), sink);
  else with_size(array.type, [&](auto size) { put_values<size()>(array, box, sink); });
}

/// Whether the block lies in memory as it will in the copy; strides along axes of one cell say
/// nothing.
bool is_packed(const Array& array, const Box& box) {
  const auto packed = packed_strides(box, array.components);
  bool same = !array.is_apart() && (array.components == 1 || array.strides[3] == packed[3]);
  for (int axis = 0; axis < 3; ++axis)
    same = same && (array.strides[static_cast<size_t>(axis)] == packed[static_cast<size_t>(axis)] ||
                    (axis > 0 && box.extent(axis) == 1));
  return same;
}

}  // namespace

std::optional<Array> array_of_components(std::span<const void* const> data, Array like) {
  like.data = data.front();
  const auto element = static_cast<int64_t>(size_of(like.type));
  std::vector<int64_t> offsets;
  for (const void* component : data) {
    const int64_t bytes = static_cast<int64_t>(reinterpret_cast<intptr_t>(component) -
                                               reinterpret_cast<intptr_t>(data.front()));
    if (bytes % element != 0) return {};
    offsets.push_back(bytes / element);
  }
  const auto parts = static_cast<int64_t>(offsets.size());
  if (parts == 1) return like;
  // Evenly apart, with nothing else between values of one component: strides can say that.
  const int64_t together = like.components / parts;
  const int64_t apart = together == 1 ? offsets[1] : like.strides[3];
  bool is_even = true;
  for (int64_t p = 0; p < parts; ++p)
    is_even = is_even && offsets[static_cast<size_t>(p)] == p * together * apart;
  if (is_even) like.strides[3] = apart;
  else like.offsets = std::move(offsets);
  return like;
}

void pack(const Array& array, const Box& box, std::byte* to, base::Copy how) {
  if (box.volume() == 0) return;
  const auto* from = static_cast<const std::byte*>(array.data);
  const size_t size = size_of(array.type) * static_cast<size_t>(array.components) *
                      static_cast<size_t>(box.volume());
  const bool streaming = how == base::Copy::Streaming;
  if (!is_packed(array, box)) {
    if (put_transposed(array, box, to)) return;
    if (streaming) put_all(array, box, base::Streamer(to));
    else put_all(array, box, Appender(to));
  } else if (streaming) base::stream(to, from, size);
  else std::memcpy(to, from, size);
}

}  // namespace pillion::model
