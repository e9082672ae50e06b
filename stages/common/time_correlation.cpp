// SPDX-License-Identifier: BSD-3-Clause
// A correlation in time of particles: its publications, and what is saved of it.
#include "time_correlation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "particles.hpp"
#include "tracks.hpp"

namespace pillion::stages {

// A publication's way through a time correlation: read, check, keep an origin if one is due, find
// the frames of reference, compare with all origins that are kept. Every failure is agreed on by
// the peers before any state changes.

Particles TimeCorrelation::read(const stage::Step& step) const {
  Particles p;
  if (step.block_count(options_.input) == 0) return p;
  const auto block = step.block(options_.input);
  const int64_t n = block.owned();
  p.key = read_component<int64_t>(block[0], n, 0);
  p.vector = read_vectors(block[1], n);
  if (options_.mass >= 0) p.mass = read_component<double>(block[options_.mass], n, 0);
  p.member.assign(static_cast<size_t>(n), 1);
  if (options_.type >= 0) {
    const auto type = read_component<int64_t>(block[options_.type], n, 0);
    for (int64_t i = 0; i < n; ++i) p.member[i] = options_.selection.membership(type[i]);
  }
  prepare(step, block, p);
  if (dimensions_ == 2) p.vector[2].assign(static_cast<size_t>(n), 0);
  return p;
}

/// Finds what makes a result impossible, the same on every peer.
void TimeCorrelation::check(const stage::Step& step, const Particles& p) {
  const bool molecules = options_.per == Per::molecule;
  std::vector<int64_t> found = {molecules ? 0 : duplicates(p.key), not_positive(p.mass), 0,
                                not_finite(p.vector)};
  if (molecules)
    for (const auto key : p.key) found[2] += key == 0 ? 1 : 0;
  step.sum(std::span(found));
  if (found[0] > 0)
    throw Error(ErrorCode::Stage, "field '" + options_.key + "' has " + std::to_string(found[0]) +
                                      " values that occur more than once at step " +
                                      std::to_string(step.index()) +
                                      "; ids of particles must be unique");
  if (found[1] > 0)
    throw Error(ErrorCode::Stage, std::to_string(found[1]) +
                                      " particles have a mass that is not positive at step " +
                                      std::to_string(step.index()));
  if (found[3] > 0)
    throw Error(ErrorCode::Stage, std::to_string(found[3]) + " particles have a '" +
                                      options_.vector + "' that is not finite at step " +
                                      std::to_string(step.index()));
  without_molecule_ = found[2];
}

/// For each kept origin and species, the centres to take off: of the particles that are there at
/// both times. Where some have left, or come, the centre of all is that of another set, which may
/// lie far away although nothing moved.
std::vector<TimeCorrelation::Reference> TimeCorrelation::references(const stage::Step& step,
                                                                    const Particles& p) const {
  std::vector<Reference> out(origins_.kept().size() * options_.selection.size());
  if (options_.drift == Drift::none) return out;
  std::vector<double> sums;
  for (const auto& origin : origins_.kept()) {
    auto each = weigh_common(p, of_species(origin.tracks));
    if (options_.follows_all()) each.assign(each.size(), weigh_all(p, origin.tracks.back()));
    for (const auto& sum : each) sums.insert(sums.end(), sum.begin(), sum.end());
  }
  step.sum(std::span(sums));
  for (size_t n = 0; n < out.size(); ++n) {
    WeightedTwice sum{};
    std::copy_n(&sums[n * sum.size()], sum.size(), sum.begin());
    out[n] = stages::centres(sum);
  }
  return out;
}

void TimeCorrelation::take_samples(const stage::Step& step,
                                   const std::vector<Reference>& references) {
  if (origins_.kept().empty()) return;
  const size_t species = options_.selection.size();
  std::vector<int64_t> samples;
  std::vector<double> sums;
  auto reference = references.begin();
  for (auto& origin : origins_.kept())
    for (size_t s = 0; s < species; ++s, ++reference) {
      const auto m =
          sample(kernel_, latest_[s], origin.tracks[s], reference->first, reference->second);
      samples.push_back(m.samples);
      sums.insert(sums.end(), m.sum.begin(), m.sum.end());
    }
  step.sum(std::span(samples));
  step.sum(std::span(sums));
  size_t at = 0;
  for (const auto& origin : origins_.kept()) {
    std::vector<Moment> moments;
    for (size_t s = 0; s < species; ++s, ++at)
      moments.push_back({samples[at], {sums[3 * at], sums[3 * at + 1], sums[3 * at + 2]}});
    lags_.add(step.index() - origin.step, step.time() - origin.time, moments);
  }
}

Motion TimeCorrelation::motion(const stage::Step& step, const Snapshot& now) const {
  Motion out = motion_of(of_species(now), of_species(latest_),
                         continuity_.limit(step.time() - latest_time_));
  std::vector<int64_t> counts{out.common, out.gone, out.beyond};
  std::vector<double> sums{out.squares, out.products, out.now, out.then}, largest{out.largest};
  step.sum(std::span(counts));
  step.sum(std::span(sums));
  step.max(std::span(largest));
  return {counts[0], counts[1], sums[0], sums[1], sums[2], sums[3], largest[0], counts[2]};
}

/// Whether origins begin again, since ids do not belong to the particles that had them before.
bool TimeCorrelation::watch(const stage::Step& step, const Snapshot& now) {
  const auto motion = this->motion(step, now);
  const double interval = step.time() - latest_time_;
  if (!continuity_.are_the_same(motion, interval)) {
    const std::string text =
        "at step " + std::to_string(step.index()) + " particles of mesh '" + options_.mesh +
        "' are not the ones that had their ids before: all of them jump" +
        (motion.gone > 0 ? ", and " + std::to_string(motion.gone) + " ids are gone" : "") +
        ", so they were renumbered (in LAMMPS use `delete_atoms … compress no`, and no "
        "reset_atoms)";
    if (options_.fails_if_ids_change)
      throw Error(ErrorCode::Stage, text + "; `when_ids_change: begin_again` starts again there");
    step.warn("renumbered", text + "; time origins begin again there");
    origins_.clear();
    ++begun_again_;
    return true;
  }
  const auto domain = step.domain(options_.mesh);
  const double spacing = std::pow(
      volume(domain) / static_cast<double>(std::max<int64_t>(motion.common, 1)), 1.0 / dimensions_);
  const double reach = continuity_.reach(interval, spacing);
  if (motion.largest > reach) forget(step, now, reach);
  else continuity_.add(motion, interval);
  return false;
}

/// Takes particles out of all origins that have an id now which was another's.
void TimeCorrelation::forget(const stage::Step& step, const Snapshot& now, double reach) {
  const auto others = changed_beyond(reach, of_species(now), of_species(latest_));
  std::vector<int64_t> count{static_cast<int64_t>(others.size())};
  std::vector<int64_t> first{others.empty() ? std::numeric_limits<int64_t>::max() : others[0]};
  step.sum(std::span(count));
  step.min(std::span(first));
  const std::string text = "at step " + std::to_string(step.index()) + " " +
                           std::to_string(count[0]) + " particles of mesh '" + options_.mesh +
                           "' have the ids of others that were elsewhere (id " +
                           std::to_string(first[0]) + " is the first)";
  if (options_.fails_if_ids_change)
    throw Error(ErrorCode::Stage, text + "; give no id to a second particle, or set " +
                                      "`when_ids_change: begin_again`");
  step.warn("ids", text + "; they count from the next time origin on (said once)");
  ids_used_again_ += count[0];
  for (auto& origin : origins_.kept())
    for (auto& track : origin.tracks) track = without(track, others);
}

void TimeCorrelation::follow(stage::Step& step) {
  const auto particles = read(step);
  check(step, particles);
  auto latest = snapshot_of(particles, options_.selection.size(), options_.per, latest_,
                            options_.follows_all());
  const bool begins = watch(step, latest);
  latest_ = std::move(latest);
  latest_time_ = step.time();
  if (begins || origins_.due(step.publication()))
    origins_.add({step.index(), step.time(), latest_});
  take_samples(step, references(step, particles));
}

// A molecule with missing particles has its centre of mass elsewhere.
void TimeCorrelation::run(stage::Step& step) {
  dimensions_ = stages::dimensions(step.domain(options_.mesh));
  if (options_.per == Per::molecule && coarse(step)) ++coarse_left_out_;
  else follow(step);
  if (step.products_due() && lags_.size() > 0) step.write(table(step));
}

void TimeCorrelation::describe(stage::Table& table) const {
  const auto& o = options_.origins;
  const auto text = o.only_first ? std::string("first")
                                 : "every " + std::to_string(o.every) + " publications, keep " +
                                       std::to_string(o.keep);
  table.attribute("origins", text);
  if (dimensions_ == 2) table.attribute("dimensions", 2);
  table.attribute("per", options_.per_word());
  table.attribute("remove_drift", options_.drift_word());
  table.attribute("samples_left_out", static_cast<double>(lags_.left_out()));
  if (options_.per == Per::molecule)
    table.attribute("particles_without_molecule", static_cast<double>(without_molecule_));
  if (begun_again_ > 0) table.attribute("begun_again", static_cast<double>(begun_again_));
  if (ids_used_again_ > 0) table.attribute("ids_used_again", static_cast<double>(ids_used_again_));
  if (coarse_left_out_ > 0)
    table.attribute("coarse_publications_left_out", static_cast<double>(coarse_left_out_));
}

// Saving and restoring a time correlation: sums by lag are the same on every peer, origins belong
// to the owners of their keys, so another number of ranks can take them up.

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
  std::vector<int64_t> steps;
  std::vector<double> times;
  for (const auto& origin : origins_.kept()) {
    for (size_t s = 0; s < origin.tracks.size(); ++s)
      save_track(state, name_of(steps.size(), s), origin.tracks[s]);
    steps.push_back(origin.step);
    times.push_back(origin.time);
  }
  const auto text = options_.signature();
  state.save("options", std::vector<char>(text.begin(), text.end()));
  state.save("origin_steps", steps);
  state.save("origin_times", times);
  state.save("coarse_left_out", std::vector<int64_t>{coarse_left_out_});
  state.save("dimensions", std::vector<int64_t>{dimensions_});
  state.save("continuity", continuity_.saved());
  state.save("identity", std::vector<int64_t>{begun_again_, ids_used_again_});
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
  const size_t tracks = options_.selection.size() + (options_.follows_all() ? 1 : 0);
  for (size_t n = 0; n < steps.size(); ++n) {
    Origin origin{steps[n], times[n], {}};
    for (size_t s = 0; s < tracks; ++s) origin.tracks.push_back(load_track(state, name_of(n, s)));
    origins_.add(std::move(origin));
  }
  coarse_left_out_ = state.load<int64_t>("coarse_left_out").at(0);
  dimensions_ = static_cast<int>(state.load<int64_t>("dimensions").at(0));
  continuity_.restore(state.load<double>("continuity"));
  const auto identity = state.load<int64_t>("identity");
  begun_again_ = identity.at(0), ids_used_again_ = identity.at(1);
  lags_.restore(state.load<int64_t>("lag_integers"), state.load<double>("lag_reals"));
}

}  // namespace pillion::stages
