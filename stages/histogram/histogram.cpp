// SPDX-License-Identifier: BSD-3-Clause
// The stage `histogram`: how the values of a field are distributed, by themselves or against those
// of another, one table per publication. Counts are integers over all ranks, so they do not depend
// on how many there are.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../common/cells.hpp"
#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "../common/relative.hpp"
#include "../common/tally.hpp"
#include "../common/volumes.hpp"
#include "exact_mean.hpp"
#include "histogram_table.hpp"

namespace pillion::stages::histogram {
namespace {

class Histogram final : public stage::Stage {
 public:
  explicit Histogram(stage::Setup& setup) {
    quantities_.emplace_back(setup, setup.parameters());
    if (const auto against = setup["against"]) add_second(setup, against);
    show_.per_dex = setup["per_dex"].boolean();
    show_.means = setup["means"].boolean();
    if (show_.per_dex)
      for (const auto& quantity : quantities_)
        if (quantity.scale() != Scale::log)
          setup["per_dex"].fail("a density per decade needs `scale: log`, and bins of '" +
                                quantity.called() + "' are linear");
    std::vector<std::string> fields;
    for (const auto& quantity : quantities_) fields.push_back(quantity.field_name());
    if (const auto weight = setup["weight"]) {
      show_.weight = weight.text();
      const auto field = field_of(setup, "weight", 1, Numbers::any);
      same_places(weight, field);
      fields.push_back(show_.weight);
    }
    values_ = static_cast<int32_t>(fields.size());
    weighing_.emplace(setup, quantities_[0].field(), setup["field"], by_mesh_);
    weighing_->add_to(fields);
    input_ = setup.input(stage::Input::as_shared(fields).with_levels().with_points());
    setup.product(table_name(quantities_) + ".csv");
    int64_t bins = 1;
    for (const auto& quantity : quantities_) bins *= quantity.bin_count();
    constexpr int64_t bytes_of_bin = 200;  // sums, the table's columns, and its text
    setup.memory(0, bytes_of_bin * bins);
  }

  void run(stage::Step& step) override {
    weighing_->find_shared(step, input_);
    const auto means = means_of(step);
    std::vector<Bins> bins;
    const auto [least, greatest] = extremes(step, means);
    for (size_t q = 0; q < quantities_.size(); ++q)
      bins.push_back(quantities_[q].bins(least[q], greatest[q]));
    Tally tally(std::move(bins), !show_.weight.empty(), show_.means, is_by_volume());
    for_each(step, means, [&](std::span<const std::span<double>> all, const Volumes& volumes) {
      const auto values = all.first(quantities_.size());
      const auto weights = show_.weight.empty() ? std::span<double>() : all.back();
      if (volumes.times > 0) tally.add(values, weights, volumes.of_values, volumes.each);
      else if (volumes.times == 0) tally.weigh(values, volumes.of_values);
      else tally.take_back(values, weights);
    });
    tally.combine(step);
    auto out = table_of(step, quantities_, tally, show_);
    for (size_t q = 0; q < quantities_.size(); ++q)
      if (quantities_[q].relative())
        out.attribute(q == 0 ? "mean_of_field" : "mean_of_against", means[q],
                      step.units(quantities_[q].field_name()));
    const int64_t coarsening = one_of(step, quantities_[0].mesh(), quantities_[0].field());
    if (coarsening > 1) out.attribute("coarsening", static_cast<double>(coarsening));
    step.write(out.per_step());
  }

 private:
  void add_second(const stage::Setup& setup, const stage::Value& against) {
    if (!against.is_map())
      against.fail("expected a map, such as {field: density, range: [0.01, 100], scale: log}");
    only_keys(against, {"field", "bins", "range", "scale", "component", "relative_to_mean"});
    quantities_.emplace_back(setup, against);
    const auto& [first, second] = std::pair(quantities_[0], quantities_[1]);
    same_places(against.find("field"), second.field());
    if (first.called() == second.called())
      against.fail("'" + first.called() + "' cannot be counted against itself");
    if (first.bin_count() * second.bin_count() > 10'000'000)
      against.fail("more than ten million bins");
  }
  void same_places(const stage::Value& place, const pillion_field_description& field) const {
    const std::string name = field.name, first = quantities_[0].field_name();
    if (field.mesh != quantities_[0].mesh())
      place.fail("field '" + name + "' is on mesh '" + field.mesh + "', and '" + first + "' on '" +
                 quantities_[0].mesh() + "'; they must be on one");
    if (field.centering != quantities_[0].field().centering)
      place.fail("fields '" + name + "' and '" + first +
                 "': one has values at points and the other in each element; both must have the "
                 "same centering");
    if (points_of(field) != points_of(quantities_[0].field()) ||
        field.quadrature != quantities_[0].field().quadrature)
      place.fail("fields '" + name + "' and '" + first +
                 "' have values at different points of elements");
  }

  /// Of some values: all have the same if there is no span.
  struct Volumes {
    std::span<const double> of_values;
    double each = 1;
    int32_t times = 1;  ///< that each counts: 0 of values within cells, -1 if it counts elsewhere
    [[nodiscard]] double operator[](size_t i) const {
      return times < 0 ? 0 : of_values.empty() ? each : of_values[i];
    }
  };

