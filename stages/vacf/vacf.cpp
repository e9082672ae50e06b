// SPDX-License-Identifier: BSD-3-Clause
// The stage `vacf`: velocity autocorrelation of each species over several time origins, and its
// running integral. See README.md here for definitions.
#include "vacf.hpp"

#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/lags.hpp"
#include "../common/time_correlation.hpp"
#include "../common/units.hpp"

namespace pillion::stages::vacf {
namespace {

class Vacf final : public TimeCorrelation {
 public:
  explicit Vacf(stage::Setup& setup)
      : TimeCorrelation(correlation_options(setup, "velocity", ""), TrackOf::velocities,
                        &velocity_products) {
    setup.product("vacf.csv");
  }

 private:
  static void add_to(std::string& list, const std::string& word, const char* between = ", ") {
    list += (list.empty() ? "" : between) + word;
  }

  [[nodiscard]] stage::Table table(const stage::Step& step) const override {
    const Units velocity(step.units(options().vector)), time(step.units("time"));
    const auto square = velocity.power(2);
    const auto lag = lag_times(lags());
    stage::Table out("vacf", "Velocity autocorrelation");
    add_lags(out, lags(), time.text());
    std::string coarse, correlated, timeless;
    for (size_t s = 0; s < options().selection.size(); ++s) {
      const auto& name = options().selection.name(s);
      const auto total = add_means(out, lags(), s, "vacf", name, square.text());
      const auto diffusion = diffusion_so_far(lag, total, dimensions());
      out.column("diffusion_" + name, (square * time).text(), diffusion);
      if (lag.size() < 2) continue;
      if (!resolved(total)) add_to(coarse, name);
      else if (!has_decayed(total)) add_to(correlated, name);
      else if (!(lag.back() > 0)) add_to(timeless, name);
      else out.attribute("diffusion_" + name, diffusion.back(), (square * time).text());
    }
    std::string why;
    const auto say = [&](const char* reason, const std::string& names) {
      if (!names.empty()) add_to(why, reason + names, "; ");
    };
    say("sampled too seldom for an integral: ", coarse);
    say("more than a tenth of the correlation is left at the longest lag: ", correlated);
    say("the time of all lags is 0: ", timeless);
    if (!why.empty()) out.attribute("no_diffusion_coefficient", why);
    describe(out);
    return out;
  }
};

const pillion_parameter parameters[] = {
    {"species", "map of lists of types", "null",
     "Named sets of particle types, {O: [2], ion: [3, 4]}; null is one species `all`"},
    {"velocity", "field", "velocity", "Velocities, three components"},
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
     "Centre of mass whose velocity is taken off"},
    {"when_ids_change", "begin_again | fail", "begin_again",
     "If ids belong to other particles than before: renumbered, or used again"},
    {"lags", "integer", "10000", "Most distinct lags kept"},
};

}  // namespace
}  // namespace pillion::stages::vacf

PILLION_STAGE(pillion::stages::vacf::Vacf, "vacf",
              "Velocity autocorrelation of species of particles", pillion::stages::vacf::parameters)
