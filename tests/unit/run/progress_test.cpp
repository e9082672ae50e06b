// SPDX-License-Identifier: BSD-3-Clause
#include "run/progress.hpp"

#include <doctest/doctest.h>

#include <map>

#include "base/value.hpp"

using namespace pillion;
using namespace pillion::run;

namespace {

Snapshot sample() {
  Snapshot s;
  s.role = "simulation";
  s.run = "heat \"1\"";
  s.id = 0xf00;
  s.host = "node7";
  s.process = 42;
  s.process_start = 4711;
  s.pid_namespace = 815;
  s.boot = "b7";
  s.heartbeat = 2;
  s.started = 1000.25;
  s.simulation_ranks = 3;
  s.time_units = "fs";
  s.publications = 7;
  s.analyses.push_back({"decay", "sidecar", "10 steps", "", "", {}, {}});
  s.analyses.push_back({"halos", "hybrid", "1 ps", "max(T) > 3", "out\nof memory", {}, {}});
  auto& account = s.analyses[1].account;
  account.publications = 4;
  s.analyses[1].counts.publications = 9;
  account.last_step = -20;
  account.lag_seconds = 2;
  account.last_lag = 0.125;
  account.bytes = int64_t{1} << 40;
  s.products = {{"halos", "halos/a.csv"}, {"decay", "decay/b.csv"}, {"halos", "halos/c.csv"}};
  s.warnings = {"careful"};
  return s;
}

/// JSON is YAML, so the project's own reader takes it.
base::Value parse(const Snapshot& snapshot, const LiveState& instant) {
  return base::parse_yaml(format_progress(snapshot, instant), "progress", {});
}

std::string text_at(const base::Value& value, const char* key) {
  const auto* found = value.find(key);
  REQUIRE(found != nullptr);
  return found->text;
}

}  // namespace

TEST_CASE("progress says who writes, how the run goes, and what analyses do") {
  const auto root = parse(sample(), {{{1200, 2.5}}, true, 99.5, 1001.5, 1000.5});
  CHECK(text_at(root, "pillion") == "progress 1");
  CHECK(text_at(root, "run") == "heat \"1\"");
  CHECK(text_at(root, "id") == "0000000000000f00");
  CHECK(text_at(root, "state") == "running");
  CHECK(text_at(root, "pid") == "42");
  CHECK(text_at(root, "pid_started") == "4711");
  CHECK(text_at(root, "pid_namespace") == "815");
  CHECK(text_at(root, "boot") == "b7");
  CHECK(text_at(root, "written") == "1001.5");
  CHECK(text_at(root, "changed") == "1000.5");
  CHECK(text_at(root, "heartbeat_seconds") == "2.0");
  CHECK(text_at(root, "step") == "1200");
  CHECK(text_at(root, "time") == "2.5");
  CHECK(text_at(root, "steps_per_second") == "99.5");
  CHECK(text_at(root, "waiting") == "true");
  CHECK(text_at(*root.find("ranks"), "simulation") == "3");
  const auto& analyses = root.find("analyses")->entries;
  REQUIRE(analyses.size() == 2);
  CHECK(text_at(analyses[1].second, "last_step") == "-20");
  CHECK(text_at(analyses[1].second, "disabled") == "out\nof memory");
  CHECK(text_at(analyses[1].second, "bytes_moved") == "1099511627776");
  CHECK(text_at(*analyses[1].second.find("lag_seconds"), "mean") == "0.5");
  CHECK(text_at(*analyses[1].second.find("lag_seconds"), "last") == "0.125");
  REQUIRE(analyses[1].second.find("products")->entries.size() == 2);
  CHECK(analyses[1].second.find("products")->entries[1].second.text == "halos/c.csv");
}

TEST_CASE("what is not known is null") {
  const auto root = parse(sample(), {});
  for (const char* key :
       {"step", "time", "steps_per_second", "behind", "working", "attached_job", "batch_job"})
    CHECK_MESSAGE(root.find(key)->is_null(), key);
  CHECK(root.find("ranks")->find("sidecar")->is_null());
  CHECK(root.find("memory")->find("budget_bytes")->is_null());
  const auto& first = root.find("analyses")->entries[0].second;
  for (const char* key : {"last_step", "when", "disabled"})
    CHECK_MESSAGE(first.find(key)->is_null(), key);
}

