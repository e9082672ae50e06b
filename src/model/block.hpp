// SPDX-License-Identifier: BSD-3-Clause
// Where data lies in memory: boxes, arrays and blocks. Plain values that own nothing unless they
// are declared to; they carry the same information as their twins in pillion/stage.h.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/copy.hpp"
#include "model/catalogue.hpp"

namespace pillion::model {

/// Half-open index range. Axes that a mesh does not have are [0, 1).
struct Box {
  std::array<int64_t, 3> lo{0, 0, 0};
  std::array<int64_t, 3> hi{1, 1, 1};

  [[nodiscard]] int64_t extent(int axis) const { return hi[axis] - lo[axis]; }
  [[nodiscard]] int64_t volume() const { return extent(0) * extent(1) * extent(2); }
  friend bool operator==(const Box&, const Box&) = default;
};

/// Whether two boxes have a cell in common.
bool overlap(const Box& a, const Box& b);
/// "[0,4)x[0,8)", for the first `axes` axes.
std::string to_string(const Box& box, int axes);

/// Values of one field in one block: element (i, j, k), component c, is at
/// data[i*strides[0] + j*strides[1] + k*strides[2] + component_at(c)].
///
/// Components may lie in arrays of their own, with the same strides. Then `offsets` are the
/// elements from `data` to each of these; whatever moves `data` moves all of them. Of a spectral
/// mesh, each array has the points of one component, which are strides[3] apart.
struct Array {
  const void* data = nullptr;
  ElementType type = ElementType::Float64;
  int32_t components = 1;
  std::array<int64_t, 4> strides{1, 1, 1, 1};
  Centering centering = Centering::Natural;
  std::vector<int64_t> offsets{};  ///< empty where strides[3] says all
  /// Indices along each axis where they are not those of the block's box: of values at points, and
  /// of bytes. 0 along the first axis, with `has_extents`, if there are none.
  std::array<int64_t, 3> extents{};
  bool has_extents = false;
  int64_t version = 0;  ///< grows when values change; 0 if it is not known

  [[nodiscard]] bool is_apart() const { return !offsets.empty(); }
  /// Components in each array, if there are several.
  [[nodiscard]] int32_t components_together() const {
    return offsets.empty() ? components : components / static_cast<int32_t>(offsets.size());
  }
  [[nodiscard]] int64_t component_at(int32_t c) const {
    if (offsets.empty()) return c * strides[3];
    const int32_t together = components_together();
    return offsets[static_cast<size_t>(c / together)] + c % together * strides[3];
  }
};

/// The array of one field whose components begin at `data`, each in an array of its own; strides[3]
/// is that within one. Needs no offsets where these are evenly apart. Nothing if they are not whole
/// elements apart.
std::optional<Array> array_of_components(std::span<const void* const> data, Array like);

/// The arrangement that is the default everywhere: components interleaved, first axis fastest.
std::array<int64_t, 4> packed_strides(const Box& box, int32_t components);

/// The indices of an array of a block that has the cells of `box`.
inline Box box_of(const Array& array, const Box& box) {
  return array.has_extents ? Box{{0, 0, 0}, array.extents} : box;
}
/// The indices of values in a box: one more than cells along each axis with a bit in `point_axes`.
/// Nothing is set if there is none.
inline void set_point_extents(uint32_t point_axes, const Box& box, Array& array) {
  if (point_axes == 0) return;
  array.has_extents = true;
  for (int a = 0; a < 3; ++a)
    array.extents[static_cast<size_t>(a)] =
        box.extent(a) + (point_axes >> static_cast<unsigned>(a) & 1u);
}
/// Bytes of its values, packed.
inline size_t bytes_of(const Array& array, const Box& box) {
  return size_of(array.type) * static_cast<size_t>(array.components) *
         static_cast<size_t>(box_of(array, box).volume());
}

/// The id of a block that no other of its mesh has: the number that `rank` gave it, and which stage
/// of the analysis made it, counted from 1; 0 for blocks as the program shares them.
constexpr int64_t block_id(int rank, int32_t number, int maker = 0) {
  return static_cast<int64_t>(maker & 0x7f) << 56 | static_cast<int64_t>(rank) << 32 | number;
}

/// The maker of blocks in a further cut of a mesh, where the program shares fields of it in
/// different boxes; `cut` counts from 1.
constexpr int maker_of_cut(int cut) { return 128 - cut; }
/// Whether a block is one of a further cut.
constexpr bool is_of_further_cut(int64_t id) { return (id >> 56 & 0x7f) > 64; }

/// One block of one mesh with the fields that are there. Particles: the box is [0, count); an
/// unstructured mesh: it is [0, cells).
struct Block {
  int64_t id = 0;
  Box box;
  int64_t owned = 0;  ///< particles: the first `owned` are this rank's
  std::map<std::string, Array> arrays;
  int32_t level = 0;
  int64_t topology_version = 0, geometry_version = 0;  ///< 0: it is not known when they change

  /// The number that the rank gave it which made it.
  [[nodiscard]] int32_t number() const { return static_cast<int32_t>(id & 0x7fffffff); }
};

/// What one rank holds of one mesh, and the memory behind it where it is not the simulation's.
struct MeshBlocks {
  std::vector<Block> blocks;
  std::vector<std::shared_ptr<const void>> keep;
  MeshKind kind = MeshKind::Uniform;
};

/// Copies an array of a box into packed arrangement at `to`, which has room for it.
void pack(const Array& array, const Box& box, std::byte* to, base::Copy how = base::Copy::Plain);

}  // namespace pillion::model
