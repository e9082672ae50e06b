// SPDX-License-Identifier: BSD-3-Clause
// The stage `halos`: connected regions above a threshold, from the merge tree of the field, which
// is built once for each publication and then asked about any number of thresholds. Every peer has
// a block with one layer of its neighbours' cells. See README.md here for definitions.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../common/cells.hpp"
#include "../common/relative.hpp"
#include "../common/units.hpp"
#include "build.hpp"
#include "catalogue.hpp"
#include "field_values.hpp"
#include "ordering.hpp"
#include "query.hpp"

namespace pillion::stages::halos {
namespace {

pillion_field_description scalar_on_uniform_mesh(const stage::Setup& setup) {
  const auto field = field_of(setup, "field", 1, Numbers::any);
  expect_equal_cells(field, setup["field"], "a search for halos, which counts cells,");
  if (field.mesh_kind != PILLION_UNIFORM)
    setup["field"].fail("field '" + std::string(field.name) + "' is not on a uniform mesh");
  return field;
}

class Halos final : public stage::Stage {
 public:
  explicit Halos(stage::Setup& setup)
      : name_(setup["field"].text()),
        field_(scalar_on_uniform_mesh(setup)),
        mesh_(field_.mesh),
        thresholds_(all_thresholds(setup["thresholds"])),
        least_(integer_from(setup["minimum_cells"], 1, int64_t{1} << 62)),
        bins_(integer_from(setup["bins"], 1, most_bins / 10)),
        masses_(masses_from(setup["masses"])),
        keeps_tree_(setup["keep_tree"].boolean()),
        input_(setup.input(stage::Input::blocks({name_}).with_ghosts({1, 1, 1}))) {
    if (!stage::is_real(field_.type) && field_.type != PILLION_INT32 &&
        field_.type != PILLION_INT64)
      setup["field"].fail("field '" + name_ +
                          "' has small or unsigned integers; halos are found "
                          "in fields of int32, int64, float32 or float64");
    add_averages(setup, "averages", mesh_, false, averages_);
    add_averages(setup, "mass_averages", mesh_, true, averages_);
    std::vector<std::string> names;
    for (const auto& average : averages_) {
      const auto found = std::find(names.begin(), names.end(), average.field);
      places_.push_back(static_cast<int32_t>(found - names.begin()));
      if (found == names.end()) names.push_back(average.field);
    }
    if (!names.empty()) other_input_ = setup.input(stage::Input::blocks(names));
    setup.memory(3.8);  // the order of the cells, and the tree; measured on noise
    for (size_t i = 0; i < thresholds_.size(); ++i)
      for (const char* what : {"halos_", "halo_mass_function_"})
        setup.product(what + ending(i) + ".csv");
    if (!keeps_tree_) return;
    setup.product("halo_tree_" + name_ + ".csv");
    setup.memory(2.2);  // pairs on their way into order, columns and rows; measured on noise
  }

  void run(stage::Step& step) override {
    const auto search = [&](auto type) { this->search<decltype(type)>(step); };
    switch (field_.type) {
      case PILLION_INT32: return search(int32_t{});
      case PILLION_INT64: return search(int64_t{});
      case PILLION_FLOAT32: return search(float{});
      default: return search(double{});
    }
  }

 private:
  template <class T>
  void search(stage::Step& step) {
    const MeshScale scale(field_, step.coarsening(mesh_));
    const Piece piece = piece_of(step);
    const bool is_empty = step.block_count(input_) == 0;
    const FieldValues<T> values(piece, is_empty ? nullptr : step.block(input_).values<T>(0).data());
    const auto total = total_of(step, values.sum(), values.finite());
    expect_thresholds(step, piece, values.data(), total.mean);
    const Tree tree = build_tree(step, scale.grid(), piece, values.data());
    Query query(scale.grid(), piece, values.data(), tree, summands(step));
    query.prepare(lowest_boundary(total));
    for (size_t i = 0; i < thresholds_.size(); ++i) {
      const auto [boundary, peak] = thresholds_[i].of(total.mean);
      const auto mine = query.halos(boundary, peak);
      write(step, scale, total, i, ordered_halos(step, mine, averages_.size(), least_));
    }
    if (keeps_tree_) step.write(tree_table(step, scale, total, ordered_pairs(step, tree)));
  }

