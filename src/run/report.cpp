// SPDX-License-Identifier: BSD-3-Clause
// Formatting the run report (docs/products.md has its keys) and writing it.
#include "run/report.hpp"

#include <pillion/version.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/disk_deadline.hpp"
#include "base/json.hpp"
#include "base/process.hpp"
#include "comm/agreement.hpp"
#include "products/table_head.hpp"
#include "products/whole_file.hpp"
#include "run/run.hpp"
#include "run/sidecar_notices.hpp"

namespace pillion::run {

using base::Json;
using base::text_or_null;

namespace {

double mean(const SumMax& of, int64_t ranks) {
  return ranks > 0 ? of.sum / static_cast<double>(ranks) : 0;
}

Json json_of(const SumMax& of, int64_t ranks) {
  return {{"mean", mean(of, ranks)}, {"max", of.max}};
}

/// What one side says of an analysis.
AnalysisSummary analysis_of(const SideSummary& side, size_t analysis) {
  return analysis < side.analyses.size() ? side.analyses[analysis] : AnalysisSummary();
}

/// When, where to and why an analysis migrated.
Json migrations_of(const SideSummary& simulation, size_t analysis) {
  Json out = Json::array();
  for (const auto& move : simulation.moves)
    if (move.analysis == analysis)
      out.push_back({{"step", move.step},
                     {"to", move.there ? "sidecar" : "simulation"},
                     {"after_seconds", move.after},
                     {"seconds", move.seconds},
                     {"why", move.why}});
  return out;
}

/// What became of publications.
void put(Json& out, const Counts& counts) {
  out["publications"] = counts.publications;
  out["skipped"] = counts.skipped;
  out["coarsened"] = counts.coarsened;
  out["spilled"] = counts.spilled;
  out["thinned"] = counts.thinned;
  out["dropped"] = counts.dropped + counts.withdrawn;
  out["lost"] = counts.lost;
}

bool is_resumed(const Run& run) { return !run.configuration.restart.empty(); }

/// `earlier`: counts of executions before this one.
Json json_of_analysis(const Run& run, const model::AnalysisSpec& analysis,
                      const AnalysisSummary& here, const AnalysisSummary& there,
                      const Counts& earlier, Json moves) {
  const bool sidecar = analysis.in_sidecars();
  Json stages = Json::array();
  for (const auto& stage : analysis.stages) stages.push_back(stage.name);
  const CostCounters& who = sidecar && there.ranks > 0 ? there.first : here.first;
  Counts counts = earlier;
  add(counts, counts_of(run.configuration, analysis, here, there));
  // The sidecars' work spread over the simulation's ranks, and nothing to copy.
  const double synchronous =
      mean(here.simulation_seconds, here.ranks) - mean(here.copy_seconds, here.ranks) +
      there.sidecar_seconds.sum / static_cast<double>(std::max<int64_t>(here.ranks, 1));
  const double lag =
      who.publications > 0 ? who.lag_seconds / static_cast<double>(who.publications) : 0;
  // Sidecars know the reason; the simulation has it from them.
  const auto& disabled = there.disabled.empty() ? here.disabled : there.disabled;
  Json out = {{"name", analysis.name},
              {"placement", placement_of(analysis)},
              {"stages", std::move(stages)},
              {"every", analysis.every.text()},
              {"when", analysis.when ? Json(analysis.when->text()) : Json()}};
  if (analysis.is_movable()) {
    out["publications_at"] = {{"simulation", counts.here},
                              {"sidecar", counts.publications - counts.here}};
    out["moves"] = std::move(moves);
  }
  put(out, counts);
  if (is_resumed(run)) put(out["earlier"] = Json::object(), earlier);
  out["disabled"] = text_or_null(disabled);
  out["seconds"] = {{"simulation", json_of(here.simulation_seconds, here.ranks)},
                    {"waiting", json_of(here.waiting, here.ranks)},
                    {"sidecar", json_of(there.sidecar_seconds, there.ranks)},
                    {"sidecar_waiting", json_of(there.sidecar_waiting, there.ranks)},
                    {"stall", json_of(here.stall_seconds, here.ranks)},
                    {"closing", json_of(here.closing_seconds, here.ranks)},
                    {"synchronous_estimate", synchronous}};
  out["bytes_moved"] = here.bytes;
  out["lag_seconds"] = {{"mean", lag}, {"max", who.longest_lag}};
  return out;
}

/// What the first simulation rank says of the run; what sidecars have seen of it if there is none.
Outcome outcome_of(const Summary& all) {
  return all.simulation.ranks > 0 ? all.simulation.outcome : all.sidecars.outcome;
}

/// As in the names of MPI's constants; null if no simulation rank has said.
Json name_of_thread_level(int64_t level) {
  constexpr std::array names{"single", "funneled", "serialized", "multiple"};
  const auto number = static_cast<size_t>(level);
  return number < names.size() ? Json(names[number]) : Json();
}

Json json_of_run(const Run& run, const Summary& all) {
  const Outcome outcome = outcome_of(all);
  const double started = outcome.started > 0 ? outcome.started : run.started;
  Json out = {{"id", id_of(run.id)},
              {"name", run.configuration.run},
              {"host", base::host_name()},
              {"command", run.is_sidecar() ? Json() : text_or_null(base::command_line())},
              {"continues", run.continues},
              {"started", base::format_utc(started)},
              {"seconds", base::calendar_seconds() - started},
              {"simulation_ranks", all.simulation.ranks},
              {"sidecar_ranks", all.sidecars.ranks},
              {"mpi_threads", name_of_thread_level(outcome.thread_level)},
              {"first_step", outcome.counts.first_step},
              {"last_step", outcome.last_step},
              {"steps", outcome.counts.steps},
              {"publications", outcome.counts.publications},
              {"skipped", outcome.counts.skipped},
              {"time", outcome.time},
              {"time_units", run.configuration.time_units},
              {"restarted_from", text_or_null(run.configuration.restart)}};
  if (outcome.is_provisional) out["provisional"] = true;
  const auto& earlier = run.earlier.steps;
  if (is_resumed(run))
    out["earlier"] = {{"steps", earlier.steps},
                      {"publications", earlier.publications},
                      {"skipped", earlier.skipped}};
  return out;
}

Json json_of_sidecars(const Run& run, const Summary& all) {
  const auto& spec = run.configuration.sidecars;
  const Outcome outcome = outcome_of(all);
  return {{"ranks", all.sidecars.ranks},
          {"transport", spec.through_node() ? "node" : "network"},
          {"job", model::name_of(spec.job)},
          {"restarts", outcome.restarts},
          {"memory_bytes", spec.memory},
          {"memory_bytes_per_rank", outcome.budget},
          {"peak_bytes", std::max(all.simulation.peak, all.sidecars.peak)},
          {"exchange_peak_bytes", std::max(all.simulation.exchanging, all.sidecars.exchanging)},
          {"in_place_bytes", all.simulation.in_place},
          {"direct_bytes", all.simulation.direct},
          {"when_full", model::name_of(spec.when_full)},
          {"mapping", spec.within_job() ? Json(model::name_of(run.mapping)) : Json()}};
}

/// The products of this execution, and those of earlier ones that are still there.
std::vector<stagehost::Product> with_earlier(const Run& run,
                                             std::vector<stagehost::Product> products) {
  std::error_code error;
  for (const auto& product : run.earlier.products)
    if (!lists(products, product) &&
        std::filesystem::exists(std::filesystem::path(run.configuration.output) / product.path,
                                error))
      products.push_back(product);
  return products;
}

std::string format_report(const Run& run, const Summary& all) {
  Json out = {{"pillion", "report 1"},
              {"version", PILLION_VERSION},
              {"run", json_of_run(run, all)},
              {"sidecars", json_of_sidecars(run, all)}};
  for (const char* list : {"analyses", "products", "warnings", "remarks"})
    out[list] = Json::array();
  for (size_t a = 0; a < run.configuration.analyses.size(); ++a)
    out["analyses"].push_back(json_of_analysis(
        run, run.configuration.analyses[a], analysis_of(all.simulation, a),
        analysis_of(all.sidecars, a), run.earlier.of(a), migrations_of(all.simulation, a)));
  for (size_t d = 0; d < std::min(run.departed.size(), all.simulation.departed.size()); ++d)
    out["analyses"].push_back(json_of_analysis(run, run.departed[d].analysis,
                                               all.simulation.departed[d], {}, {}, Json::array()));
  for (const auto& p : with_earlier(run, all.products))
    out["products"].push_back(
        {{"analysis", p.analysis}, {"stage", p.stage}, {"path", p.path}, {"title", p.title}});
  for (const auto& warning : all.warnings) out["warnings"].push_back(warning);
  for (const auto& remark : all.remarks) out["remarks"].push_back(remark);
  if (run.forgotten > 0)
    out["remarks"].push_back(fmt::format(
        "{} analyses of attached jobs that left early in the run are not listed", run.forgotten));
  out["parameters"] = Json::object();
  for (const auto& [name, value] : run.configuration.parameters) out["parameters"][name] = value;
  out["configuration"] = run.configuration.text;
  return base::format_json(out, 1) + "\n";
}

/// Keeps what the simulation says of the analyses from `first` on.
void leave_out_before(size_t first, SideSummary& simulation) {
  auto& analyses = simulation.analyses;
  analyses.erase(analyses.begin(),
                 analyses.begin() + static_cast<ptrdiff_t>(std::min(first, analyses.size())));
  std::erase_if(simulation.moves, [&](const auto& move) { return move.analysis < first; });
  for (auto& move : simulation.moves) move.analysis -= first;
}

}  // namespace

// Products other than tables over the run do not contain the number of their publications. A later
// job of the same name has written its own in their place.
void count_unwritten(Run& run) {
  std::map<std::string, CostCounters*> accounts;
  const auto& analyses = run.configuration.analyses;
  for (auto& gone : run.departed)
    if (gone.died) accounts[gone.analysis.name] = &gone.costs;
  for (size_t a = 0; a < analyses.size(); ++a) {
    if (run.died.contains(a)) accounts[analyses[a].name] = &run.accounts[a];
    else accounts.erase(analyses[a].name);
  }
  if (accounts.empty()) return;
  using Found = std::map<std::string, products::Written>;
  const auto found = std::make_shared<Found>();
  for (const auto& [name, account] : accounts) (*found)[name] = {};
  const bool looked = base::on_disk([found, output = run.configuration.output] {
    for (auto& [name, written] : *found)
      written = products::publications_in(std::filesystem::path(output) / name);
  });
  if (!looked) return;
  for (const auto& [name, account] : accounts) {
    const auto& written = found->at(name);
    if (written.in_series || !written.any)
      account->lost =
          std::max(account->lost, account->publications - written.in_series.value_or(0));
  }
}

void write_report(const Run& run, Summary summary, const ReportScope& scope) {
  leave_out_before(scope.first, summary.simulation);
  const auto name = scope.attached_job.empty() ? std::string(report_name)
                                               : fmt::format("report-{}.json", scope.attached_job);
  const auto path = std::filesystem::path(run.configuration.output) / name;
  (void)base::on_disk(
      [path, text = format_report(run, summary)] { products::write_whole(path, text, false); });
}

// Each rank formats its own part, and the one that writes holds one other rank's part at a time.
void write_timelines(const Run& run, const ReportScope& scope) {
  std::string side, mine;
  std::shared_ptr<std::optional<products::TraceFile>> file;
  // A rank that cannot format its part still sends one, for the first of its node waits for it.
  const auto unformatted = comm::failure_of([&] {
    side = run.is_sidecar() ? "sidecar" : "simulation";
    file = std::make_shared<std::optional<products::TraceFile>>();
    mine = run.timeline.format(side.c_str(), run.side.rank(), run.started);
  });
  const auto ungathered = comm::failure_of([&] {
    run.on_node.gather_each(
        std::as_bytes(std::span(mine)), 0, [&](int, std::span<const std::byte> part) {
          if (!file) return;
          const auto who = scope.attached_job.empty() ? side : "attached-" + scope.attached_job;
          const auto path = std::filesystem::path(run.configuration.output) / timeline_folder /
                            fmt::format("{}-{:06}.json", who, run.side.rank());
          const std::string text(reinterpret_cast<const char*>(part.data()), part.size());
          (void)base::on_disk([file, path, text, id = id_of(run.id)] {
            if (!*file) file->emplace(path, id);
            (*file)->add(text);
          });
        });
  });
  comm::together(run.side, [&] {
    comm::rethrow(unformatted);
    comm::rethrow(ungathered);
    (void)base::on_disk([file] {
      if (*file) (*file)->finish();
    });
  });
}

namespace {

/// Of some ranks.
struct Told {
  Summary known;
  Summary from_others;

