// SPDX-License-Identifier: BSD-3-Clause
// Gathering and formatting the run report (docs/products.md has its keys).
#include "run/report.hpp"

#include <pillion/version.h>

#include <iterator>

#include "base/json.hpp"
#include "comm/agreement.hpp"
#include "products/whole_file.hpp"

namespace pillion::run {

using base::json_number;
using base::json_text;

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

std::string json_mean_max(const MeanMax& s) {
  return fmt::format("{{\"mean\": {}, \"max\": {}}}", json_number(s.mean), json_number(s.max));
}

/// Why an analysis is disabled: what a sidecar says counts more than the simulation's hearsay.
std::string why_disabled(const Statements& all, size_t analysis) {
  std::string why;
  for (const auto& s : all)
    if (analysis < s.disabled.size() && !s.disabled[analysis].empty() && (why.empty() || s.sidecar))
      why = s.disabled[analysis];
  return why;
}

/// When, where to and why an analysis went that may run on either side; all simulation ranks say
/// the same. Nothing of another analysis.
std::string format_moves(const Run& run, const Statements& all, size_t a, int64_t here,
                         int64_t there) {
  if (!run.configuration.analyses[a].is_movable()) return {};
  std::vector<std::string> moves;
  const auto first = std::find_if(all.begin(), all.end(), [](const auto& s) { return !s.sidecar; });
  if (first != all.end())
    for (const auto& move : first->moves)
      if (move.analysis == a)
        moves.push_back(
            fmt::format("{{\"step\": {}, \"to\": \"{}\", \"after_seconds\": {}, \"seconds\": {}, "
                        "\"why\": {}}}",
                        move.step, move.there ? "sidecar" : "simulation", json_number(move.after),
                        json_number(move.seconds), json_text(move.why)));
  return fmt::format(
      "     \"publications_at\": {{\"simulation\": {}, \"sidecar\": {}}},\n     \"moves\": [{}],\n",
      here, there, fmt::join(moves, ", "));
}

std::string format_analysis(const Run& run, const Statements& all, size_t a) {
  const auto& analysis = run.configuration.analyses[a];
  const auto here = accounts_of(all, false, a);
  const auto there = accounts_of(all, true, a);
  const bool sidecar = analysis.in_sidecars();
  std::vector<std::string> stages;
  for (const auto& stage : analysis.stages) stages.push_back(json_text(stage.name));
  const auto sidecar_seconds = mean_max(there, &CostCounters::sidecar_seconds);
  const auto simulation_seconds = mean_max(here, &CostCounters::simulation_seconds);
  const CostCounters nobody;
  const CostCounters& first_here = here.empty() ? nobody : here.front();
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
  const std::string why = why_disabled(all, a);
  const int64_t lost = most(there.empty() ? here : there, &CostCounters::lost);
  // A simulation rank knows what it has handed on; what became of it, sidecars would have to tell.
  const int64_t there_alone =
      who.publications - (sidecar && there.empty() ? lost + first_here.here : 0);
  const int64_t worked_on = there_alone + first_here.here;
  return fmt::format(
      "    {{\"name\": {}, \"placement\": \"{}\", \"stages\": [{}], \"every\": {}, \"when\": {},\n"
      "{}     \"publications\": {}, \"skipped\": {}, \"coarsened\": {}, \"spilled\": {}, "
      "\"dropped\": {}, \"lost\": {},\n     \"disabled\": {},\n"
      "     \"seconds\": {{\"simulation\": {}, \"sidecar\": {}, \"stall\": {},\n"
      "                 \"synchronous_estimate\": {}}},\n"
      "     \"bytes_moved\": {}, \"lag_seconds\": {{\"mean\": {}, \"max\": {}}}}}",
      json_text(analysis.name), placement_of(analysis), fmt::join(stages, ", "),
      json_text(analysis.every.text()), analysis.when ? json_text(analysis.when->text()) : "null",
      format_moves(run, all, a, first_here.here, there_alone), worked_on, first_here.skipped,
      first_here.coarsened, most(here, &CostCounters::spilled), who.dropped, lost,
      why.empty() ? "null" : json_text(why), json_mean_max(simulation_seconds),
      json_mean_max(sidecar_seconds), json_mean_max(mean_max(here, &CostCounters::stall_seconds)),
      json_number(synchronous), bytes, json_number(lag), json_number(who.longest_lag));
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

std::string format_run(const Run& run, const Statements& all) {
  const Outcome outcome = outcome_of(all);
  const double now = base::calendar_seconds();
  const double started = outcome.started > 0 ? outcome.started : run.started;
  const auto& restart = run.configuration.restart;
  return fmt::format(
      "  \"run\": {{\"id\": \"{}\", \"continues\": [{}],\n          \"started\": {}, \"seconds\": "
      "{}, \"simulation_ranks\": {}, \"sidecar_ranks\": {},\n          \"first_step\": {}, "
      "\"last_step\": {}, \"steps\": {}, \"publications\": {}, \"skipped\": {},\n          "
      "\"time\": "
      "{}, \"time_units\": {}, \"restarted_from\": {}}}",
      id_of(run.id), base::json_list(run.continues), json_text(base::format_utc(started)),
      json_number(now - started), number_of(all, false), number_of(all, true), outcome.first_step,
      outcome.last_step, outcome.steps, outcome.publications, outcome.skipped,
      json_number(outcome.time), json_text(run.configuration.time_units),
      restart.empty() ? "null" : json_text(restart));
}

std::string format_sidecars(const Run& run, const Statements& all) {
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
  return fmt::format(
      "  \"sidecars\": {{\"ranks\": {}, \"transport\": \"{}\", \"job\": \"{}\", "
      "\"restarts\": {},\n               \"memory_bytes\": {}, \"memory_bytes_per_rank\": {}, "
      "\"peak_bytes\": {}, \"in_place_bytes\": {},\n               \"direct_bytes\": {}, "
      "\"when_full\": \"{}\", \"mapping\": {}}}",
      number_of(all, true), spec.through_node() ? "node" : "network", model::name_of(spec.job),
      outcome.restarts, spec.memory, outcome.budget, peak, in_place, direct,
      model::name_of(spec.when_full),
      spec.within_job() ? json_text(model::name_of(run.mapping)) : "null");
}

std::string format_report(const Run& run, const Statements& all) {
  std::vector<std::string> analyses, products, warnings, remarks;
  for (size_t a = 0; a < run.configuration.analyses.size(); ++a)
    analyses.push_back(format_analysis(run, all, a));
  for (const auto& s : all) {
    for (const auto& p : s.products)
      products.push_back(fmt::format(
          "    {{\"analysis\": {}, \"stage\": {}, \"path\": {}, \"title\": {}}}",
          json_text(p.analysis), json_text(p.stage), json_text(p.path), json_text(p.title)));
    for (const auto& warning : s.warnings) warnings.push_back("    " + json_text(warning));
    for (const auto& remark : s.remarks) remarks.push_back("    " + json_text(remark));
  }
  std::vector<std::string> parameters;
  for (const auto& [name, value] : run.configuration.parameters)
    parameters.push_back(json_text(name) + ": " + json_text(value));
  return fmt::format(
      "{{\n  \"pillion\": \"report 1\", \"version\": {},\n{},\n{},\n  \"analyses\": [\n{}\n  ],\n"
      "  \"products\": [\n{}\n  ],\n  \"warnings\": [\n{}\n  ],\n  \"remarks\": [\n{}\n  ],\n  "
      "\"parameters\": {{{}}},\n  "
      "\"configuration\": {}\n}}\n",
      json_text(PILLION_VERSION), format_run(run, all), format_sidecars(run, all),
      fmt::join(analyses, ",\n"), fmt::join(products, ",\n"), fmt::join(warnings, ",\n"),
      fmt::join(remarks, ",\n"), fmt::join(parameters, ", "), json_text(run.configuration.text));
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