  [[nodiscard]] Piece piece_of(const stage::Step& step) const {
    Piece piece;
    if (step.block_count(input_) == 0) return piece;
    const auto block = step.block(input_);
    for (size_t d = 0; d < 3; ++d) {
      piece.lo[d] = block.lo()[d];
      piece.hi[d] = block.hi()[d];
      piece.inner_lo[d] = block.inner_lo()[d];
      piece.inner_hi[d] = block.inner_hi()[d];
    }
    if (piece.size() >= most_cells)
      throw Error(ErrorCode::Stage, "a rank has " + std::to_string(piece.size()) +
                                        " cells, but `halos` can count 2147483647; "
                                        "use more ranks");
    return piece;
  }

  [[nodiscard]] static Total total_of(const stage::Step& step, const CompensatedSum& sum,
                                      int64_t finite) {
    const Words all = all_words(
        step, {std::bit_cast<int64_t>(sum.high()), std::bit_cast<int64_t>(sum.low()), finite});
    Total out;
    CompensatedSum whole;
    for (size_t r = 0; r < all.size(); r += 3) {
      whole.add(CompensatedSum(std::bit_cast<double>(all[r]), std::bit_cast<double>(all[r + 1])));
      out.finite += all[r + 2];
    }
    out.mean = out.finite == 0 ? 0 : whole.value() / static_cast<double>(out.finite);
    return out;
  }

  /// Throws if thresholds are multiples of a mean that is none.
  template <class V>
  void expect_thresholds(const stage::Step& step, const Piece& piece, const V* values,
                         double mean) const {
    if (std::all_of(thresholds_.begin(), thresholds_.end(),
                    [](const Thresholds& t) { return t.are_absolute; }))
      return;
    ValueSizes sizes;
    for (int64_t z = piece.inner_lo[2]; z < piece.inner_hi[2]; ++z)
      for (int64_t y = piece.inner_lo[1]; y < piece.inner_hi[1]; ++y) {
        const V* row = values + piece.offset({piece.inner_lo[0], y, z});
        for (int64_t i = 0; i < piece.inner_hi[0] - piece.inner_lo[0]; ++i)
          sizes.add(static_cast<double>(row[i]));
      }
    sizes.combine(step);
    if (sizes.squares == 0) return;  // zero everywhere, and one halo, as any uniform field
    const std::string remedy = "give them in its units, as {boundary: …, peak: …, absolute: true}";
    expect_mean(mean, sizes, name_, "a threshold without `absolute`", remedy);
    if (mean < 0)
      throw Error(ErrorCode::Stage, "field '" + name_ + "' has the mean " + short_text(mean) +
                                        ", and thresholds are multiples of a mean above 0; " +
                                        remedy);
  }

  [[nodiscard]] double lowest_boundary(const Total& total) const {
    double lowest = thresholds_.front().of(total.mean).first;
    for (const auto& thresholds : thresholds_)
      lowest = std::min(lowest, thresholds.of(total.mean).first);
    return lowest;
  }

  [[nodiscard]] std::vector<Summand> summands(const stage::Step& step) const {
    std::vector<Summand> out;
    for (size_t i = 0; i < averages_.size(); ++i) {
      Summand summand;
      summand.component = averages_[i].component;
      summand.is_weighted = averages_[i].is_weighted;
      if (step.block_count(*other_input_) > 0) {
        const auto block = step.block(*other_input_);
        summand.array = block[places_[i]];
        summand.lo = {block.lo()[0], block.lo()[1], block.lo()[2]};
      }
      out.push_back(summand);
    }
    return out;
  }

  /// Of the names of tables for one of the thresholds.
  [[nodiscard]] std::string ending(size_t number) const {
    return thresholds_.size() == 1 ? name_ : name_ + "_" + std::to_string(number);
  }

