// SPDX-License-Identifier: BSD-3-Clause
// Clocks: one that never goes back for durations, one of the calendar for what crosses processes.
#pragma once

#include <chrono>
#include <string>

namespace pillion::base {

/// Seconds on a clock that never goes back; only differences mean anything.
inline double monotonic_seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// Seconds since 1970, comparable between processes as far as their nodes' clocks agree.
inline double calendar_seconds() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

/// A calendar time as "2026-11-21T08:00:00Z".
std::string format_utc(double calendar_seconds);

}  // namespace pillion::base
