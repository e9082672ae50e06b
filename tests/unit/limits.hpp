// SPDX-License-Identifier: BSD-3-Clause
// How long unit tests wait for another thread or process. tests/limits.py, under which ctest runs
// them, says in the environment how slow the machine is.
#pragma once

#include <cstdlib>

#include "base/clock.hpp"

namespace pillion::unit {

/// When a wait that takes no second on a quiet machine is a hang.
inline double hang_begins(double seconds = 20) {
  const char* text = std::getenv("PILLION_LIMIT_FACTOR");
  const double factor = text == nullptr ? 1 : std::atof(text);
  return base::monotonic_seconds() + seconds * (factor > 1 ? factor : 1);
}

}  // namespace pillion::unit
