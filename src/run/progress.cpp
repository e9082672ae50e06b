// SPDX-License-Identifier: BSD-3-Clause
// Formatting progress.
#include "run/progress.hpp"

#include <fcntl.h>
#include <pillion/version.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "node/process.hpp"
#include "products/whole_file.hpp"

namespace pillion::run {

using base::json_number;
using base::json_text;

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

std::string text_or_null(const std::string& text) {
  return text.empty() ? "null" : json_text(text);
}

template <class Number>
std::string number_or_null(Number value) {
  return value < 0 ? "null" : json_number(static_cast<double>(value));
}

std::string count_or_null(int64_t value) { return value < 0 ? "null" : fmt::format("{}", value); }

/// Seconds since 1970, to the millisecond.
std::string moment(double seconds) { return fmt::format("{:.3f}", seconds); }

std::string format_head(const Snapshot& s, const LiveState& now) {
  return fmt::format(
      "  \"pillion\": \"progress 1\", \"version\": {}, \"role\": {}, \"guest\": {},\n"
      "  \"run\": {}, \"id\": \"{:016x}\", \"continues\": [{}], \"state\": \"{}\", "
      "\"failure\": {},\n"
      "  \"pid\": {}, \"pid_started\": {}, \"host\": {}, \"started\": {}, \"written\": {},\n"
      "  \"ranks\": {{\"simulation\": {}, \"sidecar\": {}}}",
      json_text(PILLION_VERSION), json_text(s.role), text_or_null(s.attached_job), json_text(s.run),
      s.id, base::json_list(s.continues), name_of(s.phase), text_or_null(s.failure), s.process,
      s.process_start, json_text(s.host), moment(s.started), moment(now.written),
      count_or_null(s.simulation_ranks), count_or_null(s.sidecar_ranks));
}

std::string format_work(const Snapshot& s) {
  if (!s.work || s.work->analysis >= s.analyses.size()) return "null";
  return fmt::format("{{\"analysis\": {}, \"step\": {}, \"since\": {}}}",
                     json_text(s.analyses[s.work->analysis].name), s.work->step,
                     moment(s.work->since));
}

std::string format_state(const Snapshot& s, const LiveState& now) {
  return fmt::format(
      "  \"step\": {}, \"time\": {}, \"time_units\": {}, \"steps_per_second\": {},\n"
      "  \"waiting\": {}, \"working\": {},\n"
      "  \"publications\": {}, \"skipped\": {}, \"behind\": {}, \"restarts\": {},\n"
      "  \"memory\": {{\"budget_bytes\": {}, \"in_use_bytes\": {}, \"peak_bytes\": {}}}",
      now.place ? fmt::format("{}", now.place->step) : "null",
      now.place ? json_number(now.place->time) : "null", json_text(s.time_units),
      number_or_null(now.steps_per_second), now.waiting, format_work(s), s.publications, s.skipped,
      count_or_null(s.behind), s.restarts, count_or_null(s.budget), count_or_null(s.in_use),
      count_or_null(s.peak));
}

std::string format_products(const Snapshot& s, const std::string& analysis) {
  std::vector<std::string> paths;
  for (const auto& [owner, path] : s.products)
    if (owner == analysis) paths.push_back(json_text(path));
  return fmt::format("[{}]", fmt::join(paths, ", "));
}

std::string format_analysis(const Snapshot& s, const AnalysisProgress& analysis) {
  const CostCounters& account = analysis.account;
  const bool any = account.publications > 0;
  const double mean = any ? account.lag_seconds / static_cast<double>(account.publications) : 0;
  return fmt::format(
      "    {{\"name\": {}, \"placement\": \"{}\", \"every\": {}, \"when\": {},\n"
      "     \"last_step\": {}, \"publications\": {}, \"skipped\": {}, \"coarsened\": {}, "
      "\"spilled\": {}, \"dropped\": {}, \"lost\": {},\n     \"disabled\": {},\n"
      "     \"seconds\": {{\"simulation\": {}, \"sidecar\": {}, \"stall\": {}}},\n"
      "     \"bytes_moved\": {}, \"lag_seconds\": {{\"last\": {}, \"mean\": {}, \"max\": {}}},\n"
      "     \"products\": {}}}",
      json_text(analysis.name), analysis.placement, json_text(analysis.every),
      text_or_null(analysis.when), any ? fmt::format("{}", account.last_step) : "null",
      account.publications, account.skipped, account.coarsened, account.spilled, account.dropped,
      account.lost, text_or_null(analysis.disabled), json_number(account.simulation_seconds),
      json_number(account.sidecar_seconds), json_number(account.stall_seconds), account.bytes,
      json_number(account.last_lag), json_number(mean), json_number(account.longest_lag),
      format_products(s, analysis.name));
}

}  // namespace

