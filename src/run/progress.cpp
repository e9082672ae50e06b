// SPDX-License-Identifier: BSD-3-Clause
// Formatting progress.
#include "run/progress.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pillion/version.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/default_environment.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/process.hpp"
#include "node/process.hpp"
#include "products/whole_file.hpp"

namespace pillion::run {

using base::Json;
using base::text_or_null;

void StepRate::note(double now, int64_t step) {
  constexpr double window = 5;
  if (!seen_.empty() && seen_.back().second == step) return;
  seen_.emplace_back(now, step);
  while (seen_.size() > 2 && seen_[1].first < now - window) seen_.pop_front();
}

double StepRate::per_second() const {
  if (seen_.size() < 2) return -1;
  const auto [first, from] = seen_.front();
  const auto [last, to] = seen_.back();
  return last > first ? static_cast<double>(to - from) / (last - first) : -1;
}

namespace {

const char* name_of(Phase phase) {
  constexpr std::array names{"running", "ended", "left", "failed"};
  return names[static_cast<size_t>(phase)];
}

/// Null for a negative number, which is not known.
template <class Number>
Json known(Number value) {
  return value < 0 ? Json() : Json(value);
}

/// Seconds since 1970, to the millisecond.
double moment(double seconds) { return std::round(seconds * 1000) / 1000; }

Json json_of(const BatchJob& job) {
  if (job.id.empty()) return {};
  return {{"system", job.system}, {"id", job.id}, {"nodes", text_or_null(job.nodes)}};
}

void add_head(Json& out, const Snapshot& s, const LiveState& now) {
  out["pillion"] = "progress 1";
  out["version"] = PILLION_VERSION;
  out["role"] = s.role;
  out["attached_job"] = text_or_null(s.attached_job);
  out["run"] = s.run;
  out["id"] = fmt::format("{:016x}", s.id);
  out["continues"] = s.continues;
  out["state"] = name_of(s.phase);
  out["failure"] = text_or_null(s.failure);
  out["pid"] = s.process;
  out["pid_started"] = s.process_start;
  out["pid_namespace"] = s.pid_namespace;
  out["host"] = s.host;
  out["boot"] = s.boot;
  out["batch_job"] = json_of(s.batch_job);
  out["started"] = moment(s.started);
  out["written"] = moment(now.written);
  out["changed"] = moment(now.changed);
  out["heartbeat_seconds"] = s.heartbeat;
  out["ranks"] = {{"simulation", known(s.simulation_ranks)}, {"sidecar", known(s.sidecar_ranks)}};
}

Json current_work(const Snapshot& s) {
  if (!s.work || s.work->analysis >= s.analyses.size()) return {};
  return {{"analysis", s.analyses[s.work->analysis].name},
          {"step", s.work->step},
          {"since", moment(s.work->since)}};
}

void add_state(Json& out, const Snapshot& s, const LiveState& now) {
  out["step"] = now.place ? Json(now.place->step) : Json();
  out["time"] = now.place ? Json(now.place->time) : Json();
  out["time_units"] = s.time_units;
  out["steps_per_second"] = known(now.steps_per_second);
  out["waiting"] = now.waiting;
  out["working"] = current_work(s);
  out["publications"] = s.publications;
  out["skipped"] = s.skipped;
  out["behind"] = known(s.behind);
  out["restarts"] = s.restarts;
  out["memory"] = {{"budget_bytes", known(s.budget)},
                   {"in_use_bytes", known(s.in_use)},
                   {"peak_bytes", known(s.peak)}};
}

Json json_of(const Snapshot& s, const AnalysisProgress& analysis) {
  const CostCounters& account = analysis.account;
  const Counts& counts = analysis.counts;
  const bool any = account.publications > 0;
  const double mean = any ? account.lag_seconds / static_cast<double>(account.publications) : 0;
  Json products = Json::array();
  for (const auto& [owner, path] : s.products)
    if (owner == analysis.name) products.push_back(path);
  return {
      {"name", analysis.name},
      {"placement", analysis.placement},
      {"every", analysis.every},
      {"when", text_or_null(analysis.when)},
      {"last_step", any ? Json(account.last_step) : Json()},
      {"publications", counts.publications},
      {"skipped", counts.skipped},
      {"coarsened", counts.coarsened},
      {"spilled", counts.spilled},
      {"dropped", counts.dropped + counts.withdrawn},
      {"lost", counts.lost},
      {"disabled", text_or_null(analysis.disabled)},
      {"seconds",
       {{"simulation", account.simulation_seconds},
        {"sidecar", account.sidecar_seconds},
        {"stall", account.stall_seconds}}},
      {"bytes_moved", account.bytes},
      {"lag_seconds", {{"last", account.last_lag}, {"mean", mean}, {"max", account.longest_lag}}},
      {"products", std::move(products)}};
}

}  // namespace

std::string format_progress(const Snapshot& s, const LiveState& now) {
  Json out;
  add_head(out, s, now);
  add_state(out, s, now);
  out["analyses"] = Json::array();
  for (const auto& analysis : s.analyses) out["analyses"].push_back(json_of(s, analysis));
  out["warnings"] = s.warnings;
  return base::format_json(out, 1) + "\n";
}

// An attached job that is called "sidecars" must not hide the run's own.
std::string progress_name(const Snapshot& s) {
  if (s.role == "simulation") return "progress.json";
  if (s.role == "sidecars") return "progress-sidecars.json";
  return fmt::format("progress-{}{}.json", s.attached_job == "sidecars" ? "attached-job-" : "",
                     s.attached_job);
}

double progress_period(const char* text) {
  constexpr double standard = 0.5, least = 0.01, most = 1e6;
  if (text == nullptr) return standard;
  char* end = nullptr;
  const double period = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(period >= 0)) return standard;
  return period == 0 ? 0 : std::clamp(period, least, most);
}

