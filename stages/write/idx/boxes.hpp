// SPDX-License-Identifier: BSD-3-Clause
// What a writer gets of a publication: boxes of samples, in parts that stay in the memory that
// they came to, unless the components of an element lie apart; and the part of the mesh that is
// written instead of all of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <pillion/idx/bitmask.hpp>
#include <pillion/stage.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../../common/messages.hpp"
#include "../../common/options.hpp"
#include "../fields.hpp"

namespace pillion::stages::write_idx {

struct Region {
  idx::Point lo{}, hi{};
  bool operator==(const Region&) const = default;
};

/// Samples [lo, end) that this peer has, and the parts that they are made of.
struct BoxShape {
  idx::Point lo{}, end{};
  idx::Point first{}, hi{};  ///< of what is written: where there are no samples, zeros
  std::vector<Region> parts;
  bool operator==(const BoxShape&) const = default;
};

/// Elements of one field in a part; the components of one lie together.
struct PartArray {
  const std::byte* data = nullptr;  ///< the first sample of the part
  idx::Point strides{};             ///< bytes between neighbours along the axes
};

struct SampleBox {
  BoxShape shape;
  std::vector<std::vector<PartArray>> arrays;  ///< by part, and by field that is written
};

/// From the parameter `region`, [first, one past the last] cell along each axis; else the mesh.
inline Region region_from(const stage::Value& value, const pillion_field_description& mesh) {
  Region out{{0, 0, 0}, {1, 1, 1}};
  std::copy_n(mesh.cells, mesh.axes, out.hi.begin());
  if (!value) return out;
  if (!value.is_list() || value.size() != mesh.axes)
    value.fail("expected [first, one past the last] cell for each of the " +
               std::to_string(mesh.axes) + " axes");
  constexpr int64_t most = int64_t{1} << 40;
  for (int64_t d = 0; d < mesh.axes; ++d) {
    const auto a = static_cast<size_t>(d);
    const auto range = value[d];
    if (!range.is_list() || range.size() != 2)
      range.fail("expected [first, one past the last] cell");
    out.lo[a] = integer_from(range[0], 0, most);
    out.hi[a] = integer_from(range[1], 1, most);
    if (out.lo[a] >= out.hi[a] || out.hi[a] > mesh.cells[d])
      range.fail("cells from " + std::to_string(out.lo[a]) + " to " + std::to_string(out.hi[a]) +
                 " are none of the mesh's " + std::to_string(mesh.cells[d]));
  }
  return out;
}

/// What is left of boxes within a region.
inline void clip(std::vector<SampleBox>& boxes, const Region& region) {
  const auto is_empty = [](const idx::Point& lo, const idx::Point& hi) {
    return lo[0] >= hi[0] || lo[1] >= hi[1] || lo[2] >= hi[2];
  };
  for (auto& box : boxes) {
    auto& shape = box.shape;
    for (size_t p = shape.parts.size(); p-- > 0;) {
      auto& part = shape.parts[p];
      for (size_t a = 0; a < 3; ++a) {
        const int64_t skipped = std::max<int64_t>(region.lo[a] - part.lo[a], 0);
        part.lo[a] += skipped;
        part.hi[a] = std::min(part.hi[a], region.hi[a]);
        for (auto& array : box.arrays[p]) array.data += skipped * array.strides[a];
      }
      if (!is_empty(part.lo, part.hi)) continue;
      shape.parts.erase(shape.parts.begin() + static_cast<std::ptrdiff_t>(p));
      box.arrays.erase(box.arrays.begin() + static_cast<std::ptrdiff_t>(p));
    }
    for (size_t a = 0; a < 3; ++a) {
      shape.lo[a] = shape.first[a] = std::max(shape.lo[a], region.lo[a]);
      shape.end[a] = shape.hi[a] = std::min(shape.end[a], region.hi[a]);
    }
  }
  std::erase_if(boxes, [&](const SampleBox& box) { return box.shape.parts.empty(); });
}

class SampleBoxes {
 public:
  /// Of an input as shared, each block is a box; of one in parts, boxes may have several blocks.
  SampleBoxes(const stage::Step& step, int32_t input, int32_t axes, bool in_parts) {
    std::map<idx::Point, size_t> of;  // the number of the box that begins there
    for (int32_t b = 0; b < step.block_count(input); ++b) {
      const auto block = step.block(input, b);
      if (block.count() == 0) continue;
      const Region region = region_of(block.lo(), block.hi(), axes);
      const Region whole = in_parts ? region_of(block.inner_lo(), block.inner_hi(), axes) : region;
      const auto [known, is_new] =
          in_parts ? of.try_emplace(whole.lo, boxes_.size()) : std::pair(of.end(), true);
      if (is_new) boxes_.push_back(SampleBox{{whole.lo, whole.hi, whole.lo, whole.hi, {}}, {}});
      auto& box = is_new ? boxes_.back() : boxes_[known->second];
      box.shape.parts.push_back(region);
      auto& arrays = box.arrays.emplace_back();
      for (int32_t f = 0; f < block.array_count(); ++f)
        arrays.push_back(array_of(block[f], region));
    }
  }
  SampleBoxes(const SampleBoxes&) = delete;
  SampleBoxes& operator=(const SampleBoxes&) = delete;

  [[nodiscard]] const std::vector<SampleBox>& all() const { return boxes_; }
  [[nodiscard]] std::vector<SampleBox>& all() { return boxes_; }

 private:
  static Region region_of(const int64_t* lo, const int64_t* hi, int32_t axes) {
    Region out{{0, 0, 0}, {1, 1, 1}};
    std::copy_n(lo, axes, out.lo.begin());
    std::copy_n(hi, axes, out.hi.begin());
    return out;
  }
  PartArray array_of(const stage::Array& array, const Region& region) {
    const auto size = static_cast<int64_t>(write::bytes_of(array.type));
    const int64_t element = size * array.components;
    const auto* data = static_cast<const std::byte*>(array.data);
    if (array.components == 1 || array.strides[3] == 1)
      return {data, {array.strides[0] * size, array.strides[1] * size, array.strides[2] * size}};
    idx::Point extent{};
    for (size_t a = 0; a < 3; ++a) extent[a] = region.hi[a] - region.lo[a];
    auto& packed =
        packed_.emplace_back(static_cast<size_t>(extent[0] * extent[1] * extent[2] * element));
    std::byte* to = packed.data();
    for (int64_t k = 0; k < extent[2]; ++k)
      for (int64_t j = 0; j < extent[1]; ++j)
        for (int64_t i = 0; i < extent[0]; ++i)
          for (int64_t c = 0; c < array.components; ++c, to += size)
            std::memcpy(to,
                        data + size * (i * array.strides[0] + j * array.strides[1] +
                                       k * array.strides[2] + c * array.strides[3]),
                        static_cast<size_t>(size));
    return {packed.data(), {element, element * extent[0], element * extent[0] * extent[1]}};
  }

  std::vector<SampleBox> boxes_;
  std::deque<Bytes> packed_;
};

}  // namespace pillion::stages::write_idx