TEST_CASE("the work at hand and the end are told") {
  auto snapshot = sample();
  snapshot.work = CurrentWork{1, 30, 1000};
  CHECK(text_at(*parse(snapshot, {}).find("working"), "analysis") == "halos");
  snapshot.work->analysis = 2;  // one that nobody has described yet
  CHECK(parse(snapshot, {}).find("working")->is_null());
  for (const auto& [phase, name] :
       {std::pair(Phase::Ended, "ended"), {Phase::Left, "left"}, {Phase::Failed, "failed"}}) {
    snapshot.phase = phase;
    CHECK(text_at(parse(snapshot, {}), "state") == name);
  }
}

TEST_CASE("every part of a run has a file of its own") {
  Snapshot s;
  s.role = "simulation";
  CHECK(progress_name(s) == "progress.json");
  s.role = "sidecars";
  CHECK(progress_name(s) == "progress-sidecars.json");
  s.role = "attached_job";
  s.attached_job = "extra";
  CHECK(progress_name(s) == "progress-extra.json");
  s.attached_job = "sidecars";
  CHECK(progress_name(s) == "progress-attached-job-sidecars.json");
}

TEST_CASE("the environment says how often progress is written") {
  CHECK(progress_period(nullptr) == 0.5);
  CHECK(progress_period("0") == 0);
  CHECK(progress_period("2.5") == 2.5);
  CHECK(progress_period("1e-9") == 0.01);
  CHECK(progress_period("inf") == 1e6);
  CHECK(progress_period("1e300") == 1e6);
  for (const char* nonsense : {"", "often", "1 s", "-1", "nan"})
    CHECK_MESSAGE(progress_period(nonsense) == 0.5, nonsense);
}

TEST_CASE("the batch job is what the environment says") {
  using Variables = std::map<std::string, std::string>;
  const auto job = [](const Variables& variables) {
    return batch_job_of([&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  };
  CHECK(job({}).id.empty());
  CHECK(job({{"SLURM_JOB_ID", ""}}).id.empty());
  const auto slurm = job({{"SLURM_JOB_ID", "74"}, {"SLURM_JOB_NODELIST", "n[0-1]"}});
  CHECK(slurm.system == "slurm");
  CHECK(slurm.id == "74");
  CHECK(slurm.nodes == "n[0-1]");
  CHECK(job({{"PBS_JOBID", "9.server"}}).system == "pbs");
  CHECK(job({{"LSB_JOBID", "12"}}).system == "lsf");
  // Of thousands of nodes without a common name: the file is written twice a second.
  const auto large = job({{"SLURM_JOB_ID", "75"}, {"SLURM_JOB_NODELIST", std::string(1001, 'n')}});
  CHECK(large.id == "75");
  CHECK(large.nodes.empty());
  auto snapshot = sample();
  snapshot.batch_job = slurm;
  const auto root = parse(snapshot, {});
  CHECK(text_at(*root.find("batch_job"), "system") == "slurm");
  CHECK(text_at(*root.find("batch_job"), "id") == "74");
  CHECK(text_at(*root.find("batch_job"), "nodes") == "n[0-1]");
  snapshot.batch_job.nodes = "";
  CHECK(parse(snapshot, {}).find("batch_job")->find("nodes")->is_null());
}

TEST_CASE("the pace is that of the last seconds") {
  StepRate pace;
  CHECK(pace.per_second() < 0);
  pace.note(0, 10);
  CHECK(pace.per_second() < 0);
  pace.note(0.5, 10);  // no step since
  CHECK(pace.per_second() < 0);
  for (int i = 1; i <= 100; ++i) pace.note(i * 0.5, 10 + i);
  CHECK(pace.per_second() == doctest::Approx(2));
  for (int i = 1; i <= 100; ++i) pace.note(50 + i * 0.5, 110 + 10 * i);
  CHECK(pace.per_second() == doctest::Approx(20));
  pace.note(200, 1120);  // after a long step
  CHECK(pace.per_second() == doctest::Approx(10 / 100.0).epsilon(0.1));
}
