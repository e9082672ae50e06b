// SPDX-License-Identifier: BSD-3-Clause
// The quantity whose values a histogram counts, and the table of the counts.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <pillion/stage.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../common/cells.hpp"
#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "../common/tally.hpp"
#include "../common/units.hpp"

namespace pillion::stages::histogram {

// One axis of a histogram: which values are counted along it, in which bins, and whether they are
// divided by their mean first. `histogram` has one of its own parameters and, in two dimensions,
// another below `against`.

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
        bins_(map.find("bins") ? integer_from(map.find("bins"), 1, 10 * most_bins) : 100),
        scale_(map.find("scale") ? static_cast<Scale>(choice(map.find("scale"), {"linear", "log"}))
                                 : Scale::linear),
        range_(range_of(required(map, "range"), scale_)),
        relative_(map.find("relative_to_mean") && map.find("relative_to_mean").boolean()) {
    if (range_ && !Bins(range_->first, range_->second, bins_, scale_).distinct())
      (map.find("bins") ? map.find("bins") : map)
          .fail("too many bins for this range: their edges coincide");
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

// The product of `histogram`. In one dimension a row is a bin. In two, rows are pairs of bins,
// those of `against` changing fastest, and what lies outside has rows too, with infinite edges: so
// every value is in one row, and sums over rows are the distribution of one field alone.

/// What there is beside counts and densities.
struct Shown {
  std::string weight;  ///< a field, or ""
  bool per_dex = false, means = false;
};

/// Lower and upper edges of each slot of one axis.
struct SlotEdges {
  std::vector<double> lower, upper;

  SlotEdges(const Tally& tally, size_t axis) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto& edges = tally.axes()[axis].edges();
    for (size_t s = 0; s < tally.slots(); ++s) {
      const size_t at = tally.along(s, axis);
      lower.push_back(at == 0 ? -infinity : edges[at - 1]);
      upper.push_back(at == edges.size() ? infinity : edges[at]);
    }
  }
};

/// Columns of slots, less those outside if there is one axis.
class HistogramRows {
 public:
  HistogramRows(stage::Table& table, const Tally& tally) : table_(table), tally_(tally) {}

  template <class T>
  void add(const std::string& name, const std::string& units, const std::vector<T>& all,
           int32_t role = PILLION_COLUMN_VALUE) {
    table_.column(name, units, tally_.axes().size() == 1 ? of_bins(tally_, all) : all).role(role);
  }
  template <class T>
  void add_densities(const std::string& prefix, const Units& over, std::span<const T> amounts,
                     bool per_dex) {
    add(prefix + "density", over.power(-1).text(), density_of(tally_, amounts, units_of));
    if (per_dex) add(prefix + "density_per_dex", "", density_of(tally_, amounts, decades_of));
  }

 private:
  stage::Table& table_;
  const Tally& tally_;
};

inline void describe_axis(stage::Table& table, const std::string& prefix, const Quantity& quantity,
                          const Tally& tally, size_t axis) {
  table.attribute(prefix + "below", static_cast<double>(tally.below(axis)));
  table.attribute(prefix + "above", static_cast<double>(tally.above(axis)));
  table.attribute(prefix + "scale", quantity.scale() == Scale::log ? "log" : "linear");
}

inline std::string table_name(const std::vector<Quantity>& quantities) {
  return "histogram_" + quantities[0].called() +
         (quantities.size() == 2 ? "_against_" + quantities[1].called() : "");
}

inline stage::Table table_of(const stage::Step& step, const std::vector<Quantity>& quantities,
                             const Tally& tally, const Shown& shown) {
  const bool plane = quantities.size() == 2;
  stage::Table out(table_name(quantities), "Distribution of " + quantities[0].called() +
                                               (plane ? " against " + quantities[1].called() : ""));
  HistogramRows rows(out, tally);
  Units over;
  for (size_t a = 0; a < quantities.size(); ++a) {
    const SlotEdges edges(tally, a);
    const auto units = quantities[a].units(step);
    const std::string prefix = a == 0 ? "" : "against_";
    rows.add(prefix + "lower", units.text(), edges.lower);
    rows.add(prefix + "upper", units.text(), edges.upper);
    over = over * units;
  }
  const auto counts = tally.counts();
  rows.add("count", "", std::vector<int64_t>(counts.begin(), counts.end()), PILLION_COLUMN_COUNT);
  rows.add_densities("", over, counts, shown.per_dex);
  if (!shown.weight.empty()) {
    const auto weights = tally.weights();
    rows.add("weight", step.units(shown.weight),
             std::vector<double>(weights.begin(), weights.end()));
    rows.add_densities("weighted_", over, weights, shown.per_dex);
  }
  if (const auto volumes = tally.volumes(); !volumes.empty()) {
    rows.add("volume", volume_units(step.mesh(quantities[0].mesh())).text(),
             std::vector<double>(volumes.begin(), volumes.end()), PILLION_COLUMN_WEIGHT);
    rows.add_densities("volume_", over, volumes, shown.per_dex);
  }
  if (shown.means)
    for (size_t a = 0; a < quantities.size(); ++a)
      rows.add(a == 0 ? "mean" : "against_mean", quantities[a].units(step).text(), tally.means(a));
  describe_axis(out, "", quantities[0], tally, 0);
  out.attribute("not_finite", static_cast<double>(tally.not_finite()));
  if (plane) {
    describe_axis(out, "against_", quantities[1], tally, 1);
    out.attribute("against", quantities[1].called());
  }
  if (!shown.weight.empty() && tally.weights_not_finite() > 0)
    out.attribute("weights_not_finite", static_cast<double>(tally.weights_not_finite()));
  return out;
}

}  // namespace pillion::stages::histogram
