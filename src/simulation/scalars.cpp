// SPDX-License-Identifier: BSD-3-Clause
// Scalars, as a simulation rank sets them, and what ranks find to differ.
#include "simulation/scalars.hpp"

#include "base/default_environment.hpp"
#include "base/text.hpp"
#include "run/run.hpp"
#include "simulation/sharing.hpp"

namespace pillion::simulation {

Scalars::Scalars(run::Run& run) : run_(run), set_(run.scalars.size()) {}

void Scalars::set(const std::string& name, double value, Sharing* noting) {
  const auto& catalogue = run_.configuration.catalogue;
  if (const auto number = catalogue.find_scalar(name)) {
    run_.scalars[*number] = value;
    set_[*number] = true;
    return;
  }
  const base::DefaultEnvironment environment;  // messages are written
  const auto text = fmt::format("the catalogue has no scalar '{}'{}; add it to 'scalars:'", name,
                                base::suggestion(name, catalogue.scalar_names()));
  if (noting != nullptr) noting->note_unknown_scalar(name, text);
  else if (unknown_.insert(name).second) run_.log.warn("rank {}: {}", run_.side.rank(), text);
}

void Scalars::check(const std::set<size_t>& used) const {
  for (const size_t number : used)
    if (!set_[number])
      base::fail(ErrorCode::Sharing,
                 "a condition uses scalar '{}', which the program has not set; call "
                 "pillion_set_scalar before the first step",
                 run_.configuration.catalogue.scalars()[number].name);
}

void Scalars::report(const std::optional<StepNumbers::Difference>& difference) {
  if (!difference || !differ_.insert(difference->name).second) return;
  run_.warn(fmt::format(
      "simulation ranks differ in {}: from {} to {}; conditions use the value of the first rank. "
      "Give the same value on every rank",
      difference->name, difference->least, difference->greatest));
}

}  // namespace pillion::simulation
