// SPDX-License-Identifier: BSD-3-Clause
// The stage `lyman_alpha`: what a distant light would lose to the neutral hydrogen of the mesh, on
// all lines of sight along chosen axes: optical depth and flux, their distributions, the mean flux,
// and the power spectrum along the lines. See README.md here for definitions.
#include <cmath>
#include <cstdint>
#include <optional>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../common/options.hpp"
#include "../common/sums.hpp"
#include "../common/tally.hpp"
#include "lyman_options.hpp"
#include "lyman_tables.hpp"
#include "sightlines.hpp"

namespace pillion::stages::lyman_alpha {
namespace {

/// One axis: its pencils, and the field that is made on them.
struct Axis {
  int32_t number, input, output;
};

class LymanAlpha final : public stage::Stage {
 public:
  explicit LymanAlpha(stage::Setup& setup)
      : gas_(setup),
        cosmology_(cosmology_of(setup)),
        epoch_(epoch_of(setup)),
        tau_bins_(tau_bins_of(setup)),
        flux_bins_(0, 1, integer_from(setup["flux_bins"], 1, most_bins), Scale::linear) {
    if (const auto units = setup["length_units"]) length_units_ = units.text();
    check_length(setup);
    if (const auto wanted = setup["mean_flux"]) {
      mean_flux_ = wanted.real();
      if (!(*mean_flux_ > 0 && *mean_flux_ < 1))
        wanted.fail("expected a number between 0 and 1, not " + wanted.text());
    }
    for (const int32_t axis : axes_of(setup["axes"], gas_.mesh())) add_axis(setup, axis);
    // Optical depths along one axis at a time, each a double.
    setup.memory(8 / bytes_of(setup, gas_.fields()) / static_cast<double>(axes_.size()));
    // Every n-th cell of a line has other distributions and another spectrum than the line.
    setup.require_whole_publications();
    history_ = FluxHistory(axes_.size());
    setup.product("lyman_alpha.csv");
    setup.survives_failures();
    for (const char letter : letters())
      for (const char* what : {"tau", "flux", "power"})
        setup.product(std::string("lyman_alpha_") + what + "_" + letter + ".csv");
  }

  void run(stage::Step& step) override {
    const double scale_factor = epoch_.scale_at(step.time());
    if (!(scale_factor > 0) || !std::isfinite(scale_factor))
      throw Error(ErrorCode::Stage,
                  "time " + std::to_string(step.time()) + " of step " +
                      std::to_string(step.index()) + " cannot be a " +
                      (epoch_.meaning == Epoch::redshift ? "redshift" : "scale factor"));
    history_.begin(step, 1 / scale_factor - 1);
    for (const auto& axis : axes_) look_along(step, axis, scale_factor);
    history_.end();
    if (step.products_due()) step.write(history_.table());
  }
  void finish(stage::Step& step) override {
    if (!history_.empty()) step.write(history_.table());
  }

  void save(stage::State& state) const override { history_.save(state); }
  void restore(stage::State& state) override { history_.restore(state); }

 private:
  void check_length(const stage::Setup& setup) const {
    const auto given = setup["length_units"];
    const std::string units =
        given ? length_units_ : setup.mesh(gas_.mesh().mesh, setup["neutral_hydrogen"]).units;
    // Units of a mesh may be known only when it runs.
    if ((given || !units.empty()) && !megaparsecs(units, cosmology_.h))
      (given ? given : setup["neutral_hydrogen"]).fail(unknown_length(units));
  }

  void add_axis(const stage::Setup& setup, int32_t axis) {
    // A field is made on whole pencils; without one, what is here already stays where it is.
    auto pencils = stage::Input::pencils(gas_.fields(), axis);
    if (!setup["into"]) pencils = std::move(pencils).in_parts();
    Axis out{axis, setup.input(pencils), -1};
    if (const auto into = setup["into"]) {
      if (!into.is_map()) into.fail("expected the name of a field, such as {tau: optical_depth}");
      only_keys(into, {"tau"});
      if (const auto tau = into.find("tau"))
        out.output =
            setup.output_on(tau.text() + "_" + "xyz"[axis], out.input, PILLION_FLOAT64, 1, "");
    }
    axes_.push_back(out);
  }

  [[nodiscard]] std::string letters() const {
    std::string out;
    for (const auto& axis : axes_) out += "xyz"[axis.number];
    return out;
  }

  [[nodiscard]] Sight sight_along(const stage::Step& step, int axis, double scale_factor) const {
    const auto& mesh = gas_.mesh();
    const auto units = length_units_.empty() ? step.units(gas_.mesh_name()) : length_units_;
    const auto unit = megaparsecs(units, cosmology_.h);
    if (!unit) throw Error(ErrorCode::Stage, unknown_length(units));
    return sight_of(cosmology_, scale_factor, mesh.cells[axis], mesh.length[axis] * *unit);
  }

