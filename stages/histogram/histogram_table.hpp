// SPDX-License-Identifier: BSD-3-Clause
// The product of `histogram`. In one dimension a row is a bin. In two, rows are pairs of bins,
// those of `against` changing fastest, and what lies outside has rows too, with infinite edges: so
// every value is in one row, and sums over rows are the distribution of one field alone.
#pragma once

#include <cstdint>
#include <limits>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/tally.hpp"
#include "quantity.hpp"

namespace pillion::stages {

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
  void add(const std::string& name, const std::string& units, const std::vector<T>& all) {
    table_.column(name, units, tally_.axes().size() == 1 ? of_bins(tally_, all) : all);
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
  rows.add("count", "", std::vector<int64_t>(counts.begin(), counts.end()));
  rows.add_densities("", over, counts, shown.per_dex);
  if (!shown.weight.empty()) {
    const auto weights = tally.weights();
    rows.add("weight", step.units(shown.weight),
             std::vector<double>(weights.begin(), weights.end()));
    rows.add_densities("weighted_", over, weights, shown.per_dex);
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

}  // namespace pillion::stages
