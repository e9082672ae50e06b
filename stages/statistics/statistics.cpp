// SPDX-License-Identifier: BSD-3-Clause
// The stage `statistics`: one table per field with a row for every publication. Vector fields have
// columns for each component and for the magnitude. The rows are the stage's state.
#include <algorithm>
#include <cstdint>
#include <pillion/stage.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "moments.hpp"

namespace pillion::stages::statistics {
namespace {

/// The sums of counts and the least and greatest values, over all peers.
void combine_extremes(const stage::Step& step, std::vector<Moments>& all) {
  std::vector<int64_t> counts;
  std::vector<double> least, greatest;
  for (const auto& m : all) {
    counts.insert(counts.end(), {m.count, m.not_finite});
    least.push_back(m.min);
    greatest.push_back(m.max);
  }
  step.sum(std::span(counts));
  step.min(std::span(least));
  step.max(std::span(greatest));
  for (size_t n = 0; n < all.size(); ++n) {
    all[n].count = counts[2 * n];
    all[n].not_finite = counts[2 * n + 1];
    all[n].min = least[n];
    all[n].max = greatest[n];
  }
}

/// The sums of weights over all peers; counts, if no series is weighted.
void combine_weights(const stage::Step& step, bool weighted, std::vector<Moments>& all) {
  std::vector<double> weights;
  for (const auto& m : all) weights.push_back(weighted ? m.weight : static_cast<double>(m.count));
  if (weighted) step.sum(std::span(weights));
  for (size_t n = 0; n < all.size(); ++n) all[n].weight = weights[n];
}

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// Moments over all peers, of the moments that each of them has. Deviations are taken from a mean
/// that is right but for rounding, and then from what is missing.
void combine(const stage::Step& step, bool weighted, std::vector<Moments>& all) {
  const auto own = all;
  combine_extremes(step, all);
  combine_weights(step, weighted, all);
  std::vector<double> means, deviations;
  for (size_t n = 0; n < all.size(); ++n)
    means.push_back(own[n].mean * share_of(own[n].weight, all[n].weight));
  step.sum(std::span(means));
  for (size_t n = 0; n < all.size(); ++n) {
    const double above = own[n].weight > 0 ? own[n].above(means[n]) : 0;
    const double weight = own[n].weight;
    deviations.insert(deviations.end(), {weight * above, own[n].squares + weight * above * above});
  }
  step.sum(std::span(deviations));
  for (size_t n = 0; n < all.size(); ++n) {
    all[n].mean = means[n];
    all[n].rest = share_of(deviations[2 * n], all[n].weight);
    all[n].squares = deviations[2 * n + 1] - all[n].weight * all[n].rest * all[n].rest;
  }
}

class Statistics final : public stage::Stage {
 public:
  explicit Statistics(stage::Setup& setup) {
    const auto fields = setup["fields"];
    std::set<std::string> seen;
    for (const auto& name : fields.texts()) {
      if (!seen.insert(name).second) fields.fail("field '" + name + "' is listed twice");
      series_.emplace_back(setup, name, fields, volumes_);
    }
    if (series_.empty()) fields.fail("no fields are listed");
    setup.survives_failures();
  }

  void run(stage::Step& step) override {
    std::vector<Moments> all;
    for (auto& series : series_)
      for (const auto& moments : series.look(step)) all.push_back(moments);
    bool weighted = false;
    for (const auto& series : series_) weighted = weighted || series.is_weighted();
    combine(step, weighted, all);
    auto at = all.begin();
    for (auto& series : series_) {
      const auto end = at + static_cast<std::ptrdiff_t>(series.parts());
      series.append(step, {at, end});
      at = end;
    }
    if (step.products_due()) write(step);
  }
  void finish(stage::Step& step) override { write(step); }

  void save(stage::State& state) const override {
    for (const auto& series : series_) series.save(state);
  }
  void restore(stage::State& state) override {
    for (auto& series : series_) series.restore(state);
  }

 private:
  void write(const stage::Step& step) const {
    for (const auto& series : series_)
      if (!series.empty()) step.write(series.table());
  }

  VolumesByMesh volumes_;
  std::vector<MomentSeries> series_;
};

const pillion_parameter parameters[] = {
    {"fields", "list of fields", nullptr, "Fields to summarise, each in a table of its own"},
    {"patches", "list of names", "null",
     "Of a boundary: patches whose cells count; all by default"},
};

}  // namespace
}  // namespace pillion::stages::statistics

PILLION_STAGE(pillion::stages::statistics::Statistics, "statistics",
              "Count, extremes, mean, standard deviation and rms of fields, a row per publication",
              pillion::stages::statistics::parameters)
