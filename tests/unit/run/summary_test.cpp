// SPDX-License-Identifier: BSD-3-Clause
#include "run/summary.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::run;

namespace {

/// What one rank knows: the last quarter of the ranks are sidecars, and the first rank of each side
/// has something to say to people.
Summary of_rank(int rank, int ranks, size_t analyses) {
  const bool sidecar = 4 * rank >= 3 * ranks;
  SideSummary side;
  side.ranks = 1;
  side.peak = rank;
  side.in_place = 2;
  side.outcome.counts.first_step = rank;
  for (size_t a = 0; a < analyses; ++a) {
    AnalysisSummary analysis;
    analysis.ranks = 1;
    analysis.first.publications = rank;
    analysis.simulation_seconds = {static_cast<double>(rank), static_cast<double>(rank)};
    analysis.bytes = 10;
    analysis.lost = rank % 5;
    if (a == 1 && rank % 3 == 2) analysis.disabled = "rank " + std::to_string(rank);
    side.analyses.push_back(analysis);
  }
  Summary out;
  (sidecar ? out.sidecars : out.simulation) = side;
  if (rank == 0) out.warnings = {"from the simulation"};
  if (sidecar && 4 * (rank - 1) < 3 * ranks) out.warnings = {"from the sidecars"};
  return out;
}

Summary joined(Summary lower, const Summary& higher) {
  join(lower, base::from_bytes<Summary>(base::to_bytes(higher)));
  return lower;
}

}  // namespace

TEST_CASE("summaries add up as if one rank had seen all, in whatever tree they are joined") {
  constexpr int ranks = 13;
  Summary in_turn;
  for (int r = 0; r < ranks; ++r) in_turn = joined(std::move(in_turn), of_rank(r, ranks, 3));
  std::vector<Summary> tree;
  for (int r = 0; r < ranks; ++r) tree.push_back(of_rank(r, ranks, 3));
  while (tree.size() > 1) {
    std::vector<Summary> next;
    for (size_t i = 0; i < tree.size(); i += 2)
      next.push_back(i + 1 < tree.size() ? joined(tree[i], tree[i + 1]) : tree[i]);
    tree = std::move(next);
  }
  CHECK(base::to_bytes(tree.front()) == base::to_bytes(in_turn));
  const auto& simulation = in_turn.simulation;
  CHECK(simulation.ranks == 10);
  CHECK(in_turn.sidecars.ranks == 3);
  CHECK(simulation.outcome.counts.first_step == 0);
  CHECK(in_turn.sidecars.outcome.counts.first_step == 10);
  CHECK(simulation.peak == 9);
  CHECK(simulation.in_place == 20);
  REQUIRE(simulation.analyses.size() == 3);
  CHECK(simulation.analyses[1].simulation_seconds.sum == 45);
  CHECK(simulation.analyses[1].simulation_seconds.max == 9);
  CHECK(simulation.analyses[1].bytes == 100);
  CHECK(simulation.analyses[1].lost == 4);
  CHECK(simulation.analyses[1].disabled == "rank 2");
  CHECK(simulation.analyses[0].disabled.empty());
  CHECK(in_turn.warnings == std::vector<std::string>{"from the simulation", "from the sidecars"});
}

// A binomial tree has rank 0 receive one message from each of the ranks 1, 2, 4, ...
TEST_CASE("rank 0 receives a few bytes per rank, however many ranks there are") {
  constexpr size_t analyses = 8;
  for (const int ranks : {64, 1024, 16384}) {
    size_t received = 0;
    for (int child = 1; child < ranks; child *= 2) {
      Summary half;
      for (int r = child; r < 2 * child; ++r) join(half, of_rank(r, ranks, analyses));
      received += base::to_bytes(half).size();
    }
    CHECK(received <= size_t{1024} * static_cast<size_t>(ranks));
    CHECK(received < 128 * 1024);
  }
}

namespace {

/// One analysis, which runs in sidecars of that job, or in the simulation.
model::Configuration one_analysis(bool in_sidecars, model::Job job) {
  model::Configuration out;
  out.sidecars.job = job;
  model::AnalysisSpec analysis;
  analysis.name = "a";
  model::StageSpec stage{.name = "statistics", .parameters = {}};
  stage.place = in_sidecars ? model::Place::Sidecar : model::Place::Simulation;
  analysis.stages.push_back(stage);
  out.analyses.push_back(analysis);
  return out;
}

AnalysisSummary counted(const Counts& counts) {
  CostCounters costs;
  add(costs, counts);
  return summary_of(costs, {});
}

}  // namespace

TEST_CASE("each side counts what the other cannot know") {
  const auto inside = one_analysis(false, model::Job::Same);
  const Counts own{.publications = 7, .skipped = 1, .dropped = 2};
  CHECK(counts_of(inside, inside.analyses[0], counted(own), {}) == own);
  const auto beside = one_analysis(true, model::Job::Same);
  const Counts sent{.publications = 20,
                    .skipped = 3,
                    .dropped = 1,
                    .withdrawn = 2,
                    .coarsened = 4,
                    .spilled = 5,
                    .thinned = 6};
  const Counts done{.publications = 15, .dropped = 3, .lost = 2};
  Counts both = sent;
  both.publications = 15;
  both.dropped = 3;
  both.lost = 2;
  CHECK(counts_of(beside, beside.analyses[0], counted(sent), counted(done)) == both);
  // Sidecars of another job that cannot account for all have spoilt their counts.
  both.lost = 3;
  const auto apart = one_analysis(true, model::Job::Separate);
  CHECK(counts_of(apart, apart.analyses[0], counted(sent), counted(done)) == both);
  // Without sidecars, what was not counted as lost is taken to be done.
  Counts alone = sent;
  alone.lost = 8;
  Counts expected = alone;
  expected.publications = 12;
  CHECK(counts_of(beside, beside.analyses[0], counted(alone), {}) == expected);
}
