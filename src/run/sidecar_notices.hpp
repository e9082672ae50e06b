// SPDX-License-Identifier: BSD-3-Clause
// What sidecars of the simulation's own job tell it beside their acknowledgements. Where an
// analysis may run on either side, the time that they spend: now and then a small message from the
// first of them to the first simulation rank, which looks for it when it wants to know. At the end,
// what the report needs of them; and that they can work no more. No sidecar waits for the
// simulation here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"

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

/// Tells the first simulation rank that these sidecars have finished, and what they know for the
/// report. By the first sidecar; never waits, and the simulation may not look for it any more.
void tell_finished(const Run& run, const base::Bytes& summary);
/// What the sidecars told; nothing if they have not by `deadline`, in monotonic seconds. By the
/// first simulation rank.
[[nodiscard]] std::optional<base::Bytes> await_finished(const Run& run, double deadline);
/// The warning where the job cannot be ended at MPI_Finalize.
constexpr const char* not_ended_by_session =
    "the program has ranks that are not in this session, so that Pillion does not end it at "
    "MPI_Finalize: if sidecars hang there, the job hangs";
/// Keeps MPI_Finalize of the simulation from beginning before late sidecars have finished, for at
/// most `seconds`, and ends the job then. False if it cannot, for the job has ranks outside this
/// session. [collective over the simulation ranks]
bool await_late_sidecars_at_finalize(const Run& run, double seconds);

// Sidecars of the simulation's own MPI job that can work no more, through no fault of a stage: out
// of memory while a publication comes in, or by a defect. They tell the simulation ranks that they
// serve; the others learn it with what ranks agree on anyway. All then hand them nothing more and
// do not wait for them. Other sidecars may hang in a call with them; so that the job ends all the
// same, it is ended in MPI_Finalize.

class SidecarFailure {
 public:
  explicit SidecarFailure(const Run& run) : run_(run) {}

  /// Tells simulation ranks, by their numbers in `world`, why. By a sidecar; waits for none of them
  /// for longer than a deadline.
  void tell(const std::string& why, const std::vector<int>& ranks) const;
  /// Whether a sidecar has reported a failure. By a simulation rank; not collective, does not wait.
  [[nodiscard]] bool heard();
  /// Whether any simulation rank has heard. Then all have, and know why. [collective over them]
  [[nodiscard]] bool share();
  [[nodiscard]] const std::string& why() const { return why_; }
  /// Sees to it that the job ends when the simulation has come to its end. False if it cannot, for
  /// the job has ranks outside this session. [collective over the simulation ranks]
  bool end_job_at_finalize() const;

 private:
  const Run& run_;
  bool heard_ = false;
  std::string why_;
};

}  // namespace pillion::run
