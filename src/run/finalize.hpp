// SPDX-License-Identifier: BSD-3-Clause
// How long MPI_Finalize may take for sidecars of the same job that have not finished by the
// deadline of close: they may be writing their products, or hang, and an allocation of many nodes
// waits.
#pragma once

#include <algorithm>

namespace pillion::run {

/// Seconds for sidecars that are late at the end of the program, given the `deadline` of its waits:
/// a minute, or as long as a call may wait if that is longer; never more than 60 deadlines, so that
/// a run with a short one ends soon.
inline double patience_at_finalize(double deadline) {
  constexpr double minute = 60, most_deadlines = 60;
  return std::min(most_deadlines * deadline, std::max(minute, deadline));
}

}  // namespace pillion::run
