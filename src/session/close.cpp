// SPDX-License-Identifier: BSD-3-Clause
// Closing a session on simulation ranks: sidecars finish, and the report is written.
#include <algorithm>

#include "base/disk_deadline.hpp"
#include "comm/agreement.hpp"
#include "run/finalize.hpp"
#include "run/report.hpp"
#include "run/sidecar_notices.hpp"
#include "run/supervisor.hpp"
#include "session/session.hpp"
#include "sidecar/sidecar.hpp"
#include "simulation/simulation.hpp"

namespace pillion::session {

void Session::close(double seconds) {
  if (deferred_ && !simulation_ && !run_.is_sidecar()) {
    if (!failure_) (void)meet_for_configuration(true);
    return;
  }
  auto& side = simulation();
  // Files wait no longer than everything else in this call; see docs/concepts/containment.md.
  constexpr double beyond = 0.4;  // seconds
  std::optional<base::DiskDeadline> disk;
  try {
    disk.emplace(base::monotonic_seconds() + 1.1 * run_.configuration.sidecars.deadline + beyond);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the others wait at once
  }
  std::exception_ptr failure;
  std::string why;
  try {
    finish(seconds);
    why = side.refusal();
  } catch (const simulation::Late&) {
    throw;  // the session is open as before
  } catch (const std::exception& e) {
    failure = std::current_exception();
    try {
      why = e.what();
    } catch (const std::bad_alloc&) {
      why = "failed";
    }
    side.end_alone();
  }
  // The run has ended on every rank. What this one lacks from here on is a warning.
  try {
    release_files(disk, why);
  } catch (const std::exception& e) {
    (void)comm::failure_of([&] {
      run_.log.warn("rank {}: the last files of the run could not be written: {}", run_.side.rank(),
                    e.what());
    });
  }
  comm::rethrow(failure);
}

void Session::close() { close(run_.patience); }

bool Session::must_stay() const { return simulation_ && simulation_->have_parted(); }

// What a slow disk has not taken is written later, and MPI_Finalize gives it time.
void Session::release_files(const std::optional<base::DiskDeadline>& disk,
                            const std::string& failure) {
  end_progress(failure);
  (void)base::on_disk([folder = std::make_shared<run::RunFolder>(std::move(run_.folder))] {
    folder->release(true);
  });
  if (!disk || !disk->has_passed()) return;
  const double patience = run::patience_at_finalize(run_.configuration.sidecars.deadline);
  run_.log.warn(
      "rank {}: the disk has not taken the run's last files within the deadline of {:.4g} s; they "
      "are written until MPI_Finalize, which waits for that for {:.4g} s at most",
      run_.side.rank(), run_.configuration.sidecars.deadline, patience);
  // It lives until the program ends, as no object can own it.
  new comm::AtFinalize([rest = disk->rest(), patience] { (void)rest(patience); });
}

// Sidecars that have finished everything may still hang while they write their timelines. They get
// what is left of the deadline, and a tenth of it at least.
bool Session::await_sidecars_summary(std::vector<base::Bytes>& summaries) {
  const double least = 0.1 * run_.configuration.sidecars.deadline;
  const run::Stopwatch watch;
  enum : int32_t { Arrived, Late, Unread };
  int32_t found = Arrived;
  if (run_.side.rank() == 0) {
    const run::Waiting waiting(run_.mark);
    // The other ranks wait for what this one has found, whatever it lacks.
    if (comm::failure_of([&] {
          auto summary = run::await_finished(
              run_, std::max(simulation().call_deadline(), base::monotonic_seconds() + least));
          if (summary) summaries.push_back(std::move(*summary));
          else found = Late;
        }))
      found = Unread;
  }
  found = run_.side.reduced<int32_t>(found, comm::Operation::Max);
  simulation().bill_end(watch);
  if (found == Late)
    run_.warn(fmt::format(
        "sidecars had finished their analyses when the simulation ended, but did not come to "
        "their own end within the deadline of {:.4g} s; the report lacks their costs and products",
        run_.configuration.sidecars.deadline));
  else if (found == Unread)
    run_.warn(
        "simulation rank 0 could not read the summary of the sidecars; the report lacks their "
        "costs and products");
  return found == Arrived;
}

void Session::finish(double seconds) {
  auto& side = simulation();
  side.close(seconds);
  const auto& spec = run_.configuration.sidecars;
  const bool separate = spec.job == model::Job::Separate;
  std::vector<base::Bytes> summaries;
  if (spec.within_job() && !side.answer().failed &&
      !(side.answer().finished && await_sidecars_summary(summaries)) &&
      !run::await_late_sidecars_at_finalize(run_, run::patience_at_finalize(spec.deadline)))
    run_.warn(run::not_ended_by_session);
  // The other ranks wait for the report, whatever this one lacks.
  if (run_.side.rank() == 0) (void)comm::failure_of([&] { run::count_unwritten(run_); });
  try {
    // Sidecars of another job write the report, and each side its own timelines.
    if (separate && side.answer().finished) return run::write_timelines(run_);
    run::write_report_together(run_, side.outcome(), summaries);
  } catch (const std::exception& e) {
    if (!separate) throw;
    run_.warn(e.what());
  }
}

}  // namespace pillion::session
