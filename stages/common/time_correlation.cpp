// SPDX-License-Identifier: BSD-3-Clause
// A publication's way through a time correlation: read, check, find the frame of reference, keep an
// origin if one is due, compare with all that are kept. Every failure is agreed on by the peers
// before anything is remembered.
#include "time_correlation.hpp"

#include <algorithm>
#include <span>

#include "common_centres.hpp"
#include "read.hpp"

namespace pillion::stages {

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

/// Finds what makes a result impossible, alike on every peer.
void TimeCorrelation::check(const stage::Step& step, const Particles& p) {
  const bool molecules = options_.per == Per::molecule;
  std::vector<int64_t> found = {molecules ? 0 : duplicates(p.key), not_positive(p.mass), 0};
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
  without_molecule_ = found[2];
}

std::vector<Centre> TimeCorrelation::centres(const stage::Step& step, const Particles& p) const {
  const size_t species = options_.selection.size();
  std::vector<Centre> out(species);
  if (options_.drift == Drift::none) return out;
  std::vector<double> sums;
  for (size_t s = 0; s < species; ++s) {
    const auto sum = weigh(p, options_.drift == Drift::system ? ~uint64_t{0} : uint64_t{1} << s);
    sums.insert(sums.end(), sum.begin(), sum.end());
  }
  step.sum(std::span(sums));
  for (size_t s = 0; s < species; ++s)
    out[s] = centre({sums[4 * s], sums[4 * s + 1], sums[4 * s + 2], sums[4 * s + 3]});
  return out;
}

/// For each kept origin and species, the centres to take off. Where either side is coarse they are
/// those of the particles that both have.
std::vector<TimeCorrelation::Reference> TimeCorrelation::references(
    const stage::Step& step, const Particles& p, const std::vector<Centre>& now) const {
  std::vector<Reference> out;
  std::vector<double> sums;
  std::vector<size_t> places;
  for (const auto& origin : origins_.kept()) {
    const bool common = options_.drift != Drift::none && (origin.coarse || coarse(step));
    for (size_t s = 0; s < now.size(); ++s) {
      if (common) places.push_back(out.size());
      out.emplace_back(now[s], origin.centres[s]);
    }
    if (!common) continue;
    for (const auto& sum : weigh_common(p, origin.tracks, options_.drift == Drift::system))
      sums.insert(sums.end(), sum.begin(), sum.end());
  }
  if (places.empty()) return out;
  step.sum(std::span(sums));
  for (size_t n = 0; n < places.size(); ++n) {
    WeightedTwice sum{};
    std::copy_n(&sums[n * sum.size()], sum.size(), sum.begin());
    out[places[n]] = stages::centres(sum);
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

void TimeCorrelation::follow(stage::Step& step) {
  const auto particles = read(step);
  check(step, particles);
  const auto now = centres(step, particles);
  latest_ = snapshot_of(particles, options_.selection.size(), options_.per, latest_);
  if (origins_.due(step.publication()))
    origins_.add({step.index(), step.time(), now, latest_, coarse(step)});
  take_samples(step, references(step, particles, now));
}

// A molecule of which some particles are missing has its centre of mass elsewhere.
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
  if (coarse_left_out_ > 0)
    table.attribute("coarse_publications_left_out", static_cast<double>(coarse_left_out_));
}

}  // namespace pillion::stages
