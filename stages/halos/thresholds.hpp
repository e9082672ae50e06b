// SPDX-License-Identifier: BSD-3-Clause
// Reading the parameters of `halos`, and adding up the field for its mean without losing a digit:
// thresholds are multiples of it, and on which side of one a cell lies must not depend on how the
// mesh was cut.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <pillion/stage.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../common/elements.hpp"
#include "../common/options.hpp"

namespace pillion::stages {

/// A sum of doubles kept as two of them, good for about 30 digits.
class ExactSum {
 public:
  ExactSum() = default;
  ExactSum(double high, double low) : high_(high), low_(low) {}
  void add(double value) {
    const double sum = high_ + value, of_value = sum - high_;
    low_ += (high_ - (sum - of_value)) + (value - of_value);
    high_ = sum;
  }
  void add(const ExactSum& other) {
    add(other.high_);
    low_ += other.low_;
  }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double value() const { return high_ + low_; }

 private:
  double high_ = 0, low_ = 0;
};

/// Which components of the cells at or above `boundary` are halos: those whose maximum is at or
/// above `peak`.
struct Thresholds {
  double boundary, peak;
  bool are_absolute = false;  ///< else multiples of the mean

  /// Both in the field's units.
  [[nodiscard]] std::pair<double, double> of(double mean) const {
    const double unit = are_absolute ? 1 : mean;
    return {boundary * unit, peak * unit};
  }
};

inline Thresholds thresholds_from(const stage::Value& value) {
  Thresholds out{};
  if (value.is_map()) {
    only_keys(value, {"boundary", "peak", "absolute"});
    if (!value.find("boundary") || !value.find("peak"))
      value.fail("thresholds need `boundary` and `peak`");
    out = {value.find("boundary").real(), value.find("peak").real()};
    if (const auto absolute = value.find("absolute")) out.are_absolute = absolute.boolean();
  } else {
    if (!value.is_list() || value.size() != 2)
      value.fail(
          "expected a pair [BOUNDARY, PEAK], or {boundary: …, peak: …, absolute: true}, not " +
          written(value));
    out = {value[0].real(), value[1].real()};
  }
  if (!std::isfinite(out.boundary) || !std::isfinite(out.peak))
    value.fail("thresholds must be finite");
  if (out.peak < out.boundary)
    value.fail("the peak's threshold is below that of the boundary in " + written(value));
  return out;
}

inline std::vector<Thresholds> all_thresholds(const stage::Value& list) {
  if (!list.is_list() || list.size() == 0)
    list.fail("expected a list of pairs of thresholds, such as [[82, 200]]");
  std::vector<Thresholds> out;
  for (int64_t i = 0; i < list.size(); ++i) out.push_back(thresholds_from(list[i]));
  return out;
}

/// A component of another field whose average over each halo is wanted.
struct Average {
  std::string column, field;
  int32_t component;
  bool is_weighted;
};

/// Those of a parameter, on the mesh of the halos.
inline void add_averages(const stage::Setup& setup, const std::string& parameter,
                         const std::string& mesh, bool is_weighted, std::vector<Average>& out) {
  const auto list = setup[parameter];
  if (!list) return;
  std::set<std::string> seen;
  for (const auto& name : list.texts()) {
    const auto field = setup.field(name, list);
    if (!seen.insert(name).second) list.fail("field '" + name + "' is listed twice");
    if (mesh != field.mesh)
      list.fail("field '" + name + "' is on mesh '" + field.mesh + "', halos are on '" + mesh +
                "'");
    for (int32_t c = 0; c < field.components; ++c)
      out.push_back(
          {(is_weighted ? "mass_average_" : "average_") + name + ending_of(c, field.components),
           name, c, is_weighted});
  }
}

/// [lowest, highest] for the bins of masses, or nothing for `auto`.
inline std::optional<std::pair<double, double>> masses_from(const stage::Value& value) {
  if (value.is_scalar()) {
    choice(value, {"auto"});
    return {};
  }
  if (!value.is_list() || value.size() != 2) value.fail("expected `auto` or [LOWEST, HIGHEST]");
  const std::pair<double, double> range = {value[0].real(), value[1].real()};
  if (!(range.first > 0 && range.first < range.second && std::isfinite(range.second)))
    value.fail("masses must be above 0 and finite, the lower one first");
  return range;
}

}  // namespace pillion::stages
