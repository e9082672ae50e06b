// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of schedules.
#include "model/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"

namespace pillion::model {
namespace {

// Relative to the interval: how far before a multiple a time still counts as on it. Times are sums
// of many small steps, so they miss multiples by round-off.
constexpr double slack_of_interval = 1e-6;
// The same relative to a time of a program that counts in single precision, and the most that it
// may be of the interval, where such times are as far apart as multiples.
constexpr double slack_of_single = 1.0 / (1 << 22), most_slack = 0.25;

double slack_in_single(const Schedule& schedule, double time) {
  const double of_time = slack_of_single * std::abs(time) / schedule.interval;
  return std::clamp(of_time, slack_of_interval, most_slack);
}

bool is_single(double time) {
  constexpr double most = std::numeric_limits<float>::max();
  return std::abs(time) < most && static_cast<double>(static_cast<float>(time)) == time;
}

/// Of a time, relative to the interval.
double slack(const Schedule& schedule, double time) {
  return is_single(time) ? slack_in_single(schedule, time) : slack_of_interval;
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

std::string Schedule::text() const {
  return in_time() ? fmt::format("{} time", interval) : fmt::format("{} steps", steps);
}

Schedule read_schedule(const base::Value& value) {
  const std::string& text = value.as_text();
  if (text.find("\xc2\xa0") != std::string::npos)
    value.fail(fmt::format("'{}' holds a no-break space; write a blank", text));
  const auto blank = text.find_first_of(" \t");
  const auto number = std::string_view(text).substr(0, blank);
  const auto unit = blank == std::string::npos ? std::string_view("steps")
                                               : base::trim(std::string_view(text).substr(blank));
  Schedule schedule;
  if (unit == "steps" || unit == "step") {
    const auto steps = base::parse_integer(number);
    if (!steps || *steps < 1)
      value.fail(fmt::format("'every' needs a positive whole number of steps, found '{}'", text));
    schedule.steps = *steps;
  } else if (unit == "time") {
    const auto interval = base::parse_real(number);
    if (!interval || !(*interval > 0) || !std::isfinite(*interval))
      value.fail(fmt::format("'every' needs a positive time, found '{}'", text));
    schedule.interval = *interval;
  } else {
    value.fail(
        fmt::format("'every' is a number of steps or an amount of time, e.g. '50 steps' or "
                    "'0.5 time', found '{}'",
                    text));
  }
  return schedule;
}

int64_t multiple_reached(const Schedule& schedule, double time) {
  return static_cast<int64_t>(std::floor(time / schedule.interval + slack(schedule, time)));
}

bool is_due(const Schedule& schedule, const Reached& reached, int64_t step, double time) {
  if (!schedule.in_time()) return step % schedule.steps == 0;
  const int64_t now = multiple_reached(schedule, time);
  if (reached) return now > *reached;
  return time <= (static_cast<double>(now) + slack(schedule, time)) * schedule.interval;
}

Reached advance(const Schedule& schedule, const Reached& reached, double time) {
  if (!schedule.in_time()) return {};
  const int64_t now = multiple_reached(schedule, time);
  return reached && *reached > now ? reached : Reached(now);
}

Horizon horizon(const Schedule& schedule, const Reached& reached, int64_t step) {
  Horizon next;
  if (!schedule.in_time()) next.step = (floor_div(step, schedule.steps) + 1) * schedule.steps;
  else if (reached) {
    const auto multiple = static_cast<double>(*reached + 1);
    const double most = slack_in_single(schedule, multiple * schedule.interval);
    next.time = (multiple - 2 * most) * schedule.interval;
  } else next.time = -std::numeric_limits<double>::infinity();
  return next;
}

}  // namespace pillion::model