  /// Calls use(spans, volumes) with values of all quantities, over their means if these are wanted,
  /// and weights, of some cells or particles at a time.
  template <class F>
  void for_each(const stage::Step& step, const std::vector<double>& means, F&& use) const {
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      const auto sizes = weighing_->of(step, block);
      std::vector<stage::Array> arrays;
      for (int32_t f = 0; f < values_; ++f)
        arrays.push_back(unfolded(block[f], quantities_[0].field()));
      std::vector<Selected> selected;
      for (size_t f = 0; f < arrays.size(); ++f)
        selected.push_back({&arrays[f], f == quantities_.size() ? 0 : quantities_[f].component()});
      weighing_->for_each(step, block, selected, sizes,
                          [&](std::vector<std::span<double>>& values,
                              std::span<const double> volumes, int32_t times) {
                            for (size_t q = 0; q < means.size(); ++q)
                              if (quantities_[q].relative())
                                for (double& v : values[q]) v /= means[q];
                            use(values, Volumes{volumes, sizes.each, times});
                          });
    }
  }

  /// Of the quantities that are wanted relative to it, by volume; the same bits on any number of
  /// ranks. It is the mean of values times volumes over that of volumes.
  [[nodiscard]] std::vector<double> means_of(const stage::Step& step) const {
    const auto relative = [](const Quantity& q) { return q.relative(); };
    if (std::none_of(quantities_.begin(), quantities_.end(), relative)) return {};
    const size_t count = quantities_.size();
    const bool by_volume = is_by_volume();
    std::vector<double> size(2 * count);  // of products, and of volumes
    for_each(step, {}, [&](std::span<const std::span<double>> values, const Volumes& volumes) {
      for (size_t q = 0; q < count; ++q)
        for (size_t i = 0; i < values[q].size(); ++i) {
          if (!std::isfinite(values[q][i])) continue;
          size[q] = std::max(size[q], std::abs(values[q][i] * volumes[i]));
          size[count + q] = std::max(size[count + q], volumes[i]);
        }
    });
    step.max(std::span(size));
    std::vector<ExactMean> sums(size.begin(), size.end());
    std::vector<ValueSizes> sizes(count);
    for_each(step, {}, [&](std::span<const std::span<double>> values, const Volumes& volumes) {
      for (size_t q = 0; q < count; ++q)
        for (size_t i = 0; i < values[q].size(); ++i) {
          sizes[q].add(values[q][i], volumes[i]);
          if (!std::isfinite(values[q][i])) continue;
          sums[q].add(values[q][i] * volumes[i]);
          if (by_volume) sums[count + q].add(volumes[i]);
        }
    });
    std::vector<double> means;
    for (size_t s = 0; s < (by_volume ? 2 : 1) * count; ++s) step.sum(sums[s].integers());
    for (size_t q = 0; q < count; ++q) {
      const double volume = sums[count + q].mean();
      means.push_back(volume > 0 ? sums[q].mean() / volume : sums[q].mean());
      sizes[q].combine(step);
      if (quantities_[q].relative())
        expect_mean(means[q], sizes[q], quantities_[q].called(), "`relative_to_mean`",
                    "leave that out, and give the range in the field's units");
    }
    return means;
  }

  /// Whether cells have different volumes.
  [[nodiscard]] bool is_by_volume() const { return weighing_->is_by_volume(); }

  using Extremes = std::pair<std::vector<double>, std::vector<double>>;

  /// Of the values that count for automatic ranges, if there are any.
  [[nodiscard]] Extremes extremes(const stage::Step& step, const std::vector<double>& means) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Extremes out{std::vector<double>(quantities_.size(), infinity),
                 std::vector<double>(quantities_.size(), -infinity)};
    const auto automatic = [](const Quantity& q) { return q.automatic(); };
    if (std::none_of(quantities_.begin(), quantities_.end(), automatic)) return out;
    auto& [least, greatest] = out;
    for_each(step, means, [&](std::span<const std::span<double>> values, const Volumes&) {
      for (size_t q = 0; q < least.size(); ++q)
        for (const double v : values[q])
          if (quantities_[q].counts_for_range(v)) {
            least[q] = std::min(least[q], v);
            greatest[q] = std::max(greatest[q], v);
          }
    });
    step.min(std::span(least));
    step.max(std::span(greatest));
    return out;
  }

  std::vector<Quantity> quantities_;  ///< the field, and what it is counted against
  Shown show_;
  VolumesByMesh by_mesh_;
  std::optional<Weighing> weighing_;
  int32_t input_ = 0, values_ = 0;  ///< how many fields are counted or added up
};

const pillion_parameter parameters[] = {
    {"field", "field", nullptr, "Field whose values are counted"},
    {"bins", "integer", "100", "Number of bins"},
    {"range", "[lowest, highest] | auto", nullptr,
     "Ends of the first and last bin; auto: of the values of each step"},
    {"scale", "linear | log", "linear", "Bins of equal width or of equal ratio"},
    {"component", "integer | magnitude", "null", "Component of a vector field, or its magnitude"},
    {"relative_to_mean", "true | false", "false", "Divide the values by their mean first"},
    {"against", "map", "null",
     "Count in two dimensions, against another field of the mesh: its `field`, `bins`, `range`, "
     "`scale`, `component` and `relative_to_mean`"},
    {"weight", "field", "null", "Field that is added up in each bin, beside the counts"},
    {"per_dex", "true | false", "false", "Also a density per decade; for logarithmic bins"},
    {"means", "true | false", "false", "Also the mean of the values in each bin"},
};

}  // namespace
}  // namespace pillion::stages::histogram

PILLION_STAGE(pillion::stages::histogram::Histogram, "histogram",
              "Distribution of a field's values", pillion::stages::histogram::parameters)
