// SPDX-License-Identifier: BSD-3-Clause
// Gathering and formatting the run report (docs/products.md has its keys).
#include "run/report.hpp"

#include <pillion/version.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "comm/agreement.hpp"
#include "products/whole_file.hpp"
#include "run/run.hpp"

namespace pillion::run {

using base::Json;
using base::text_or_null;

namespace {

/// What one rank has to say.
struct Statement {
  bool sidecar = false;
  int64_t rank = 0;
  Outcome outcome;
  std::vector<CostCounters> accounts;
  std::vector<std::string> disabled;
  std::vector<std::string> warnings;
  std::vector<std::string> remarks;
  std::vector<MigrationRecord> moves;
  std::vector<stagehost::Product> products;
  base::Bytes events;

  static constexpr auto members() {
    return std::tuple{&Statement::sidecar,  &Statement::rank,     &Statement::outcome,
                      &Statement::accounts, &Statement::disabled, &Statement::warnings,
                      &Statement::remarks,  &Statement::moves,    &Statement::products,
                      &Statement::events};
  }
};

}  // namespace

base::Bytes state(const Run& run, const Outcome& outcome, bool timeline) {
  return base::to_bytes(
      Statement{.sidecar = run.is_sidecar(),
                .rank = run.side.rank(),
                .outcome = outcome,
                .accounts = run.accounts,
                .disabled = run.disabled,
                .warnings = run.warnings,
                .remarks = run.remarks,
                .moves = run.moves,
                .products = run.sink.products(),
                .events = timeline ? run.timeline.serialise() : products::Timeline(0).serialise()});
}

namespace {

using Statements = std::vector<Statement>;

std::vector<CostCounters> accounts_of(const Statements& all, bool sidecar, size_t analysis) {
  std::vector<CostCounters> out;
  for (const auto& s : all)
    if (s.sidecar == sidecar && analysis < s.accounts.size()) out.push_back(s.accounts[analysis]);
  return out;
}

int64_t most(const std::vector<CostCounters>& accounts, int64_t CostCounters::*member) {
  int64_t out = 0;
  for (const auto& account : accounts) out = std::max(out, account.*member);
  return out;
}

Json json_of(const MeanMax& s) { return {{"mean", s.mean}, {"max", s.max}}; }

/// Why an analysis is disabled: what a sidecar says counts more than the simulation's hearsay.
std::string why_disabled(const Statements& all, size_t analysis) {
  std::string why;
  for (const auto& s : all)
    if (analysis < s.disabled.size() && !s.disabled[analysis].empty() && (why.empty() || s.sidecar))
      why = s.disabled[analysis];
  return why;
}

/// When, where to and why an analysis migrated; all simulation ranks report the same.
Json migrations_of(const Statements& all, size_t analysis) {
  Json out = Json::array();
  const auto first = std::find_if(all.begin(), all.end(), [](const auto& s) { return !s.sidecar; });
  if (first == all.end()) return out;
  for (const auto& move : first->moves)
    if (move.analysis == analysis)
      out.push_back({{"step", move.step},
                     {"to", move.there ? "sidecar" : "simulation"},
                     {"after_seconds", move.after},
                     {"seconds", move.seconds},
                     {"why", move.why}});
  return out;
}

Json json_of_analysis(const Run& run, const Statements& all, size_t a) {
  const auto& analysis = run.configuration.analyses[a];
  const auto here = accounts_of(all, false, a);
  const auto there = accounts_of(all, true, a);
  const bool sidecar = analysis.in_sidecars();
  Json stages = Json::array();
  for (const auto& stage : analysis.stages) stages.push_back(stage.name);
  const auto sidecar_seconds = mean_max(there, &CostCounters::sidecar_seconds);
  const auto simulation_seconds = mean_max(here, &CostCounters::simulation_seconds);
  const CostCounters none;
  const CostCounters& first_here = here.empty() ? none : here.front();
  const CostCounters& who = sidecar && !there.empty() ? there.front() : first_here;
  int64_t bytes = 0;
  for (const auto& account : here) bytes += account.bytes;
  // The sidecars' work spread over the simulation's ranks, and nothing to copy.
  const double synchronous = simulation_seconds.mean -
                             mean_max(here, &CostCounters::copy_seconds).mean +
                             sidecar_seconds.mean * static_cast<double>(there.size()) /
                                 static_cast<double>(std::max<size_t>(here.size(), 1));
  const double lag =
      who.publications > 0 ? who.lag_seconds / static_cast<double>(who.publications) : 0;
  const int64_t lost = most(there.empty() ? here : there, &CostCounters::lost);
  // A simulation rank knows what it has handed on; what became of it, sidecars would have to tell.
  const int64_t there_alone =
      who.publications - (sidecar && there.empty() ? lost + first_here.here : 0);
  Json out = {{"name", analysis.name},
              {"placement", placement_of(analysis)},
              {"stages", std::move(stages)},
              {"every", analysis.every.text()},
              {"when", analysis.when ? Json(analysis.when->text()) : Json()}};
  if (analysis.is_movable()) {
    out["publications_at"] = {{"simulation", first_here.here}, {"sidecar", there_alone}};
    out["moves"] = migrations_of(all, a);
  }
  out["publications"] = there_alone + first_here.here;
  out["skipped"] = first_here.skipped;
  out["coarsened"] = first_here.coarsened;
  out["spilled"] = most(here, &CostCounters::spilled);
  out["dropped"] = who.dropped;
  out["lost"] = lost;
  out["disabled"] = text_or_null(why_disabled(all, a));
  out["seconds"] = {{"simulation", json_of(simulation_seconds)},
                    {"sidecar", json_of(sidecar_seconds)},
                    {"stall", json_of(mean_max(here, &CostCounters::stall_seconds))},
                    {"synchronous_estimate", synchronous}};
  out["bytes_moved"] = bytes;
  out["lag_seconds"] = {{"mean", lag}, {"max", who.longest_lag}};
  return out;
}

size_t number_of(const Statements& all, bool sidecars) {
  return static_cast<size_t>(
      std::count_if(all.begin(), all.end(), [&](const auto& s) { return s.sidecar == sidecars; }));
}

/// What the first simulation rank says of the run; what sidecars have seen of it if there is none.
Outcome outcome_of(const Statements& all) {
  for (const auto& s : all)
    if (!s.sidecar) return s.outcome;
  return all.empty() ? Outcome() : all.front().outcome;
}

Json json_of_run(const Run& run, const Statements& all) {
  const Outcome outcome = outcome_of(all);
  const double started = outcome.started > 0 ? outcome.started : run.started;
  return {{"id", id_of(run.id)},
          {"continues", run.continues},
          {"started", base::format_utc(started)},
          {"seconds", base::calendar_seconds() - started},
          {"simulation_ranks", number_of(all, false)},
          {"sidecar_ranks", number_of(all, true)},
          {"first_step", outcome.first_step},
          {"last_step", outcome.last_step},
          {"steps", outcome.steps},
          {"publications", outcome.publications},
          {"skipped", outcome.skipped},
          {"time", outcome.time},
          {"time_units", run.configuration.time_units},
          {"restarted_from", text_or_null(run.configuration.restart)}};
}

Json json_of_sidecars(const Run& run, const Statements& all) {
  const auto& spec = run.configuration.sidecars;
  const Outcome outcome = outcome_of(all);
  size_t peak = 0;
  int64_t in_place = 0, direct = 0;
  for (const auto& s : all) {
    peak = std::max(peak, s.outcome.peak);
    if (s.sidecar) continue;
    in_place += s.outcome.in_place;
    direct += s.outcome.direct;
  }
  return {{"ranks", number_of(all, true)},
          {"transport", spec.through_node() ? "node" : "network"},
          {"job", model::name_of(spec.job)},
          {"restarts", outcome.restarts},
          {"memory_bytes", spec.memory},
          {"memory_bytes_per_rank", outcome.budget},
          {"peak_bytes", peak},
          {"in_place_bytes", in_place},
          {"direct_bytes", direct},
          {"when_full", model::name_of(spec.when_full)},
          {"mapping", spec.within_job() ? Json(model::name_of(run.mapping)) : Json()}};
}

std::string format_report(const Run& run, const Statements& all) {
  Json out = {{"pillion", "report 1"},
              {"version", PILLION_VERSION},
              {"run", json_of_run(run, all)},
              {"sidecars", json_of_sidecars(run, all)}};
  for (const char* list : {"analyses", "products", "warnings", "remarks"})
    out[list] = Json::array();
  for (size_t a = 0; a < run.configuration.analyses.size(); ++a)
    out["analyses"].push_back(json_of_analysis(run, all, a));
  for (const auto& s : all) {
    for (const auto& p : s.products)
      out["products"].push_back(
          {{"analysis", p.analysis}, {"stage", p.stage}, {"path", p.path}, {"title", p.title}});
    for (const auto& warning : s.warnings) out["warnings"].push_back(warning);
    for (const auto& remark : s.remarks) out["remarks"].push_back(remark);
  }
  out["parameters"] = Json::object();
  for (const auto& [name, value] : run.configuration.parameters) out["parameters"][name] = value;
  out["configuration"] = run.configuration.text;
  return base::format_json(out, 1) + "\n";
}

/// What a simulation rank says of the analyses from `first` on.
void leave_out_before(size_t first, Statement& statement) {
  const auto shorten = [&](auto& list) {
    list.erase(list.begin(), list.begin() + static_cast<ptrdiff_t>(std::min(first, list.size())));
  };
  shorten(statement.accounts);
  shorten(statement.disabled);
}

}  // namespace

void write_report(const Run& run, const std::vector<base::Bytes>& statements,
                  const ReportScope& part) {
  Statements all;
  std::vector<products::RankTrace> traces;
  for (const auto& bytes : statements) {
    if (bytes.empty()) continue;
    all.push_back(base::from_bytes<Statement>(bytes));
    if (!all.back().sidecar) leave_out_before(part.first, all.back());
    traces.push_back(
        {all.back().sidecar ? "sidecar" : "simulation", all.back().rank, all.back().events});
  }
  const std::filesystem::path folder = run.configuration.output;
  const auto named = [&](const std::string& name) {
    const size_t dot = name.find('.');
    return folder / (name.substr(0, dot) + part.suffix + name.substr(dot));
  };
  products::write_whole(named(timeline_name),
                        products::format_trace(traces, run.started, id_of(run.id)), false);
  products::write_whole(named(report_name), format_report(run, all), false);
}

void write_report_together(const Run& run, const comm::Communicator& ranks, const Outcome& outcome,
                           std::vector<base::Bytes> more, const ReportScope& part) {
  auto statements = ranks.gather(state(run, outcome), 0);
  base::ByteWriter out;
  for (const auto& bytes : more) {
    out.put(static_cast<int64_t>(bytes.size()));
    out.put_raw(bytes.data(), bytes.size());
  }
  const auto others = ranks.gather(out.take(), 0);
  comm::together(ranks, [&] {
    if (ranks.rank() != 0) return;
    for (const auto& bytes : others)
      for (base::ByteReader in(bytes); !in.done();) {
        const auto size = static_cast<size_t>(in.get<int64_t>());
        const std::byte* begin = in.take(size);
        statements.emplace_back(begin, begin + size);
      }
    write_report(run, statements, part);
  });
}

}  // namespace pillion::run
