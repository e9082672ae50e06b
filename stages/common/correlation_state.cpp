// SPDX-License-Identifier: BSD-3-Clause
// Saving and restoring a time correlation: sums by lag are alike on every peer, origins belong to
// the owners of their keys, so another number of ranks can take them up.
#include <span>

#include "time_correlation.hpp"

namespace pillion::stages {

namespace {

std::string name_of(size_t origin, size_t species) {
  return "origin_" + std::to_string(origin) + "_" + std::to_string(species);
}

void save_track(const stage::State& state, const std::string& name, const Track& track) {
  std::vector<double> records;
  records.reserve(3 * track.keys->size());
  for (size_t i = 0; i < track.keys->size(); ++i)
    for (const auto& component : *track.vectors) records.push_back(component[i]);
  state.save(name, std::span<const int64_t>(*track.keys), std::span<const double>(records), 3);
}

Track load_track(const stage::State& state, const std::string& name) {
  auto [keys, records] = state.load<double>(name, 3);
  Vectors vectors;
  for (size_t i = 0; i < records.size(); ++i) vectors[i % 3].push_back(records[i]);
  return {std::make_shared<const std::vector<int64_t>>(std::move(keys)),
          std::make_shared<const Vectors>(std::move(vectors))};
}

}  // namespace

void TimeCorrelation::save(stage::State& state) const {
  std::vector<int64_t> steps, coarse;
  std::vector<double> times, centres;
  for (const auto& origin : origins_.kept()) {
    for (size_t s = 0; s < origin.tracks.size(); ++s)
      save_track(state, name_of(steps.size(), s), origin.tracks[s]);
    steps.push_back(origin.step);
    times.push_back(origin.time);
    coarse.push_back(origin.coarse ? 1 : 0);
    for (const auto& c : origin.centres) centres.insert(centres.end(), c.begin(), c.end());
  }
  const auto text = options_.signature();
  state.save("options", std::vector<char>(text.begin(), text.end()));
  state.save("origin_steps", steps);
  state.save("origin_times", times);
  state.save("origin_coarse", coarse);
  state.save("origin_centres", centres);
  state.save("coarse_left_out", std::vector<int64_t>{coarse_left_out_});
  state.save("dimensions", std::vector<int64_t>{dimensions_});
  state.save("lag_integers", lags_.integers());
  state.save("lag_reals", lags_.reals());
}

void TimeCorrelation::restore(stage::State& state) {
  const auto saved = state.load<char>("options");
  const std::string text(saved.begin(), saved.end());
  if (text != options_.signature())
    throw Error(ErrorCode::Configuration, "saved with other parameters (" + text +
                                              ") than those of this run (" + options_.signature() +
                                              "); what they gave cannot be continued");
  const auto steps = state.load<int64_t>("origin_steps");
  const auto times = state.load<double>("origin_times");
  const auto coarse = state.load<int64_t>("origin_coarse");
  const auto centres = state.load<double>("origin_centres");
  const size_t species = options_.selection.size();
  for (size_t n = 0; n < steps.size(); ++n) {
    Origin origin{steps[n], times[n], {}, {}, coarse.at(n) != 0};
    for (size_t s = 0; s < species; ++s) {
      const double* c = &centres.at(3 * (n * species + s));
      origin.centres.push_back({c[0], c[1], c[2]});
      origin.tracks.push_back(load_track(state, name_of(n, s)));
    }
    origins_.add(std::move(origin));
  }
  coarse_left_out_ = state.load<int64_t>("coarse_left_out").at(0);
  dimensions_ = static_cast<int>(state.load<int64_t>("dimensions").at(0));
  lags_.restore(state.load<int64_t>("lag_integers"), state.load<double>("lag_reals"));
}

}  // namespace pillion::stages
