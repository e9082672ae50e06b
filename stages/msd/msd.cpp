// SPDX-License-Identifier: BSD-3-Clause
// The stage `msd`: mean squared displacement of each species over several time origins, from
// positions unwrapped by image flags. See README.md here for definitions.
#include "msd.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/lags.hpp"
#include "../common/particles.hpp"
#include "../common/time_correlation.hpp"
#include "../common/units.hpp"

namespace pillion::stages::msd {
namespace {

CorrelationOptions options_of(const stage::Setup& setup) {
  if (!setup["image"]) return correlation_options(setup, "position", "");
  particle_field(setup, "image", 3, Numbers::integer,
                 "it counts the periods that each particle has crossed; say `image: null` if "
                 "positions are not wrapped");
  return correlation_options(setup, "position", "image");
}

class Msd final : public TimeCorrelation {
 public:
  explicit Msd(stage::Setup& setup)
      : TimeCorrelation(options_of(setup), TrackOf::positions, &squared_displacements) {
    setup.product("msd.csv");
  }

 private:
  void prepare(const stage::Step& step, const stage::Block& block, Particles& p) const override {
    if (options().extra < 0) return;
    const auto image = read_vectors(block[options().extra], block.owned());
    unwrap(p.vector, image, step.domain(options().mesh));
  }

  static std::string growth(double exponent) {
    if (std::isnan(exponent)) return "none";
    std::array<char, 64> text{};
    (void)std::snprintf(text.data(), text.size(), "lag^%.2f", exponent);
    return text.data();
  }

  [[nodiscard]] stage::Table table(const stage::Step& step) const override {
    const Units length(step.units(options().vector)), time(step.units("time"));
    const auto units = length.power(2).text();
    const auto lag = lag_times(lags());
    std::string others;
    stage::Table out("msd", "Mean squared displacement");
    add_lags(out, lags(), time.text());
    for (size_t s = 0; s < options().selection.size(); ++s) {
      const auto& name = options().selection.name(s);
      const auto total = add_means(out, lags(), s, "msd", name, units);
      const double diffusion = diffusion_from_slope(lag, total, dimensions());
      const double exponent = growth_exponent(lag, total);
      if (std::isfinite(exponent)) out.attribute("exponent_" + name, exponent);
      if (!std::isfinite(diffusion)) continue;
      if (is_diffusive(exponent))
        out.attribute("diffusion_" + name, diffusion, (length.power(2) / time).text());
      else others += (others.empty() ? "" : ", ") + name + " as " + growth(exponent);
    }
    if (!others.empty())
      out.attribute("no_diffusion_coefficient",
                    "the displacement does not grow as that of diffusion, with an exponent of 0.75 "
                    "to 1.25, but of " +
                        others);
    describe(out);
    return out;
  }
};

const pillion_parameter parameters[] = {
    {"species", "map of lists of types", "null",
     "Named sets of particle types, {O: [2], ion: [3, 4]}; null is one species `all`"},
    {"position", "field", "position", "Positions, three components"},
    {"image", "field", "image",
     "Periods crossed along each edge, three integers; null if positions are not wrapped"},
    {"mass", "field", "mass", "Masses; read only for centres of mass"},
    {"type", "field", "type", "Integer types; read only if there are species"},
    {"molecule", "field", "molecule", "Molecule ids, 0 for none; read only per molecule"},
    {"id", "field", "id", "Unique integer ids of particles"},
    {"per", "particle | molecule", "particle",
     "What moves: each particle, or the centre of mass of each molecule's particles of the "
     "species"},
    {"origins", "first | {every, keep}", "{every: 10, keep: 16}",
     "Time origins: the first publication, or a new one at every n-th, the latest kept"},
    {"remove_drift", "none | species | system", "none",
     "Centre of mass whose displacement is taken off"},
    {"when_ids_change", "begin_again | fail", "begin_again",
     "If ids belong to other particles than before: renumbered, or used again"},
    {"lags", "integer", "10000", "Most distinct lags kept"},
};

}  // namespace
}  // namespace pillion::stages::msd

PILLION_STAGE(pillion::stages::msd::Msd, "msd", "Mean squared displacement of species of particles",
              pillion::stages::msd::parameters)