  void look_along(const stage::Step& step, const Axis& axis, double scale_factor) {
    Measured found{"xyz"[axis.number], sight_along(step, axis.number, scale_factor)};
    auto lines = gas_.absorb(step, axis.input, axis.number, found.sight);
    std::vector<int64_t> counts = {lines.count, lines.not_usable};
    step.sum(std::span(counts));
    found.lines = counts[0];
    found.not_usable = counts[1];
    rescale(step, lines.tau, found);
    if (axis.output >= 0) lines.give(step, axis.output, axis.input, axis.number);
    Tally taus({tau_bins_}), fluxes({flux_bins_});
    taus.add(lines.tau);
    for (double& t : lines.tau) t = std::exp(-t);
    fluxes.add(lines.tau);
    taus.combine(step);
    fluxes.combine(step);
    history_.add(found);
    step.write(table_of(taus, "tau", found));
    step.write(table_of(fluxes, "flux", found));
    step.write(power_table(step, lines, found));
  }

  /// Means over all lines of all peers of exp(-A tau) and A tau exp(-A tau).
  static MeanFlux mean_flux(const stage::Step& step, const std::vector<double>& tau, double factor,
                            double pixels) {
    const auto size = static_cast<int64_t>(tau.size());
    std::vector<double> sums = {
        sum_of(size, [&](int64_t i) { return std::exp(-factor * tau[i]); }),
        sum_of(size, [&](int64_t i) { return factor * tau[i] * std::exp(-factor * tau[i]); })};
    step.sum(std::span(sums));
    return {sums[0] / pixels, sums[1] / pixels};
  }

  void rescale(const stage::Step& step, std::vector<double>& tau, Measured& found) const {
    const auto pixels = static_cast<double>(found.lines * found.sight.cells);
    if (mean_flux_) {
      const auto factor =
          rescaling_for(*mean_flux_, [&](double a) { return mean_flux(step, tau, a, pixels); });
      if (!factor)
        throw Error(ErrorCode::Stage,
                    "no factor brings the mean flux along " + std::string(1, found.axis) + " to " +
                        std::to_string(*mean_flux_) + " at step " + std::to_string(step.index()) +
                        ": there is next to no neutral hydrogen on too many lines of sight");
      found.rescaling = *factor;
      for (double& t : tau) t *= *factor;
    }
    found.mean_flux = mean_flux(step, tau, 1, pixels).flux;
  }

  [[nodiscard]] stage::Table power_table(const stage::Step& step, const Sightlines& lines,
                                         const Measured& found) const {
    LinePower power(found.sight.cells);
    for (int64_t line = 0; line < lines.count; ++line) power.add(lines.of(line));
    step.sum(std::span(power.sums()));
    return table_of(power.sums(), found);
  }

  Gas gas_;
  Cosmology cosmology_;
  Epoch epoch_;
  Bins tau_bins_, flux_bins_;
  std::string length_units_;  ///< "": those of the mesh
  std::optional<double> mean_flux_;
  std::vector<Axis> axes_;
  FluxHistory history_{0};
};

const pillion_parameter parameters[] = {
    {"neutral_hydrogen", "field", nullptr, "Proper number density of neutral hydrogen"},
    {"temperature", "field", nullptr, "Temperature of the gas"},
    {"velocity", "field", nullptr, "Peculiar velocity, proper; a component per axis of space"},
    {"omega_m", "number", nullptr, "Density parameter of matter"},
    {"h", "number", nullptr, "Hubble's constant over 100 km/s/Mpc"},
    {"omega_lambda", "number", "null", "Density parameter of dark energy; 1 - omega_m if left out"},
    {"time_is", "scale_factor | redshift", "null", "What the time of a step is"},
    {"redshift", "number", "null", "Redshift of every step, if its time says nothing of it"},
    {"axes", "list of x, y, z", "null", "Axes to look along; all of the mesh if left out"},
    {"length_units", "units of length", "null",
     "What comoving lengths of the mesh are in, if not in its own units"},
    {"mean_flux", "number", "null", "Multiply optical depths so that the mean flux is this"},
    {"tau_bins", "integer", "200", "Bins of optical depth, of equal ratio"},
    {"tau_range", "[lowest, highest]", "[0.01, 1000]", "Ends of the first and last of them"},
    {"flux_bins", "integer", "50", "Bins of flux, from 0 to 1"},
    {"into", "{tau: name}", "null",
     "Make the optical depth a field for later stages: NAME_x, NAME_y, NAME_z"},
};

}  // namespace
}  // namespace pillion::stages::lyman_alpha

PILLION_STAGE(pillion::stages::lyman_alpha::LymanAlpha, "lyman_alpha",
              "Lyman-alpha optical depth and flux along axes: distributions, mean, power spectrum",
              pillion::stages::lyman_alpha::parameters)
