// SPDX-License-Identifier: BSD-3-Clause
// Loops are merged where one ends where the next begins on both sides; what is left of the
// innermost is one run.
#include "layout/copy_region.hpp"

#include <algorithm>
#include <cstring>

namespace pillion::layout {

using model::Box;

Source source_of(const model::Array& array, const Box& box) {
  return {static_cast<const std::byte*>(array.data), box.lo, array.strides};
}

namespace {

struct Loop {
  int64_t count, to, from;  ///< strides in elements
};

/// At most four loops, the innermost first.
struct Nest {
  std::array<Loop, 4> loops{};
  size_t depth = 0;

  void add(const Loop& next) {
    if (next.count == 1) return;
    if (depth > 0) {
      Loop& last = loops[depth - 1];
      if (next.to == last.to * last.count && next.from == last.from * last.count) {
        last.count *= next.count;
        return;
      }
    }
    loops[depth++] = next;
  }
};

template <size_t element>
void copy_values(std::byte* to, const std::byte* from, const Loop& loop) {
  for (int64_t i = 0; i < loop.count; ++i)
    std::memcpy(to + i * loop.to * static_cast<int64_t>(element),
                from + i * loop.from * static_cast<int64_t>(element), element);
}

/// The innermost loop.
void copy_line(std::byte* to, const std::byte* from, const Loop& loop, size_t element) {
  if (loop.to == 1 && loop.from == 1)
    std::memcpy(to, from, static_cast<size_t>(loop.count) * element);
  else if (element == 4) copy_values<4>(to, from, loop);
  else copy_values<8>(to, from, loop);
}

template <class Byte>
Byte* first_of(const Arrangement<Byte>& arrangement, const std::array<int64_t, 3>& lo,
               size_t element) {
  int64_t at = 0;
  for (size_t d = 0; d < 3; ++d) at += (lo[d] - arrangement.lo[d]) * arrangement.strides[d];
  return arrangement.data + at * static_cast<int64_t>(element);
}

}  // namespace

void copy_region(const Target& to, const Source& from, const Box& region,
                 const std::array<int64_t, 3>& shift, int32_t components, size_t element) {
  if (region.volume() <= 0) return;
  Nest nest;
  // Components are inside in memory as a rule, but need not be on either side.
  nest.add({components, to.strides[3], from.strides[3]});
  for (int d = 0; d < 3; ++d)
    nest.add({region.extent(d), to.strides[static_cast<size_t>(d)],
              from.strides[static_cast<size_t>(d)]});
  auto source_lo = region.lo;
  for (size_t d = 0; d < 3; ++d) source_lo[d] -= shift[d];
  std::byte* target = first_of(to, region.lo, element);
  const std::byte* source = first_of(from, source_lo, element);
  const auto& loops = nest.loops;
  const auto size = static_cast<int64_t>(element);
  const auto outer = [&](size_t d) { return nest.depth > d ? loops[d] : Loop{1, 0, 0}; };
  const Loop line = nest.depth > 0 ? loops[0] : Loop{1, 1, 1};
  for (int64_t k = 0; k < outer(3).count; ++k)
    for (int64_t j = 0; j < outer(2).count; ++j)
      for (int64_t i = 0; i < outer(1).count; ++i)
        copy_line(target + (i * outer(1).to + j * outer(2).to + k * outer(3).to) * size,
                  source + (i * outer(1).from + j * outer(2).from + k * outer(3).from) * size, line,
                  element);
}

}  // namespace pillion::layout
