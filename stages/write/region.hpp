// SPDX-License-Identifier: BSD-3-Clause
// A part of the mesh that is written instead of all of it.
#pragma once

#include <algorithm>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/options.hpp"
#include "box.hpp"

namespace pillion::stages {

/// From the parameter `region`, [first, one past the last] cell along each axis; else the mesh.
inline Region region_from(const stage::Value& value, const pillion_field_description& mesh) {
  Region out{{0, 0, 0}, {1, 1, 1}};
  std::copy_n(mesh.cells, mesh.axes, out.hi.begin());
  if (!value) return out;
  if (!value.is_list() || value.size() != mesh.axes)
    value.fail("expected [first, one past the last] cell for each of the " +
               std::to_string(mesh.axes) + " axes");
  for (int64_t d = 0; d < mesh.axes; ++d) {
    const auto a = static_cast<size_t>(d);
    const auto range = value[d];
    if (!range.is_list() || range.size() != 2)
      range.fail("expected [first, one past the last] cell");
    out.lo[a] = integer_from(range[0], 0);
    out.hi[a] = integer_from(range[1], 1);
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

}  // namespace pillion::stages
