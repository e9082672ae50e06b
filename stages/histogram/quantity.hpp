// SPDX-License-Identifier: BSD-3-Clause
// One axis of a histogram: which values are counted along it, in which bins, and whether they are
// divided by their mean first. `histogram` has one of its own parameters and, in two dimensions,
// another below `against`.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <pillion/stage.hpp>
#include <string>
#include <utility>

#include "../common/bins.hpp"
#include "../common/component.hpp"
#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "../common/units.hpp"

namespace pillion::stages {

using Range = std::pair<double, double>;

/// [lo, hi], or nothing for `auto`.
inline std::optional<Range> range_of(const stage::Value& value, Scale scale) {
  if (value.is_scalar() && value.text() == "auto") return {};
  if (!value.is_list() || value.size() != 2)
    value.fail("expected `auto` or [LOWEST, HIGHEST], not " + written(value));
  const Range range = {value[0].real(), value[1].real()};
  if (!(std::isfinite(range.second - range.first) && range.first < range.second))
    value.fail("a range must be finite, its lower end first, not " + written(value));
  if (scale == Scale::log && range.first <= 0)
    value.fail("a logarithmic range must begin above 0, not as " + written(value));
  return range;
}

class Quantity {
 public:
  /// From the map that holds `field`, `bins`, `range`, `scale`, `component`, `relative_to_mean`;
  /// only the first and the third must be there.
  Quantity(const stage::Setup& setup, const stage::Value& map)
      : name_(required(map, "field").text()),
        field_(setup.field(name_, map.find("field"))),
        mesh_(field_.mesh),
        component_(component_of(map.find("component"), map, field_)),
        bins_(map.find("bins") ? integer_from(map.find("bins"), 1) : 100),
        scale_(map.find("scale") ? static_cast<Scale>(choice(map.find("scale"), {"linear", "log"}))
                                 : Scale::linear),
        range_(range_of(required(map, "range"), scale_)),
        relative_(map.find("relative_to_mean") && map.find("relative_to_mean").boolean()) {
    if (bins_ > 10'000'000) map.find("bins").fail("more than ten million bins");
    if (range_ && !Bins(range_->first, range_->second, bins_, scale_).distinct())
      (map.find("bins") ? map.find("bins") : map)
          .fail("so many bins in this range have edges that coincide");
  }

  [[nodiscard]] const std::string& field_name() const { return name_; }
  [[nodiscard]] const pillion_field_description& field() const { return field_; }
  [[nodiscard]] const std::string& mesh() const { return mesh_; }
  [[nodiscard]] int32_t component() const { return component_; }
  [[nodiscard]] Scale scale() const { return scale_; }
  [[nodiscard]] int64_t bin_count() const { return bins_; }
  [[nodiscard]] bool relative() const { return relative_; }
  [[nodiscard]] bool automatic() const { return !range_; }
  /// The field's name, with its component.
  [[nodiscard]] std::string called() const {
    return name_ + ending_of(component_, field_.components);
  }
  [[nodiscard]] Units units(const stage::Step& step) const {
    return relative_ ? Units() : Units(step.units(name_));
  }

  /// Bins for values between these, unless the range is given.
  [[nodiscard]] Bins bins(double least, double greatest) const {
    const auto [lo, hi] = range_ ? *range_ : automatic_range(least, greatest, scale_);
    return {lo, hi, bins_, scale_};
  }
  /// Whether a value counts for an automatic range.
  [[nodiscard]] bool counts_for_range(double value) const {
    return std::isfinite(value) && (value > 0 || scale_ == Scale::linear);
  }

 private:
  static stage::Value required(const stage::Value& map, const std::string& key) {
    auto value = map.find(key);
    if (!value) map.fail("`" + key + "` is missing");
    return value;
  }

  std::string name_;
  pillion_field_description field_;
  std::string mesh_;
  int32_t component_;
  int64_t bins_;
  Scale scale_;
  std::optional<Range> range_;
  bool relative_;
};

}  // namespace pillion::stages
