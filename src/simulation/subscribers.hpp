// SPDX-License-Identifier: BSD-3-Clause
// Who receives publications: sidecars, of this job or of one of their own, and attached jobs. This
// is where a simulation rank sees them come, leave and fail, starts dead ones again, and carries
// out what the policy decides about them.
#pragma once

#include <limits>
#include <set>
#include <string>

#include "policy/policy.hpp"
#include "run/sidecar_notices.hpp"
#include "run/supervisor.hpp"
#include "simulation/lost_jobs.hpp"
#include "transport/transport.hpp"

namespace pillion::run {
struct AttachedJob;
struct Run;
}  // namespace pillion::run

namespace pillion::simulation {

class Subscribers {
 public:
  /// `sender` is null if there are none, and then nothing here is ever there.
  Subscribers(run::Run& run, transport::Sender* sender, run::Supervisor supervisor,
              policy::Policy& policy);

  /// Starts dead sidecars again, has those end whose job has lost one, and notices, within a
  /// millisecond, sidecars of this job that have failed. Costs nothing to speak of, and is called
  /// in every wait.
  void tend();
  /// Tells the policy what this rank sees: attached jobs, and analyses that sidecars have disabled.
  void see();
  [[nodiscard]] bool have_failed() const { return failed_; }
  /// Sidecars of this job have failed, as some rank says: all ranks learn why. [collective]
  void learn_failure();
  /// "the sidecars ended early: ...".
  [[nodiscard]] std::string why_failed() const;
  [[nodiscard]] const std::string& why() const { return sidecar_failure_.why(); }

  /// What the job in a slot asks for; throws if it cannot be read, asks for too much, or the owner
  /// of the run refuses attached jobs. The same on every rank.
  [[nodiscard]] run::AttachedJob read(int slot) const;
  /// Names of analyses that a job cannot use.
  [[nodiscard]] std::set<std::string> names_in_use() const;
  void admit(int slot, size_t first, size_t count);
  void refuse(int slot) { sender_->slots()->refuse(slot); }
  transport::Departure release(int slot) { return sender_->slots()->release(slot); }

  /// What all ranks found when they waited for their sidecars: whether those of another job have
  /// finished for every rank, or those of this job have failed. [collective]
  [[nodiscard]] policy::SidecarsAnswered settle(bool finished_here);
  /// Ends the job in MPI_Finalize, for sidecars that failed may hang. False if it cannot.
  /// [collective]
  [[nodiscard]] bool end_job_at_finalize() const { return sidecar_failure_.end_job_at_finalize(); }
  /// No more messages will come.
  void close_channel();
  enum class Found { Live, None, Finished };
  /// No sidecars of another job shall come any more. If there are none, what they kept for
  /// successors is removed, and what is in no product is counted as lost; unless they have finished
  /// after the deadline, and written the report. [collective]
  Found retire();
  [[nodiscard]] int64_t restarts() const { return supervisor_.restarts(); }

 private:
  void note_failure();

  run::Run& run_;
  transport::Sender* sender_;
  run::Supervisor supervisor_;
  policy::Policy& policy_;
  run::SidecarFailure sidecar_failure_;
  LostJobs lost_jobs_;
  bool failed_ = false;
  bool saw_any_ = false;  ///< attached jobs, when this rank saw last
  double next_look_ = -std::numeric_limits<double>::infinity();  ///< for notices of failure
};

}  // namespace pillion::simulation