std::string format_progress(const Snapshot& s, const LiveState& now) {
  std::vector<std::string> analyses, warnings;
  for (const auto& analysis : s.analyses) analyses.push_back(format_analysis(s, analysis));
  for (const auto& warning : s.warnings) warnings.push_back(json_text(warning));
  return fmt::format("{{\n{},\n{},\n  \"analyses\": [\n{}\n  ],\n  \"warnings\": [{}]\n}}\n",
                     format_head(s, now), format_state(s, now), fmt::join(analyses, ",\n"),
                     fmt::join(warnings, ", "));
}

// A guest that is called "sidecars" must not hide the run's own.
std::string progress_name(const Snapshot& s) {
  if (s.role == "simulation") return "progress.json";
  if (s.role == "sidecars") return "progress-sidecars.json";
  return fmt::format("progress-{}{}.json", s.attached_job == "sidecars" ? "guest-" : "",
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

namespace {

/// While it lives, threads that are started take no signals: these are for the program's own.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

Snapshot signed_by_this_process(Snapshot snapshot) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  snapshot.host = host.data();
  snapshot.process = getpid();
  snapshot.process_start = node::start_of(node::this_process());
  return snapshot;
}

}  // namespace

ProgressFile::ProgressFile(const std::filesystem::path& folder, Snapshot first,
                           const StepPosition& mark, double period)
    : path_(std::filesystem::absolute(folder) / progress_name(first)),
      mark_(mark),
      period_(period),
      snapshot_(signed_by_this_process(std::move(first))) {
  const NoSignals while_starting;
  thread_ = std::thread([this] { live(); });
  folder_ = ::open(path_.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

ProgressFile::~ProgressFile() {
  end(Phase::Failed, "the session ended without having been closed");
  if (folder_ >= 0) ::close(folder_);
}

void ProgressFile::end(Phase phase, const std::string& failure) {
  if (!thread_.joinable()) return;
  tell([&](Snapshot& snapshot) {
    snapshot.phase = phase;
    snapshot.failure = failure;
    snapshot.work.reset();
    ended_ = true;
  });
  wake_.notify_one();
  thread_.join();
}

std::string ProgressFile::trouble() {
  const std::lock_guard lock(mutex_);
  return std::exchange(trouble_, {});
}

// Without memory nothing more is told; the simulation goes on.
void ProgressFile::live() try {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    write_news(lock);
    wake_.wait_for(lock, period_, [this] { return ended_; });
  }
  write_news(lock);
} catch (const std::exception&) {}

void ProgressFile::write_news(std::unique_lock<std::mutex>& lock) {
  auto place = mark_.get();
  if (!place) place = instant_.place;
  const bool waiting = mark_.is_waiting();
  if (version_ == written_version_ && place == instant_.place && waiting == instant_.waiting)
    return;
  written_ = snapshot_;
  written_version_ = version_;
  lock.unlock();
  if (place) pace_.note(base::monotonic_seconds(), place->step);
  const bool simulates = written_.role == "simulation";
  instant_ = {place, waiting, simulates ? pace_.per_second() : -1, base::calendar_seconds()};
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
