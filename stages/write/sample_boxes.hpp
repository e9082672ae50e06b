// SPDX-License-Identifier: BSD-3-Clause
// The boxes that a peer has of a publication, as the writer takes them. Values stay where they are,
// unless the components of an element lie apart.
#pragma once

#include <cstring>
#include <deque>
#include <pillion/stage.hpp>
#include <vector>

#include "../common/messages.hpp"
#include "box.hpp"
#include "fields.hpp"

namespace pillion::stages {

class SampleBoxes {
 public:
  /// Of an input as shared, each block is a box; of one in parts, boxes may have several blocks.
  SampleBoxes(const stage::Step& step, int32_t input, int32_t axes, bool in_parts) {
    for (int32_t b = 0; b < step.block_count(input); ++b) {
      const auto block = step.block(input, b);
      if (block.count() == 0) continue;
      const Region region = region_of(block.lo(), block.hi(), axes);
      const Region whole = in_parts ? region_of(block.inner_lo(), block.inner_hi(), axes) : region;
      auto at = boxes_.end();
      if (in_parts)
        at = std::find_if(boxes_.begin(), boxes_.end(),
                          [&](const SampleBox& box) { return box.shape.lo == whole.lo; });
      if (at == boxes_.end())
        at = boxes_.insert(at, SampleBox{{whole.lo, whole.hi, whole.lo, whole.hi, {}}, {}});
      at->shape.parts.push_back(region);
      auto& arrays = at->arrays.emplace_back();
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
    const auto size = static_cast<int64_t>(bytes_of(array.type));
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

}  // namespace pillion::stages
