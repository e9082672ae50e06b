// SPDX-License-Identifier: BSD-3-Clause
// Making and running chains.
#include "run/chains.hpp"

#include <algorithm>
#include <map>

#include "base/bytes.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "stagehost/plans.hpp"
#include "stagehost/plugin.hpp"
#include "stagehost/state.hpp"

namespace pillion::run {

using stagehost::Chain;

void find_stages(const comm::Communicator& ranks, model::Configuration& configuration) {
  using Files = std::map<std::string, std::string>;
  const auto bytes = comm::broadcast_made(ranks, 0, [&] {
    Files files;
    const auto folders = stagehost::stage_folders();
    for (const auto& analysis : configuration.analyses)
      for (const auto& stage : analysis.stages)
        files[stage.name] = stagehost::find_stage_file(stage.name, folders);
    return base::to_bytes(files);
  });
  comm::together(ranks, [&] {
    const auto files = base::from_bytes<Files>(bytes);
    for (auto& analysis : configuration.analyses)
      for (auto& stage : analysis.stages) stage.file = files.at(stage.name);
  });
}

Chains make_chains(const Run& run, topology::Role side, const ProducedFields& produced) {
  Chains chains;
  for (size_t a = 0; a < run.configuration.analyses.size(); ++a) {
    const auto& analysis = run.configuration.analyses[a];
    auto& chain = chains.emplace_back();
    if (side == topology::Role::Sidecar) chain = make_behind_cut(run, a, produced);
    else if (analysis.in_simulation())
      chain = std::make_unique<Chain>(analysis, 0, analysis.cut(),
                                      model::Catalogue(run.configuration.catalogue));
  }
  return chains;
}

bool may_migrate(const Run& run) {
  const auto& analyses = run.configuration.analyses;
  return std::any_of(analyses.begin(), analyses.end(),
                     [](const auto& a) { return a.is_movable(); });
}

std::unique_ptr<Chain> make_behind_cut(const Run& run, size_t a, const ProducedFields& produced) {
  const auto& analysis = run.configuration.analyses[a];
  if (!analysis.in_sidecars()) return {};
  auto catalogue = run.configuration.catalogue;
  if (a < produced.size())
    for (const auto& field : produced[a]) catalogue.add(field);
  auto declared =
      a < run.declared.size() ? run.declared[a] : std::vector<stagehost::DeclaredProduct>();
  return std::make_unique<Chain>(analysis, analysis.cut(), analysis.stages.size(),
                                 std::move(catalogue), std::move(declared));
}

Chains make_migratable_chains(const Run& run, const ProducedFields& produced) {
  Chains chains(run.configuration.analyses.size());
  for (size_t a = 0; a < chains.size(); ++a)
    if (run.configuration.analyses[a].is_movable()) chains[a] = make_behind_cut(run, a, produced);
  return chains;
}

namespace {

stagehost::ExecutionContext context_of(Run& run, size_t analysis, const Gaps& gaps) {
  stagehost::ExecutionContext context;
  context.peers = &run.side;
  run.plans->set_node_budget(static_cast<size_t>(run.configuration.sidecars.transfer_memory()));
  context.plans = run.plans.get();
  context.sink = &run.sink;
  context.timeline = &run.timeline;
  context.origin = run.origin(analysis);
  context.origin.skipped = gaps.skipped;
  context.origin.coarsened = gaps.coarsened;
  context.origin.lost = gaps.lost;
  context.origin.disabled = gaps.disabled;
  context.interval = run.configuration.analyses[analysis].every.interval;
  return context;
}

}  // namespace

namespace {

/// Values go by messages then, so the results are the same.
void note_unshared(Run& run) {
  const auto failure = run.plans->take_failure();
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    run.remark(fmt::format("ranks of a node exchange values by messages, which takes longer: {}",
                           e.what()));
  }
}

/// Reports what was found about products. A rank that lacks memory for that leaves it.
void say_notes(Run& run) {
  try {
    for (const auto& note : run.sink.take_notes()) run.warn(note);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
  }
}

/// Ends a piece of work of an analysis: what it computed, and what it waited for other ranks.
void bill(Run& run, size_t analysis, const Stopwatch& watch, std::string name, int64_t step,
          double waited, double CostCounters::*account) {
  auto& costs = run.accounts[analysis];
  const bool here = account == &CostCounters::simulation_seconds;
  costs.*account += watch.end(run.timeline, std::move(name), "analysis", step, waited) - waited;
  costs.*(here ? &CostCounters::waiting : &CostCounters::sidecar_waiting) += waited;
}

}  // namespace

Consequence consequence_of(const Error& failure, bool unharmed, int64_t in_row,
                           int64_t disable_after) {
  if (failure.code() == ErrorCode::Sharing) return Consequence::Drop;
  const bool is_of_publication =
      failure.code() == ErrorCode::Stage || failure.code() == ErrorCode::File;
  if (!is_of_publication || base::is_out_of_memory(failure)) return Consequence::Disable;
  return unharmed && in_row < disable_after ? Consequence::Lose : Consequence::Disable;
}

namespace {

std::optional<Failure> failure_of_all(const std::optional<Error>& failure) {
  if (!failure) return {};
  return Failure{*failure};
}

}  // namespace

Failure failure_to_fill(const Error& failure) {
  return {failure, consequence_of(failure, true, 1, 1)};
}

