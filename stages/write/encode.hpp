// SPDX-License-Identifier: BSD-3-Clause
// The second phase: samples of a cell in the order of their HZ addresses. The cell is taken in
// cubes that stay in the cache, so that memory is read once, straight from where its parts are;
// cubes that lie in several parts, or reach beyond the mesh, are put together first.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "cell_shape.hpp"

namespace pillion::stages {

/// Some fields, side by side in the elements of one array, in a part of a cell's box.
struct PartElements {
  Region region;  ///< from the corner of the cell
  const std::byte* first = nullptr;
  idx::Point strides{};  ///< bytes
};

namespace detail {

inline int64_t offset_of(const idx::Point& point, const idx::Point& strides) {
  return point[0] * strides[0] + point[1] * strides[1] + point[2] * strides[2];
}

inline std::vector<int64_t> offsets_of(const CellShape& shape, const idx::Point& strides) {
  std::vector<int64_t> out;
  for (const auto& sample : shape.samples()) out.push_back(offset_of(sample, strides));
  return out;
}

/// Elements `stride` bytes apart, packed. Calls of memcpy for each would take most of the time.
inline void pack_row(std::byte* to, const std::byte* from, int64_t count, int64_t stride,
                     size_t size) {
  constexpr size_t word = 8;
  for (int64_t i = 0; i < count; ++i, from += stride, to += size) {
    size_t done = 0;
    for (; done + word <= size; done += word) std::memcpy(to + done, from + done, word);
    for (; done < size; ++done) to[done] = from[done];
  }
}

/// Elements of a cube that are wanted, first axis fastest, whatever parts they are in; what is in
/// none is 0.
inline void gather(const std::vector<PartElements>& parts, const CellShape& shape,
                   const idx::Point& corner, size_t size, std::vector<std::byte>& to) {
  std::fill(to.begin(), to.end(), std::byte{0});
  const auto& step = shape.step();
  const auto& side = shape.side();
  for (const auto& part : parts) {
    idx::Point lo, hi;  // numbers of wanted samples
    for (size_t a = 0; a < 3; ++a) {
      const int64_t from = std::max<int64_t>(part.region.lo[a] - corner[a], 0);
      const int64_t end = std::min(part.region.hi[a] - corner[a], side[a]);
      lo[a] = (from + step[a] - 1) / step[a];
      hi[a] = end <= 0 ? 0 : (end + step[a] - 1) / step[a];
    }
    if (lo[0] >= hi[0]) continue;
    for (int64_t k = lo[2]; k < hi[2]; ++k)
      for (int64_t j = lo[1]; j < hi[1]; ++j) {
        const idx::Point in_part{corner[0] + lo[0] * step[0] - part.region.lo[0],
                                 corner[1] + j * step[1] - part.region.lo[1],
                                 corner[2] + k * step[2] - part.region.lo[2]};
        const int64_t in_cube = lo[0] + side[0] / step[0] * (j + side[1] / step[1] * k);
        pack_row(to.data() + static_cast<size_t>(in_cube) * size,
                 part.first + offset_of(in_part, part.strides), hi[0] - lo[0],
                 part.strides[0] * step[0], size);
      }
  }
}

/// `known` is the size of a sample if that is known when this is compiled, or 0.
template <size_t known>
void put(std::byte* to, const std::byte* from, const int64_t* offsets, size_t count, size_t size) {
  if constexpr (known != 0) size = known;
  for (size_t i = 0; i < count; ++i) std::memcpy(to + i * size, from + offsets[i], size);
}

template <size_t known>
void put_cube(const CellShape& shape, size_t cube, const std::byte* from, const int64_t* offsets,
              size_t size, const std::vector<std::byte*>& to) {
  for (size_t f = 0; f < to.size(); ++f, from += size) {
    put<known>(to[f] + shape.place_of_corner(cube) * size, from, offsets, 1, size);
    for (int level = 1; level <= shape.cube_bits(); ++level) {
      const size_t count = size_t{1} << (level - 1);
      put<known>(to[f] + shape.place(cube, level) * size, from, offsets + count, count, size);
    }
  }
}

template <size_t known>
void encode(const CellShape& shape, const std::vector<PartElements>& parts,
            const std::vector<int32_t>& parts_of_cubes, size_t size,
            const std::vector<std::byte*>& to) {
  std::vector<std::vector<int64_t>> offsets;
  for (const auto& part : parts) offsets.push_back(offsets_of(shape, part.strides));
  const auto element = static_cast<int64_t>(size * to.size());
  const idx::Point count{shape.side()[0] / shape.step()[0], shape.side()[1] / shape.step()[1], 0};
  std::vector<int64_t> in_cube;  // of samples that were gathered
  for (const auto& sample : shape.samples())
    in_cube.push_back(element * (sample[0] / shape.step()[0] +
                                 count[0] * (sample[1] / shape.step()[1] +
                                             count[1] * (sample[2] / shape.step()[2]))));
  std::vector<std::byte> gathered(shape.samples().size() * static_cast<size_t>(element));
  for (size_t cube = 0; cube < shape.corners().size(); ++cube) {
    const auto& corner = shape.corners()[cube];
    const int32_t owner = parts_of_cubes[cube];
    if (owner == several) {
      gather(parts, shape, corner, size * to.size(), gathered);
      put_cube<known>(shape, cube, gathered.data(), in_cube.data(), size, to);
      continue;
    }
    const auto& part = parts[static_cast<size_t>(owner)];
    const std::byte* const first =
        part.first + offset_of(corner, part.strides) - offset_of(part.region.lo, part.strides);
    put_cube<known>(shape, cube, first, offsets[static_cast<size_t>(owner)].data(), size, to);
  }
}

}  // namespace detail

/// Puts a cell's samples in order, for as many fields of `size` bytes as there are places.
inline void encode(const CellShape& shape, const std::vector<PartElements>& parts,
                   const std::vector<int32_t>& parts_of_cubes, size_t size,
                   const std::vector<std::byte*>& to) {
  switch (size) {
    case 4: return detail::encode<4>(shape, parts, parts_of_cubes, size, to);
    case 8: return detail::encode<8>(shape, parts, parts_of_cubes, size, to);
    case 12: return detail::encode<12>(shape, parts, parts_of_cubes, size, to);
    case 24: return detail::encode<24>(shape, parts, parts_of_cubes, size, to);
    default: return detail::encode<0>(shape, parts, parts_of_cubes, size, to);
  }
}

}  // namespace pillion::stages
