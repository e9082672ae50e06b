// SPDX-License-Identifier: BSD-3-Clause
// Each number three times: the first rank's, the greatest, and the greatest negation.
#include "simulation/step_numbers.hpp"

#include <cmath>
#include <limits>

namespace pillion::simulation {

namespace {

// A maximum ignores what is not a number, or not, as it likes.
constexpr double not_a_number = std::numeric_limits<double>::lowest();

double encoded(double value) { return std::isnan(value) ? not_a_number : value; }
double decoded(double value) {
  return value == not_a_number ? std::numeric_limits<double>::quiet_NaN() : value;
}

}  // namespace

void StepNumbers::put(bool is_first_rank, int64_t step, double time,
                      std::span<const double> scalars, std::span<double> to) {
  auto at = to.begin();
  const auto put = [&](double value) {
    const double number = encoded(value);
    *at++ = is_first_rank ? number : -std::numeric_limits<double>::infinity();
    *at++ = number;
    *at++ = -number;
  };
  put(static_cast<double>(step));
  put(time);
  for (const double value : scalars) put(value);
}

void StepNumbers::read(std::span<const double> reduced) {
  step_ = static_cast<int64_t>(reduced[0]);
  time_ = decoded(reduced[3]);
  scalars_.clear();
  for (size_t n = 6; n < reduced.size(); n += 3) scalars_.push_back(decoded(reduced[n]));
}

std::optional<StepNumbers::Difference> StepNumbers::difference(std::span<const double> reduced,
                                                               const model::Catalogue& catalogue) {
  for (size_t n = 0; n < reduced.size() / 3; ++n) {
    const double greatest = reduced[3 * n + 1], least = -reduced[3 * n + 2];
    if (greatest == least) continue;
    const std::string name = n == 0   ? "the step"
                             : n == 1 ? "the time"
                                      : "scalar '" + catalogue.scalars()[n - 2].name + "'";
    return Difference{name, decoded(least), decoded(greatest)};
  }
  return {};
}

}  // namespace pillion::simulation