std::optional<Failure> run_chain(Run& run, Chain& chain, size_t analysis,
                                 stagehost::Publication& publication, const Gaps& gaps,
                                 double CostCounters::*account) {
  const Working working(run, analysis, publication.step);
  const Stopwatch watch;
  stagehost::ExecutionContext context;
  const double before = comm::seconds_waited();
  try {
    context = context_of(run, analysis, gaps);
  } catch (const std::exception& e) {
    return failure_of_all(comm::Fence(run.side).fail(e));  // the others are in the chain
  }
  context.origin.step = publication.step;
  context.origin.time = publication.time;
  const bool fitted = run.plans->refused() == 0;
  auto failure = chain.run_in_place(publication, std::move(context));
  if (fitted && run.plans->refused() > 0)
    run.remark(fmt::format(
        "ranks of a node exchange values of analysis '{}' by messages, since they would need more "
        "node memory than half of 'sidecars: {{memory: {}}}'",
        run.configuration.analyses[analysis].name,
        base::format_bytes(run.configuration.sidecars.memory)));
  note_unshared(run);
  say_notes(run);
  bill(run, analysis, watch, run.configuration.analyses[analysis].name, publication.step,
       comm::seconds_waited() - before, account);
  if (!failure) {
    run.dropping.erase(analysis);
    return {};
  }
  const auto consequence = consequence_of(*failure, chain.is_unharmed(), chain.failures_in_row(),
                                          run.configuration.analyses[analysis].disable_after);
  return Failure{*failure, consequence, chain.failures_in_row()};
}

void finish_chain(Run& run, Chain& chain, size_t analysis, int64_t step, double time,
                  const Gaps& gaps, double CostCounters::*account) {
  if (chain.publications() == 0) return;
  const Working working(run, analysis, step);
  const Stopwatch watch;
  const auto& name = run.configuration.analyses[analysis].name;
  const double before = comm::seconds_waited();
  std::optional<Error> failure;
  try {
    stagehost::ExecutionContext context;
    comm::together(run.side, [&] {
      context = context_of(run, analysis, gaps);
      context.origin.step = step;
      context.origin.time = time;
    });
    failure = chain.finish(std::move(context));
  } catch (const Error& e) {
    failure = e;
  }
  say_notes(run);
  // Other analyses end with all ranks, whatever one rank lacks for these words.
  try {
    if (failure && run.enabled(analysis)) run.disable(analysis, *failure);
    else if (failure)
      run.warn(fmt::format("not all that analysis '{}' had computed could be written: {}", name,
                           failure->what()));
    bill(run, analysis, watch, name + " (end)", step, comm::seconds_waited() - before, account);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
  }
}

void finish_chains(Run& run, Chains& chains, int64_t step, double time,
                   const std::vector<Gaps>& gaps, double CostCounters::*account) {
  for (size_t a = 0; a < chains.size(); ++a)
    if (chains[a] && run.enabled(a)) finish_chain(run, *chains[a], a, step, time, gaps[a], account);
}

namespace {

size_t first_stage(const Run& run, Half half, size_t analysis) {
  return half == Half::Behind ? run.configuration.analyses[analysis].cut() : 0;
}

/// Where the state of each analysis is. [collective]
std::vector<std::filesystem::path> folders_of(const Run& run, const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> folders;
  comm::together(run.side, [&] {
    for (const auto& analysis : run.configuration.analyses)
      folders.push_back(folder / analysis.name);
  });
  return folders;
}

}  // namespace

void restore_chains(const Run& run, Chains& chains, Half half, const std::filesystem::path& folder,
                    const std::set<std::string>& saved) {
  const auto folders = folders_of(run, folder);
  for (size_t a = 0; a < chains.size(); ++a)
    if (chains[a] && saved.contains(run.configuration.analyses[a].name))
      chains[a]->restore(folders[a], run.side, first_stage(run, half, a));
}

void save_chains(const Run& run, const Chains& chains, Half half,
                 const std::filesystem::path& folder, bool durable) {
  const auto folders = folders_of(run, folder);
  for (size_t a = 0; a < chains.size(); ++a)
    if (chains[a] && run.enabled(a))
      chains[a]->save(folders[a], {run.side, run.on_node, run.leaders}, first_stage(run, half, a),
                      durable);
}

LayoutRequests layout_requests_of(const Chains& chains) {
  LayoutRequests layout_requests;
  for (const auto& chain : chains)
    layout_requests.push_back(chain ? chain->layout_requests()
                                    : std::vector<layout::LayoutRequest>());
  return layout_requests;
}

ProducedFields produced_by(const Chains& chains) {
  ProducedFields produced;
  for (const auto& chain : chains)
    produced.push_back(chain ? chain->produced() : std::vector<model::Field>());
  return produced;
}

std::vector<std::vector<stagehost::DeclaredProduct>> declared_by(const Chains& chains) {
  std::vector<std::vector<stagehost::DeclaredProduct>> declared;
  for (const auto& chain : chains)
    declared.push_back(chain ? chain->products() : std::vector<stagehost::DeclaredProduct>());
  return declared;
}

CutFields cut_fields_of(const Chains& chains) {
  CutFields cut_fields;
  for (const auto& chain : chains)
    cut_fields.push_back(chain ? CutInput{chain->needed(), chain->whole_for()} : CutInput{});
  return cut_fields;
}

}  // namespace pillion::run
