// SPDX-License-Identifier: BSD-3-Clause
// Whether boxes cover a region, each cell once. The region is halved at faces of boxes until few
// are left in each part, and a part that has more cells than it should, or fewer, is followed to
// the place where that is so. Boxes that fit together cost about n log n.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "layout/boxes.hpp"

namespace pillion::layout {

/// What is wrong with a list of boxes in a region.
struct CoverageFault {
  /// Two boxes that have cells of the region in common, by their numbers in the list, the lower one
  /// first. Found if there is any such pair.
  std::optional<std::pair<size_t, size_t>> overlap;
  /// A part of the region that no box covers. Found if there is no overlap, but a hole.
  std::optional<Box> hole;

  [[nodiscard]] bool any() const { return overlap.has_value() || hole.has_value(); }
};

/// Looks for two boxes that overlap within the region, then for a hole in it. Boxes may reach
/// beyond the region, and may be empty. The same list gives the same answer. Not collective.
CoverageFault find_coverage_fault(const std::vector<Box>& boxes, const Box& region);

}  // namespace pillion::layout
