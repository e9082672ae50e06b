// SPDX-License-Identifier: BSD-3-Clause
// Loops are merged where one ends where the next begins on both sides; what is left of the
// innermost is one run.
#include "layout/copy_region.hpp"

#include <algorithm>
#include <cstring>

#include "base/copy.hpp"

namespace pillion::layout {

using model::Box;

Source source_of(const model::Array& array, const Box& box) {
  return {static_cast<const std::byte*>(array.data), box.lo, array.strides, array.offsets};
}

namespace {

using base::Loop;

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

/// Runs of `bytes` bytes, `to` and `from` being bytes from one to the next.
template <size_t bytes>
void copy_runs_of(std::byte* to, const std::byte* from, const Loop& runs) {
  for (int64_t i = 0; i < runs.count; ++i)
    std::memcpy(to + i * runs.to, from + i * runs.from, bytes);
}

// Sides of boxes tend to be powers of two, and copies of a known length are several times as fast.
void copy_runs(std::byte* to, const std::byte* from, const Loop& runs, size_t bytes) {
  switch (bytes) {
    case 1: return copy_runs_of<1>(to, from, runs);
    case 2: return copy_runs_of<2>(to, from, runs);
    case 4: return copy_runs_of<4>(to, from, runs);
    case 8: return copy_runs_of<8>(to, from, runs);
    case 16: return copy_runs_of<16>(to, from, runs);
    case 24: return copy_runs_of<24>(to, from, runs);
    case 32: return copy_runs_of<32>(to, from, runs);
    case 64: return copy_runs_of<64>(to, from, runs);
    case 128: return copy_runs_of<128>(to, from, runs);
    case 256: return copy_runs_of<256>(to, from, runs);
    default:
      for (int64_t i = 0; i < runs.count; ++i)
        std::memcpy(to + i * runs.to, from + i * runs.from, bytes);
  }
}

/// Where one loop is in one piece on this side and another on the other side, these become the
/// first and the second.
void gather_transposed(std::array<Loop, 4>& loops, int64_t bytes) {
  const auto first = [&](int64_t Loop::*stride) {
    return std::find_if(loops.begin(), loops.end(),
                        [&](const Loop& l) { return l.count > 1 && l.*stride == bytes; });
  };
  const auto here = first(&Loop::to);
  const auto there = first(&Loop::from);
  if (here == loops.end() || there == loops.end() || here == there) return;
  std::iter_swap(loops.begin(), here);
  const auto moved = first(&Loop::from);
  std::iter_swap(loops.begin() + 1, moved);
}

}  // namespace

void copy_region(const Target& to, const Source& from, const Box& region,
                 const std::array<int64_t, 3>& shift, int32_t components, size_t element) {
  if (region.volume() <= 0) return;
  if (!from.offsets.empty()) {
    const auto parts = static_cast<int32_t>(from.offsets.size());
    const int32_t together = components / parts;
    Target to_part = to;
    Source part{from.data, from.lo, from.strides};
    for (int32_t p = 0; p < parts; ++p) {
      part.data = from.data + from.offsets[static_cast<size_t>(p)] * static_cast<int64_t>(element);
      to_part.data = to.data + p * together * to.strides[3] * static_cast<int64_t>(element);
      copy_region(to_part, part, region, shift, together, element);
    }
    return;
  }
  Nest nest;
  // Components are inside in memory as a rule, but need not be on either side.
  nest.add({components, to.strides[3], from.strides[3]});
  for (int d = 0; d < 3; ++d)
    nest.add({region.extent(d), to.strides[static_cast<size_t>(d)],
              from.strides[static_cast<size_t>(d)]});
  auto source_lo = region.lo;
  for (size_t d = 0; d < 3; ++d) source_lo[d] -= shift[d];
  std::byte* target = address(to, region.lo, element);
  const std::byte* source = address(from, source_lo, element);
  // The innermost loop is a run of bytes if both sides have it in one piece.
  const bool has_run = nest.depth > 0 && nest.loops[0].to == 1 && nest.loops[0].from == 1;
  const size_t bytes = element * static_cast<size_t>(has_run ? nest.loops[0].count : 1);
  const size_t inner = has_run ? 1 : 0;
  const auto loop = [&](size_t n) {
    Loop out = inner + n < nest.depth ? nest.loops[inner + n] : Loop{1, 0, 0};
    out.to *= static_cast<int64_t>(element);
    out.from *= static_cast<int64_t>(element);
    return out;
  };
  std::array<Loop, 4> loops{loop(0), loop(1), loop(2), loop(3)};
  gather_transposed(loops, static_cast<int64_t>(bytes));
  const auto& [runs, planes, volumes, all] = loops;
  const bool transposed = runs.from != planes.from && runs.to == static_cast<int64_t>(bytes) &&
                          planes.from == static_cast<int64_t>(bytes) && planes.count > 1;
  for (int64_t l = 0; l < all.count; ++l)
    for (int64_t k = 0; k < volumes.count; ++k) {
      std::byte* to_volume = target + k * volumes.to + l * all.to;
      const std::byte* from_volume = source + k * volumes.from + l * all.from;
      if (transposed && base::copy_tiles(to_volume, from_volume, runs, planes, bytes)) continue;
      for (int64_t j = 0; j < planes.count; ++j)
        copy_runs(to_volume + j * planes.to, from_volume + j * planes.from, runs, bytes);
    }
}

}  // namespace pillion::layout