double heartbeat_of(double period) { return 4 * period; }

BatchJob batch_job_of(const std::function<const char*(const char*)>& environment) {
  struct System {
    const char *name, *id, *nodes;
  };
  constexpr std::array systems{System{"slurm", "SLURM_JOB_ID", "SLURM_JOB_NODELIST"},
                               System{"pbs", "PBS_JOBID", ""}, System{"lsf", "LSB_JOBID", ""}};
  constexpr size_t longest = 1000;  // characters; the file is written often
  const auto text = [&](const char* name) {
    const char* value = *name == '\0' ? nullptr : environment(name);
    return std::string(value == nullptr ? "" : value);
  };
  for (const auto& system : systems)
    if (const std::string id = text(system.id); !id.empty()) {
      const std::string nodes = text(system.nodes);
      return {system.name, id, nodes.size() > longest ? "" : nodes};
    }
  return {};
}

namespace {

Snapshot signed_by_this_process(Snapshot snapshot, double period) {
  snapshot.host = base::host_name();
  snapshot.boot = node::boot_id();
  snapshot.batch_job = batch_job_of(std::getenv);
  snapshot.heartbeat = heartbeat_of(period);
  snapshot.process = getpid();
  snapshot.pid_namespace = static_cast<int64_t>(node::pid_namespace());
  snapshot.process_start = node::start_of(node::this_process_if_known());
  return snapshot;
}

}  // namespace

ProgressFile::ProgressFile(const std::filesystem::path& folder, Snapshot first,
                           const StepPosition& mark, double period)
    : path_(std::filesystem::absolute(folder) / progress_name(first)),
      mark_(mark),
      period_(period),
      snapshot_(signed_by_this_process(std::move(first), period)) {
  const auto parent = path_.parent_path();
  try {
    thread_ = base::start_thread([this] { live(); });  // nothing below may throw while it runs
  } catch (const std::system_error& e) {               // a limit of threads: the run does without
    trouble_ = fmt::format("no thread can be started: {}", e.code().message());
    return;
  }
  folder_ = ::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

ProgressFile::~ProgressFile() {
  std::string why;
  (void)base::guard([&] { why = "the session ended without having been closed"; });
  end(Phase::Failed, why);
  if (folder_ >= 0) ::close(folder_);
}

// The thread ends in any case, also where there is no memory for the reason.
void ProgressFile::announce_end(Phase phase, const std::string& failure) {
  tell([&](Snapshot& snapshot) {
    if (ended_) return;
    last_place_ = mark_.get();
    ended_ = true;
    snapshot.phase = phase;
    snapshot.work.reset();
    (void)base::guard([&] { snapshot.failure = failure; });
  });
  wake_.notify_one();
}

void ProgressFile::end(Phase phase, const std::string& failure) {
  if (!thread_.joinable()) return;
  announce_end(phase, failure);
  thread_.join();
}

std::string ProgressFile::trouble() {
  const std::lock_guard lock(mutex_);
  return std::exchange(trouble_, {});
}

// Without memory the file is as old as it is, until there is some again. The thread stays: a run
// whose file is never written again is taken for dead on other machines.
void ProgressFile::live() {
  std::unique_lock lock(mutex_);
  const auto attempt = [&] {
    (void)base::guard([&] { write_news(lock); });
    if (!lock.owns_lock()) lock.lock();
  };
  while (!ended_) {
    attempt();
    // The mutex is released meanwhile, and notes of the run wait for no write.
    wake_.wait_for(lock, period_, [this] { return ended_; });
  }
  attempt();
}

void ProgressFile::write_news(std::unique_lock<std::mutex>& lock) {
  auto place = ended_ ? last_place_ : mark_.get();
  if (!place) place = instant_.place;
  const bool waiting = !ended_ && mark_.is_waiting();
  const bool is_new =
      version_ != written_version_ || place != instant_.place || waiting != instant_.waiting;
  const double now = base::monotonic_seconds();
  // Without news it is a heartbeat, for readers on other machines, who see no process.
  if (!is_new && now < beaten_ + written_.heartbeat) return;
  written_ = snapshot_;
  written_version_ = version_;
  lock.unlock();
  if (place) pace_.note(now, place->step);
  const bool simulates = written_.role == "simulation";
  const double calendar = base::calendar_seconds();
  instant_ = {place, waiting, simulates ? pace_.per_second() : -1, calendar,
              is_new ? calendar : instant_.changed};
  beaten_ = now;
  std::string trouble;
  try {
    products::write_whole(path_, format_progress(written_, instant_), false);
  } catch (const std::exception& e) {
    trouble = e.what();
  }
  lock.lock();
  if (!trouble.empty() && !std::exchange(troubled_, true)) trouble_ = trouble;
}

}  // namespace pillion::run
