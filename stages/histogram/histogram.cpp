// SPDX-License-Identifier: BSD-3-Clause
// The stage `histogram`: how the values of a field are distributed, one table per publication.
// Counts are integers over all ranks, so they do not depend on how many there are.
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../common/coarse.hpp"
#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "../common/units.hpp"
#include "bins.hpp"

namespace {

using namespace pillion;
using namespace pillion::stages;

using Range = std::pair<double, double>;

/// Which component of a field; a field that has but one needs no word.
int32_t component_of(const stage::Value& value, const pillion_field_description& field) {
  if (!value) {
    if (field.components == 1) return 0;
    value.fail("field '" + std::string(field.name) + "' has " + std::to_string(field.components) +
               " components; say which: `component: 0` or `component: magnitude`");
  }
  if (value.text() == "magnitude") return magnitude_of_all;
  const int64_t component = integer_from(value, 0);
  if (component >= field.components)
    value.fail("component " + std::to_string(component) + " is none of the " +
               std::to_string(field.components) + " of field '" + field.name + "'");
  return static_cast<int32_t>(component);
}

/// [lo, hi], or nothing for `auto`.
std::optional<Range> range_of(const stage::Value& value, Scale scale) {
  if (value.is_scalar()) {
    choice(value, {"auto"});
    return {};
  }
  if (!value.is_list() || value.size() != 2) value.fail("expected `auto` or [LOWEST, HIGHEST]");
  const Range range = {value[0].real(), value[1].real()};
  if (!(std::isfinite(range.second - range.first) && range.first < range.second))
    value.fail("the range must be finite, its lower end first");
  if (scale == Scale::log && range.first <= 0) value.fail("a logarithmic range must begin above 0");
  return range;
}

class Histogram final : public stage::Stage {
 public:
  explicit Histogram(stage::Setup& setup)
      : name_(setup["field"].text()),
        field_(field_of(setup, "field", 0, Numbers::any)),
        mesh_(field_.mesh),
        component_(component_of(setup["component"], field_)),
        bins_(integer_from(setup["bins"], 1)),
        scale_(static_cast<Scale>(choice(setup["scale"], {"linear", "log"}))),
        range_(range_of(setup["range"], scale_)),
        input_(setup.input(stage::Input::as_shared({name_}))) {
    if (range_ && !Bins(range_->first, range_->second, bins_, scale_).distinct())
      setup["bins"].fail("so many bins in this range have edges that coincide");
  }

  void run(stage::Step& step) override {
    const auto [lo, hi] = range_ ? *range_ : seen(step);
    const Bins bins(lo, hi, bins_, scale_);
    Tally tally(bins);
    for_each_value(step, [&](std::span<const double> values) { tally.add(values); });
    step.sum(tally.all());
    step.write(table(step, bins, tally));
  }

 private:
  template <class F>
  void for_each_value(const stage::Step& step, F&& use) const {
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      for_each_stretch(block[0].raw(), extent_of(block.raw(), field_), component_, use);
    }
  }

  /// The range of this step's finite values; with a logarithmic scale, of the positive ones.
  [[nodiscard]] Range seen(const stage::Step& step) const {
    double least = std::numeric_limits<double>::infinity(), greatest = -least;
    for_each_value(step, [&](std::span<const double> values) {
      for (const double v : values)
        if (std::isfinite(v) && (v > 0 || scale_ == Scale::linear)) {
          least = std::min(least, v);
          greatest = std::max(greatest, v);
        }
    });
    step.min(std::span(&least, 1));
    step.max(std::span(&greatest, 1));
    return automatic_range(least, greatest, scale_);
  }

  [[nodiscard]] stage::Table table(const stage::Step& step, const Bins& bins,
                                   const Tally& tally) const {
    const Units units(step.units(name_));
    const auto& edges = bins.edges();
    const auto what = name_ + ending_of(component_, field_.components);
    stage::Table out("histogram_" + what, "Distribution of " + what);
    out.column("lower", units.text(), std::vector<double>(edges.begin(), edges.end() - 1));
    out.column("upper", units.text(), std::vector<double>(edges.begin() + 1, edges.end()));
    out.column("count", "", tally.in_bins());
    out.column("density", units.power(-1).text(), density_of(tally.in_bins(), edges));
    out.attribute("below", static_cast<double>(tally.below()));
    out.attribute("above", static_cast<double>(tally.above()));
    out.attribute("not_finite", static_cast<double>(tally.not_finite()));
    out.attribute("scale", scale_ == Scale::log ? "log" : "linear");
    const int64_t coarsening = one_of(step, mesh_, field_);
    if (coarsening > 1) out.attribute("coarsening", static_cast<double>(coarsening));
    return out.per_step();
  }

  std::string name_;
  pillion_field_description field_;
  std::string mesh_;
  int32_t component_;
  int64_t bins_;
  Scale scale_;
  std::optional<Range> range_;
  int32_t input_;
};

const pillion_parameter parameters[] = {
    {"field", "field", nullptr, "Field whose values are counted"},
    {"bins", "integer", "100", "Number of bins"},
    {"range", "[lowest, highest] | auto", nullptr,
     "Ends of the first and last bin; auto: of the values of each step"},
    {"scale", "linear | log", "linear", "Bins of equal width or of equal ratio"},
    {"component", "integer | magnitude", "null", "Component of a vector field, or its magnitude"},
};

}  // namespace

PILLION_STAGE(Histogram, "histogram", "Distribution of a field's values", parameters)
