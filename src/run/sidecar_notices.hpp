// SPDX-License-Identifier: BSD-3-Clause
// What sidecars of the simulation's own job tell it of the time that they spend, where an analysis
// may run on either side: now and then a small message from the first of them to the first
// simulation rank, which looks for it when it wants to know. No rank waits.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pillion::run {

struct Run;

/// Sums since the run began.
struct LoadReport {
  double busy = 0;               ///< seconds of work on anything
  std::vector<double> worked;    ///< seconds, by analysis; for analyses that may move
  std::vector<double> finished;  ///< publications of these
};

/// Tells the first simulation rank, if this is the first sidecar.
void send_load_report(const Run& run, double busy);
/// Takes note of the last reports of sidecars. By the first simulation rank.
void receive_load_report(const Run& run, LoadReport& load_report);

// Sidecars of the simulation's own MPI job that can work no more, through no fault of a stage: out
// of memory while a publication comes in, or by a defect. They tell every simulation rank, which
// then hands them nothing more and does not wait for them. Other sidecars may hang in a call with
// them; so that the job ends all the same, it is ended in MPI_Finalize.

/// Tells the sidecars of this job how the simulation has closed: whether they were too late for the
/// report. By the simulation ranks, once.
void tell_closed(const Run& run, bool late);
/// What the simulation told. Waits until it has. [collective over the sidecars]
[[nodiscard]] bool were_late(const Run& run);
/// Sidecars that were late have finished. By each of them, at its end.
void tell_finished(const Run& run);
/// Keeps MPI_Finalize of the simulation from beginning before late sidecars have finished, for at
/// most `seconds`, and ends the job then. [collective over the simulation ranks]
void await_late_sidecars_at_finalize(const Run& run, double seconds);

class SidecarFailure {
 public:
  explicit SidecarFailure(const Run& run) : run_(run) {}

  /// Tells all simulation ranks why. By a sidecar; never waits.
  void tell(const std::string& why) const;
  /// Whether a sidecar has reported a failure. By a simulation rank; not collective, does not wait.
  [[nodiscard]] bool heard();
  /// Whether any simulation rank has heard; then all have. [collective over them]
  [[nodiscard]] bool heard_by_any();
  /// Until this rank has heard, too.
  void await();
  [[nodiscard]] const std::string& why() const { return why_; }
  /// Sees to it that the job ends when the simulation has come to its end.
  void end_job_at_finalize() const;

 private:
  const Run& run_;
  bool heard_ = false;
  std::string why_;
};

}  // namespace pillion::run
