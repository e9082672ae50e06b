// SPDX-License-Identifier: BSD-3-Clause
// Integer arithmetic of grids.
#include "selection.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace pillion::idx {
namespace {

/// The bits of a mask at the positions first to last, counted from 1.
Bitmask part_of(const Bitmask& mask, int first, int last) {
  return Bitmask("V" + mask.text().substr(static_cast<size_t>(first),
                                          static_cast<size_t>(std::max(0, last - first + 1))));
}

int64_t rounded_up(int64_t count, int64_t by) { return (count + by - 1) / by; }

// The bits in front of the ones that vary within a block distinguish the blocks of a level.
void add_blocks(const Dataset& dataset, int level, const Point& lo, const Point& hi,
                std::vector<BlockOfLevel>& out) {
  const int leading = level - 1 - dataset.bits_per_block;
  const Bitmask before = part_of(dataset.mask, 1, leading);
  const Point cell = dataset.mask.stride(leading);
  Point offset{};
  const auto axis = static_cast<size_t>(dataset.mask.axis_of_bit(dataset.mask.bits() - level));
  offset[axis] = dataset.mask.stride(level)[axis];
  const Grid wanted = grid_within(lo, hi, dataset.mask.stride(level - 1), offset);
  if (wanted.samples() == 0) return;
  const Point last = wanted.hi();
  Point at{};
  const auto first = [&](size_t a) { return wanted.origin[a] / cell[a]; };
  for (at[2] = first(2); at[2] <= (last[2] - 1) / cell[2]; ++at[2])
    for (at[1] = first(1); at[1] <= (last[1] - 1) / cell[1]; ++at[1])
      for (at[0] = first(0); at[0] <= (last[0] - 1) / cell[0]; ++at[0])
        out.push_back({before.z_address(at) | int64_t{1} << leading, level});
}

/// Where samples that two grids have in common are along one axis of each.
struct Common {
  int64_t from = 0, from_step = 1, to = 0, to_step = 1, count = 0;
};

Common common_along(const Grid& from, const Grid& to, size_t a) {
  const int64_t step = std::max(from.stride[a], to.stride[a]);
  const int64_t anchor = (from.stride[a] == step ? from : to).origin[a];
  const int64_t lo = std::max(from.origin[a], to.origin[a]);
  const int64_t first = lo + ((anchor - lo) % step + step) % step;
  const int64_t end = std::min(from.hi()[a], to.hi()[a]);
  if (first >= end) return {};
  return {(first - from.origin[a]) / from.stride[a], step / from.stride[a],
          (first - to.origin[a]) / to.stride[a], step / to.stride[a],
          rounded_up(end - first, step)};
}

/// Calls copy(place of a sample in `from`, its distance in bytes from the first one of `to`).
template <class Place, class Copy>
void for_each_common(const std::array<Common, 3>& common, const Order& order, const Point& strides,
                     const Place& place, const Copy& copy) {
  const auto& [x, y, z] = common;
  const int64_t step = x.to_step * strides[0];
  for (int64_t k = 0; k < z.count; ++k)
    for (int64_t j = 0; j < y.count; ++j) {
      const int64_t in_plane = order.parts[2][static_cast<size_t>(z.from + k * z.from_step)] +
                               order.parts[1][static_cast<size_t>(y.from + j * y.from_step)];
      const int64_t row = (z.to + k * z.to_step) * strides[2] +
                          (y.to + j * y.to_step) * strides[1] + x.to * strides[0];
      const int64_t* along = order.parts[0].data() + x.from;
      for (int64_t i = 0; i < x.count; ++i)
        copy(place(in_plane + along[i * x.from_step]), row + i * step);
    }
}

}  // namespace

Grid grid_within(const Point& lo, const Point& hi, const Point& stride, const Point& offset) {
  Grid out{.origin = {}, .extent = {}, .stride = stride};
  for (size_t a = 0; a < 3; ++a) {
    out.origin[a] = lo[a] + ((offset[a] - lo[a]) % stride[a] + stride[a]) % stride[a];
    out.extent[a] = std::max<int64_t>(0, rounded_up(hi[a] - out.origin[a], stride[a]));
  }
  return out;
}

std::vector<BlockOfLevel> blocks_in(const Dataset& dataset, int after, int level, const Point& lo,
                                    const Point& hi) {
  std::vector<BlockOfLevel> out;
  const Point stride = dataset.mask.stride(dataset.bits_per_block);
  if (after < dataset.bits_per_block && grid_within(lo, hi, stride, {}).samples() > 0)
    out.push_back({0, dataset.bits_per_block});
  for (int of = std::max(after, dataset.bits_per_block) + 1; of <= level; ++of)
    add_blocks(dataset, of, lo, hi, out);
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return out;
}

Order in_rows(const Point& extent) {
  Order out;
  int64_t distance = 1;
  for (size_t a = 0; a < 3; ++a) {
    for (int64_t i = 0; i < extent[a]; ++i) out.parts[a].push_back(i * distance);
    distance *= extent[a];
  }
  return out;
}

Point strides_in_rows(const Point& extent, size_t sample_size) {
  const auto size = static_cast<int64_t>(sample_size);
  return {size, size * extent[0], size * extent[0] * extent[1]};
}

Order in_block(const Dataset& dataset, int level) {
  const int bits = dataset.bits_per_block;
  const bool is_first = level <= bits;
  const Bitmask part =
      is_first ? part_of(dataset.mask, 1, bits) : part_of(dataset.mask, level - bits, level - 1);
  Order out;
  for (size_t a = 0; a < 3; ++a)
    for (int64_t i = 0; i < part.extent(static_cast<int>(a)); ++i) {
      Point point{};
      point[a] = i;
      out.parts[a].push_back(part.z_address(point));
    }
  if (is_first) out.hierarchical_bits = bits;
  return out;
}

void copy_common(const Grid& from, const Order& order, const std::byte* values, const Grid& to,
                 const Point& to_strides, std::byte* to_values, size_t size) {
  const std::array common{common_along(from, to, 0), common_along(from, to, 1),
                          common_along(from, to, 2)};
  const auto with_places = [&](const auto& copy) {
    if (order.hierarchical_bits < 0)
      return for_each_common(
          common, order, to_strides, [](int64_t place) { return place; }, copy);
    const auto mark = uint64_t{1} << order.hierarchical_bits;
    for_each_common(
        common, order, to_strides,
        [&](int64_t z) {
          const uint64_t marked = static_cast<uint64_t>(z) | mark;
          return static_cast<int64_t>(marked >> (std::countr_zero(marked) + 1));
        },
        copy);
  };
  // A known number of bytes is one move instead of a call.
  const auto with_size = [&](auto fixed) {
    with_places([&](int64_t place, int64_t distance) {
      std::memcpy(to_values + distance, values + static_cast<size_t>(place) * fixed(), fixed());
    });
  };
  switch (size) {
    case 1: return with_size(std::integral_constant<size_t, 1>());
    case 2: return with_size(std::integral_constant<size_t, 2>());
    case 4: return with_size(std::integral_constant<size_t, 4>());
    case 8: return with_size(std::integral_constant<size_t, 8>());
    case 12: return with_size(std::integral_constant<size_t, 12>());
    case 24: return with_size(std::integral_constant<size_t, 24>());
    default: return with_size([size] { return size; });
  }
}

}  // namespace pillion::idx
