// SPDX-License-Identifier: BSD-3-Clause
// Samples of a cell in HZ order. A cell of the bitmask's tree is taken apart into small cubes: in Z
// order of the cubes, each has one range of samples on each level, behind that of the cube before.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <pillion/idx/bitmask.hpp>
#include <vector>

#include "boxes.hpp"

namespace pillion::stages::write_idx {

class CellShape {
 public:
  /// A cell of 2^bits samples without its last `left_out` levels.
  CellShape(const idx::Bitmask& mask, int bits, int left_out) {
    constexpr int most_cube_bits = 7;
    const int wanted = std::max(bits - left_out, 0);
    cube_bits_ = std::min(wanted, most_cube_bits);
    grid_bits_ = wanted - cube_bits_;
    for (int bit = 0; bit < bits - wanted; ++bit)
      spacing_[static_cast<size_t>(mask.axis_of_bit(bit))] *= 2;
    step_ = spacing_;
    const auto in_z_order = points_of(mask, bits - wanted, cube_bits_);
    side_ = spacing_;
    corners_ = points_of(mask, bits - grid_bits_, grid_bits_);
    samples_.resize(in_z_order.size());
    for (size_t z = 0; z < in_z_order.size(); ++z)
      samples_[place_of(z, cube_bits_)] = in_z_order[z];
  }

  /// Levels that are wanted, above the cell's corner.
  [[nodiscard]] int levels() const { return cube_bits_ + grid_bits_; }
  [[nodiscard]] int cube_bits() const { return cube_bits_; }
  /// Samples of the mesh that a cube spans along the axes, and from one that is wanted to the next.
  [[nodiscard]] const idx::Point& side() const { return side_; }
  [[nodiscard]] const idx::Point& step() const { return step_; }
  /// Where cubes begin, from the corner of the cell, in Z order.
  [[nodiscard]] const std::vector<idx::Point>& corners() const { return corners_; }
  /// Samples of a cube, from its corner, in order of levels: the corner, then 2^(level - 1) each.
  [[nodiscard]] const std::vector<idx::Point>& samples() const { return samples_; }
  /// Place in the encoded cell of a cube's corner, and of its samples of one of its levels.
  [[nodiscard]] size_t place_of_corner(size_t cube) const { return place_of(cube, grid_bits_); }
  [[nodiscard]] size_t place(size_t cube, int level) const {
    return (size_t{1} << (grid_bits_ + level - 1)) + (cube << (level - 1));
  }

 private:
  /// HZ address of a Z address of `bits` bits.
  static size_t place_of(size_t z, int bits) {
    if (z == 0) return 0;
    const int zeros = std::countr_zero(z);
    return (size_t{1} << (bits - zeros - 1)) + (z >> (zeros + 1));
  }
  /// What some bits of Z addresses tell apart, in their order.
  std::vector<idx::Point> points_of(const idx::Bitmask& mask, int first, int count) {
    std::vector<idx::Point> out{{0, 0, 0}};
    for (int bit = first; bit < first + count; ++bit) {
      const auto axis = static_cast<size_t>(mask.axis_of_bit(bit));
      for (size_t i = 0, size = out.size(); i < size; ++i) {
        out.push_back(out[i]);
        out.back()[axis] += spacing_[axis];
      }
      spacing_[axis] *= 2;
    }
    return out;
  }

  int cube_bits_ = 0, grid_bits_ = 0;
  idx::Point spacing_{1, 1, 1};  ///< what the next bit along an axis is worth
  idx::Point side_{1, 1, 1}, step_{1, 1, 1};
  std::vector<idx::Point> corners_, samples_;
};

/// Shapes of cells of all sizes, each worked out once.
class CellShapes {
 public:
  const CellShape& of(const idx::Bitmask& mask, int bits, int left_out) {
    const auto at = known_.find(bits);
    if (at != known_.end()) return at->second;
    return known_.emplace(bits, CellShape(mask, bits, left_out)).first->second;
  }

 private:
  std::map<int, CellShape> known_;
};

/// By cube of a cell: the part of a box in which it lies whole, or `several`.
constexpr int32_t several = -1;
inline std::vector<int32_t> parts_of_cubes(const CellShape& shape, const idx::Point& cell,
                                           const std::vector<Region>& parts) {
  std::vector<int32_t> out;
  for (const auto& corner : shape.corners()) {
    const auto holds = [&](const Region& part) {
      bool in = true;
      for (size_t a = 0; a < 3; ++a)
        in = in && cell[a] + corner[a] >= part.lo[a] &&
             cell[a] + corner[a] + shape.side()[a] <= part.hi[a];
      return in;
    };
    const auto at = std::find_if(parts.begin(), parts.end(), holds);
    out.push_back(at == parts.end() ? several : static_cast<int32_t>(at - parts.begin()));
  }
  return out;
}

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

}  // namespace pillion::stages::write_idx
