// SPDX-License-Identifier: BSD-3-Clause
// The stage `matter`: total matter from gas and dark matter, in units of the mean, as a new field.
// Each is taken in units of its own mean, so it does not matter in which units they are.
#include <array>
#include <cmath>
#include <pillion/stage.hpp>
#include <span>
#include <string>

#include "../common/cells.hpp"
#include "../common/options.hpp"
#include "../common/relative.hpp"

namespace pillion::stages::matter {
namespace {

class Matter final : public stage::Stage {
 public:
  explicit Matter(stage::Setup& setup)
      : gas_(field_of(setup, "gas", 1, Numbers::real)),
        dark_(field_of(setup, "dark_matter", 1, Numbers::real)),
        fraction_(setup["baryon_fraction"].real()),
        mean_(mean_of(setup["mean"])) {
    if (std::string(gas_.mesh) != dark_.mesh)
      setup["dark_matter"].fail("gas and dark matter are on different meshes");
    expect_equal_cells(gas_, setup["gas"], "a mean that counts each cell once");
    if (!(fraction_ >= 0 && fraction_ <= 1))
      setup["baryon_fraction"].fail("the fraction of baryons is from 0 to 1");
    input_ = setup.input(stage::Input::blocks({setup["gas"].text(), setup["dark_matter"].text()}));
    output_ = setup.output_on(setup["into"].text(), input_, PILLION_FLOAT64, 1, units_of(setup));
  }

  void run(stage::Step& step) override {
    double sums[3] = {0, 0, 0};
    std::array<ValueSizes, 2> sizes;
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      sums[0] += sum(block, 0, sizes[0]);
      sums[1] += sum(block, 1, sizes[1]);
      sums[2] += static_cast<double>(block.count());
    }
    step.sum(std::span<double>(sums));
    expect_density(step, sums[0] / sums[2], sizes[0], "gas", gas_.name);
    expect_density(step, sums[1] / sums[2], sizes[1], "dark_matter", dark_.name);
    const double of_gas = mean_ * fraction_ * sums[2] / sums[0];
    const double of_dark = mean_ * (1 - fraction_) * sums[2] / sums[1];
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      auto* out = step.produce<double>(output_, input_, b);
      block[0].visit([&](const auto* gas) {
        for (int64_t i = 0; i < block.count(); ++i) out[i] = of_gas * static_cast<double>(gas[i]);
      });
      block[1].visit([&](const auto* dark) {
        for (int64_t i = 0; i < block.count(); ++i)
          out[i] += of_dark * static_cast<double>(dark[i]);
      });
    }
  }

 private:
  static double mean_of(const stage::Value& value) {
    const double mean = value ? value.real() : 1;
    if (!(mean > 0 && std::isfinite(mean))) value.fail("a mean density is above 0");
    return mean;
  }
  static std::string units_of(const stage::Setup& setup) {
    const auto units = setup["units"];
    if (!units) return "";
    if (!setup["mean"]) units.fail("without `mean` the total has no units");
    return units.text();
  }
  static double sum(const stage::Block& block, int32_t field, ValueSizes& sizes) {
    return block[field].visit([&](const auto* values) {
      double sum = 0;
      for (int64_t i = 0; i < block.count(); ++i) {
        sum += static_cast<double>(values[i]);
        sizes.add(static_cast<double>(values[i]));
      }
      return sum;
    });
  }
  /// Throws unless a density has a mean that the total can be made of. [peers]
  static void expect_density(const stage::Step& step, double mean, ValueSizes& sizes,
                             const std::string& parameter, const std::string& field) {
    sizes.combine(step);
    expect_mean(mean, sizes, field, "the total", "`" + parameter + "` must be a density");
    if (!(mean > 0))
      throw Error(ErrorCode::Stage, "field '" + field + "' has the mean " + short_text(mean) +
                                        "; `" + parameter + "` must be a density, above 0");
  }

  pillion_field_description gas_, dark_;
  double fraction_, mean_;
  int32_t input_ = 0, output_ = 0;
};

const pillion_parameter parameters[] = {
    {"gas", "field", nullptr, "Density of gas, in any units"},
    {"dark_matter", "field", nullptr, "Density of dark matter, in any units"},
    {"baryon_fraction", "number", nullptr, "Omega_b / Omega_m"},
    {"into", "name", nullptr, "Name of the total"},
    {"mean", "number", "null", "Mean of the total; 1 if left out"},
    {"units", "text", "null", "Units of `mean`, and so of the total"},
};

}  // namespace
}  // namespace pillion::stages::matter

PILLION_STAGE(pillion::stages::matter::Matter, "matter",
              "Total matter of gas and dark matter, as a new field",
              pillion::stages::matter::parameters)