  static constexpr auto members() { return std::tuple{&Told::known, &Told::from_others}; }
};

const auto joined = [](const base::Bytes& lower, const base::Bytes& higher) {
  auto all = base::from_bytes<Told>(lower);
  auto later = base::from_bytes<Told>(higher);
  join(all.known, std::move(later.known));
  join(all.from_others, std::move(later.from_others));
  return base::to_bytes(all);
};

}  // namespace

namespace {

/// What all ranks of this side know, at the first; elsewhere, what a rank has passed on. A rank
/// that fails passes on nothing, and throws when all have taken part.
base::Bytes told_by_side(const Run& run, const Outcome& outcome,
                         const std::vector<base::Bytes>& more) {
  std::exception_ptr failure;
  base::Bytes mine;
  try {
    Told told{summary_of(run, outcome), {}};
    for (const auto& bytes : more)
      if (!bytes.empty()) join(told.from_others, base::from_bytes<Summary>(bytes));
    mine = base::to_bytes(told);
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  auto all = run.side.fold(std::move(mine), joined);
  if (failure) std::rethrow_exception(failure);
  return all;
}

}  // namespace

void write_report_together(const Run& run, const Outcome& outcome,
                           const std::vector<base::Bytes>& more, const ReportScope& scope) {
  const auto without_timelines = comm::failure_of([&] { write_timelines(run, scope); });
  base::Bytes all;
  const auto untold = comm::failure_of([&] { all = told_by_side(run, outcome, more); });
  comm::together(run.side, [&] {
    if (run.side.rank() == 0 && !all.empty()) {
      auto of_all = base::from_bytes<Told>(all);
      join(of_all.known, std::move(of_all.from_others));
      write_report(run, std::move(of_all.known), scope);
    }
    comm::rethrow(without_timelines);
    comm::rethrow(untold);
  });
}

// The simulation waits for what the first rank tells, so that it tells something in any case.
void report_to_simulation(Run& run) {
  const auto without_timelines = comm::failure_of([&] {
    try {
      write_timelines(run);
    } catch (const std::exception& e) {
      run.warn(e.what());
      throw;
    }
  });
  base::Bytes all;
  const auto untold = comm::failure_of([&] {
    all = told_by_side(run, {}, {});
    if (run.side.rank() == 0) all = base::to_bytes(base::from_bytes<Told>(all).known);
  });
  if (untold) all.clear();
  tell_finished(run, all);
  comm::rethrow(without_timelines);
  comm::rethrow(untold);
}

}  // namespace pillion::run
