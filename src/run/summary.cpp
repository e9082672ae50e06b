// SPDX-License-Identifier: BSD-3-Clause
// Joining summaries.
#include "run/summary.hpp"

#include <algorithm>
#include <iterator>

#include "run/run.hpp"
#include "stagehost/plans.hpp"

namespace pillion::run {

AnalysisSummary summary_of(const CostCounters& costs, const std::string& disabled) {
  const auto lone = [](double value) { return SumMax{value, value}; };
  return {.ranks = 1,
          .first = costs,
          .simulation_seconds = lone(costs.simulation_seconds),
          .waiting = lone(costs.waiting),
          .copy_seconds = lone(costs.copy_seconds),
          .sidecar_seconds = lone(costs.sidecar_seconds),
          .sidecar_waiting = lone(costs.sidecar_waiting),
          .stall_seconds = lone(costs.stall_seconds),
          .closing_seconds = lone(costs.closing_seconds),
          .bytes = costs.bytes,
          .spilled = costs.spilled,
          .lost = costs.lost,
          .disabled = disabled};
}

// What the simulation has published and no sidecar of another job accounts for is lost: one that
// died may have spoilt its own counts before.
Counts counts_of(const model::Configuration& configuration, const model::AnalysisSpec& analysis,
                 const AnalysisSummary& here, const AnalysisSummary& there) {
  const bool in_sidecars = analysis.in_sidecars();
  const bool is_known = in_sidecars && there.ranks > 0;
  const Counts& who = is_known ? there.first : here.first;
  int64_t lost = there.ranks > 0 ? there.lost : here.lost;
  if (is_known && configuration.sidecars.job == model::Job::Separate)
    lost = std::max(lost,
                    here.first.publications + here.first.dropped - who.publications - who.dropped);
  // A simulation rank knows what it has handed on; what became of it, sidecars would have to tell.
  const int64_t there_alone =
      who.publications - (in_sidecars && !is_known ? lost + here.first.here : 0);
  return {.publications = there_alone + here.first.here,
          .here = here.first.here,
          .skipped = here.first.skipped,
          .dropped = who.dropped,
          .withdrawn = here.first.withdrawn,
          .coarsened = here.first.coarsened,
          .spilled = here.spilled,
          .thinned = here.first.thinned,
          .lost = lost};
}

bool lists(const std::vector<stagehost::Product>& products, const stagehost::Product& product) {
  return std::any_of(products.begin(), products.end(), [&](const stagehost::Product& p) {
    return p.analysis == product.analysis && p.name == product.name;
  });
}

namespace {

void join(SumMax& to, const SumMax& later) {
  to.sum += later.sum;
  to.max = std::max(to.max, later.max);
}

void join(AnalysisSummary& to, AnalysisSummary later) {
  if (to.ranks == 0) to.first = later.first;
  to.ranks += later.ranks;
  join(to.simulation_seconds, later.simulation_seconds);
  join(to.copy_seconds, later.copy_seconds);
  join(to.sidecar_seconds, later.sidecar_seconds);
  join(to.waiting, later.waiting);
  join(to.sidecar_waiting, later.sidecar_waiting);
  join(to.stall_seconds, later.stall_seconds);
  join(to.closing_seconds, later.closing_seconds);
  to.bytes += later.bytes;
  to.spilled = std::max(to.spilled, later.spilled);
  to.lost = std::max(to.lost, later.lost);
  if (to.disabled.empty()) to.disabled = std::move(later.disabled);
}

void join(SideSummary& to, SideSummary later) {
  if (to.ranks == 0) {
    to.outcome = later.outcome;
    to.moves = std::move(later.moves);
  }
  to.ranks += later.ranks;
  to.peak = std::max(to.peak, later.peak);
  to.exchanging = std::max(to.exchanging, later.exchanging);
  to.in_place += later.in_place;
  to.direct += later.direct;
  const auto join_all = [](std::vector<AnalysisSummary>& all, std::vector<AnalysisSummary>& more) {
    all.resize(std::max(all.size(), more.size()));
    for (size_t a = 0; a < more.size(); ++a) join(all[a], std::move(more[a]));
  };
  join_all(to.analyses, later.analyses);
  join_all(to.departed, later.departed);
}

template <class Value>
void append(std::vector<Value>& to, std::vector<Value> later) {
  to.insert(to.end(), std::make_move_iterator(later.begin()), std::make_move_iterator(later.end()));
}

}  // namespace

Summary summary_of(const Run& run, const Outcome& outcome) {
  SideSummary side{.ranks = 1,
                   .outcome = outcome,
                   .peak = static_cast<int64_t>(outcome.peak),
                   .exchanging = static_cast<int64_t>(run.plans->most_node_bytes()),
                   .in_place = outcome.in_place,
                   .direct = outcome.direct,
                   .analyses = {},
                   .departed = {},
                   .moves = run.moves};
  for (size_t a = 0; a < run.accounts.size(); ++a)
    side.analyses.push_back(summary_of(run.accounts[a], run.disabled[a]));
  for (const auto& gone : run.departed)
    side.departed.push_back(summary_of(gone.costs, gone.disabled));
  Summary out{.simulation = {},
              .sidecars = {},
              .products = run.sink.products(),
              .warnings = run.warnings,
              .remarks = run.remarks};
  (run.is_sidecar() ? out.sidecars : out.simulation) = std::move(side);
  return out;
}

void join(Summary& to, Summary later) {
  join(to.simulation, std::move(later.simulation));
  join(to.sidecars, std::move(later.sidecars));
  append(to.products, std::move(later.products));
  append(to.warnings, std::move(later.warnings));
  append(to.remarks, std::move(later.remarks));
}

}  // namespace pillion::run