  void write(const stage::Step& step, const MeshScale& scale, const Total& total, size_t number,
             const HaloShares& halos) const {
    const Units length(step.units(mesh_)), units(step.units(name_));
    const auto columns = Columns(scale, halos, averages_.size());
    stage::Table table("halos_" + ending(number), "Halos of " + name_);
    const auto mass_units = (units * length.power(field_.axes)).text();
    columns.add_to(table, units.text(), length.text(), mass_units);
    for (size_t a = 0; a < averages_.size(); ++a)
      table.column(averages_[a].column, step.units(averages_[a].field),
                   columns.average(a, averages_[a].is_weighted));
    describe(table, step, scale, total, thresholds_[number]);
    step.write(table.per_step().in_parts());

    const auto function = mass_function(step, columns.mass);
    auto masses =
        mass_table("halo_mass_function_" + ending(number), "Halo mass function of " + name_,
                   function, scale.volume(), mass_units, length.power(-field_.axes).text());
    describe(masses, step, scale, total, thresholds_[number]);
    step.write(masses.per_step());
  }

  /// Of the halos of all peers.
  [[nodiscard]] MassFunction mass_function(const stage::Step& step,
                                           const std::vector<double>& masses) const {
    auto extremes = extremes_of(masses);
    step.min(std::span(&extremes.first, 1));
    step.max(std::span(&extremes.second, 1));
    const auto [lowest, highest] = masses_ ? *masses_ : range_of(extremes);
    MassFunction function(lowest, highest, bins_);
    for (const double mass : masses) function.add(mass);
    step.sum(std::span(function.counts));
    int64_t outside[] = {function.below, function.above};
    step.sum(std::span<int64_t>(outside));
    function.below = outside[0];
    function.above = outside[1];
    return function;
  }

  void describe(stage::Table& table, const stage::Step& step, const MeshScale& scale,
                const Total& total, const Thresholds& thresholds) const {
    const auto units = step.units(name_);
    const auto [boundary, peak] = thresholds.of(total.mean);
    table.attribute("boundary", boundary, units).attribute("peak_threshold", peak, units);
    table.attribute("mean", total.mean, units);
    table.attribute("minimum_cells", static_cast<double>(least_));
    table.attribute("not_finite", static_cast<double>(scale.grid().count() - total.finite));
    if (scale.factor() > 1) table.attribute("coarsening", static_cast<double>(scale.all_axes()));
  }

  [[nodiscard]] stage::Table tree_table(const stage::Step& step, const MeshScale& scale,
                                        const Total& total, const std::vector<Pair>& pairs) const {
    auto table = table_of_pairs("halo_tree_" + name_, "Merge tree of " + name_, scale, pairs,
                                step.units(name_), step.units(mesh_));
    table.attribute("mean", total.mean, step.units(name_));
    if (scale.factor() > 1) table.attribute("coarsening", static_cast<double>(scale.all_axes()));
    return table.per_step().in_parts();
  }

  std::string name_;
  pillion_field_description field_;
  std::string mesh_;
  std::vector<Thresholds> thresholds_;
  int64_t least_, bins_;
  std::optional<std::pair<double, double>> masses_;
  bool keeps_tree_;
  int32_t input_;
  std::vector<Average> averages_;
  std::vector<int32_t> places_;  ///< of their fields in the other input
  std::optional<int32_t> other_input_;
};

const pillion_parameter parameters[] = {
    {"field", "field", nullptr, "Scalar field on a uniform mesh, a density as a rule"},
    {"thresholds", "list of pairs", nullptr,
     "[BOUNDARY, PEAK] in multiples of the mean, or {boundary: …, peak: …, absolute: true}"},
    {"averages", "list of fields", "[]", "Fields to average over the cells of each halo"},
    {"mass_averages", "list of fields", "[]", "The same, weighted with the field"},
    {"minimum_cells", "integer", "1", "Halos of fewer cells are left out"},
    {"bins", "integer", "20", "Number of bins of the mass function, of equal ratio"},
    {"masses", "[lowest, highest] | auto", "auto",
     "Ends of the first and last bin; auto: of the masses of each step"},
    {"keep_tree", "true | false", "false",
     "Also write the merge tree, to be asked for other thresholds later"},
};

}  // namespace
}  // namespace pillion::stages::halos

PILLION_STAGE(pillion::stages::halos::Halos, "halos",
              "Halos and their mass function from a merge tree", pillion::stages::halos::parameters)
