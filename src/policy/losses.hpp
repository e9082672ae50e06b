// SPDX-License-Identifier: BSD-3-Clause
// Publications that sidecars which died had not written. Sidecars of a job of their own save what
// stages have computed now and then; their successors resume from what was saved last, and what
// came after it is lost. Every publication of an analysis is in the end written or lost, so that
// publications = rows + lost in every report, beside the ones that were skipped or dropped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace pillion::policy {

/// What sidecars know of an analysis when they save their state.
struct SavedCounts {
  int64_t ended = 0;  ///< publications that they and their predecessors have finished or lost
  int64_t lost = 0;
};

/// What their successors begin with. `ended` is how many publications were over when the last
/// sidecars died; those after the last saved state are lost.
inline SavedCounts take_over(const std::optional<SavedCounts>& saved, int64_t ended) {
  const SavedCounts before = saved.value_or(SavedCounts{});
  return {ended, before.lost + ended - before.ended};
}

/// The publication that sidecars were working on when they died may have killed them: it is not
/// tried again.
inline void count_interrupted(SavedCounts& counts) {
  ++counts.ended;
  ++counts.lost;
}

/// An analysis when the simulation ends before its sidecars have finished.
struct CountsAtEnd {
  int64_t published = 0;
  int64_t unfinished = 0;  ///< number of these that sidecars have not finished
  int64_t written = 0;     ///< number of publications in its products
  bool sidecars_live = false;
};

/// Sidecars that live finish later what they have, and correct the count in their report. Without
/// sidecars a publication that is in no product is lost, whatever the last ones had computed.
inline int64_t lost_at_end(const CountsAtEnd& counts) {
  if (counts.sidecars_live) return counts.unfinished;
  return std::max<int64_t>(counts.published - std::max<int64_t>(counts.written, 0), 0);
}

}  // namespace pillion::policy
