// SPDX-License-Identifier: BSD-3-Clause
// Calendar time as text.
#include "base/clock.hpp"

#include <ctime>

namespace pillion::base {

std::string format_utc(double calendar_seconds) {
  const auto whole = static_cast<std::time_t>(calendar_seconds);
  std::tm parts{};
  gmtime_r(&whole, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace pillion::base
