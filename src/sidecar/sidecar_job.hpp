// SPDX-License-Identifier: BSD-3-Clause
// A sidecar job: sidecars in an MPI job of their own that attach to a run, work for it, and may
// leave or die at any time. It runs the run's own sidecar stages, or, as an attached job, adds
// analyses of its own.
#pragma once

#include "run/attached_job.hpp"
#include "run/attachment.hpp"
#include "run/saved_state.hpp"
#include "sidecar/expulsion_watch.hpp"
#include "sidecar/sidecar.hpp"
#include "transport/copying_receiver.hpp"

namespace pillion::sidecar {

struct Attach {
  std::string run;              ///< its name or id
  std::string analyses;         ///< an attached job's YAML file; "" for the run's own sidecars
  base::Parameters parameters;  ///< of that file
  std::string name;             ///< of an attached job; "" to take that of its file
  double patience = 10;         ///< seconds to wait for the run to be there
  base::Log log;
  std::function<bool()> leave;          ///< whether the sidecar job was asked to leave
  std::function<bool()> leave_at_once;  ///< whether it was asked by hand, or more than once
  /// Ends this process, on another thread, for one of the job has died. Null: it stays.
  std::function<void()> expelled;
};

class SidecarJob {
 public:
  /// Finds the run. [collective] Throws the same error on every rank.
  SidecarJob(Attach attach, MPI_Comm comm);
  /// Whether the run is on other nodes only; then there is nothing to do, and no other call.
  [[nodiscard]] bool is_elsewhere() const { return attachment_.segments.empty(); }
  /// Whether this is the first rank of the job.
  [[nodiscard]] bool is_first() const { return run_.side && run_.side.rank() == 0; }
  /// Loads the stages, takes a slot, works until the run ends or the job is asked to leave, and
  /// writes the report. [collective] Throws the same error on every rank if there is no slot for
  /// it.
  policy::SidecarEnding work();

 private:
  using Event = Sidecar::Event;
  [[nodiscard]] bool is_attached_job() const { return !attach_.analyses.empty(); }
  [[nodiscard]] bool is_needed() const;
  void configure();
  void make_sidecar();
  void read_attached_file();
  policy::SidecarEnding serve();
  void join_folder();
  void start_progress();

  Event carry_out(const policy::SidecarAction& action);
  Event claim(const policy::Claim& claim);
  [[noreturn]] void refuse(policy::Refusal why) const;
  Event read_predecessor();
  void restore_stages();
  Event read_interrupted(int64_t index);
  void start_at(const policy::StartAt& start);
  Event request_admission();
  void start_at_next();
  void leave_slot();
  [[nodiscard]] std::vector<int64_t> ended() const;
  Event agree_on_saving();
  void save_for_successors();
  void remove_saved_state();
  /// Adds to what is lost, or takes from it, the publications that wait. [collective]
  void count_unread(int64_t sign);
  void write_report();

  Attach attach_;
  std::unique_ptr<Leaving> leaving_;
  node::JobNumber number_ = 0;  ///< of this job
  run::Run run_;
  run::Attachment attachment_;
  run::RunSpec spec_;
  run::AttachedJob attached_job_;
  std::optional<run::SuccessorState> successor_state_;  ///< of a separate job
  std::unique_ptr<Sidecar> sidecar_;
  std::unique_ptr<transport::NodeReceiver> claimed_;  ///< by an attached job, until admitted
  transport::NodeReceiver* receiver_ = nullptr;       ///< belongs to sidecar_ afterwards
  transport::CopyingReceiver* copying_ = nullptr;     ///< of an attached job: it owns receiver_
  int slot_ = -1;                                     ///< of receiver_
  std::optional<run::SavedState> saved_;              ///< by the sidecars before these
  node::Progress progress_ = 0;                       ///< theirs
  std::vector<int64_t> earlier_;  ///< by analysis: publications of earlier runs that stages know of
  double saved_at_ = 0;           ///< monotonic seconds
  double saving_took_ = 0;
  std::optional<Error> unreported_;  ///< why there is no report
  std::optional<ExpulsionWatch> watch_;
};

/// Throws unless the file of an attached job is there and is YAML. It needs no run, and no MPI.
void expect_yaml(const std::string& file, const base::Parameters& parameters);

}  // namespace pillion::sidecar
