// SPDX-License-Identifier: BSD-3-Clause
// Which part of an array a rank reads. Parts are as even as whole planes allow, and as contiguous
// in the file as can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace replay {

/// A half-open range of indices, from the slowest to the fastest.
struct Part {
  std::vector<int64_t> lo, hi;
  [[nodiscard]] int64_t count() const;
  bool operator==(const Part&) const = default;
};

/// The part of one of `ranks` ranks: planes along the slowest index or, where ranks outnumber
/// these, a piece of a plane, cut in the same way. It may be empty. All parts together are the
/// array.
Part part_of(const std::vector<int64_t>& extents, int rank, int ranks);

/// Whole rows of a part that lie in the file one after the other.
struct Run {
  int64_t begin;  ///< in the array, in values
  int64_t count;
};

/// A part as runs, in the order in which its values follow each other.
std::vector<Run> runs_of(const std::vector<int64_t>& extents, const Part& part);

}  // namespace replay
