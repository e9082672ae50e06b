// SPDX-License-Identifier: BSD-3-Clause
// A sidecar job: sidecars in an MPI job of their own that attach to a run, work for it, and may
// leave or die as they like. It takes the run's own sidecar stages, or, as an attached job, adds
// analyses of its own.
#pragma once

#include <functional>

#include "run/attached_job.hpp"
#include "run/attachment.hpp"
#include "run/saved_state.hpp"
#include "sidecar/sidecar.hpp"

namespace pillion::sidecar {

struct Attach {
  std::string run;              ///< its name or id
  std::string analyses;         ///< an attached job's YAML file; "" for the run's own sidecars
  base::Parameters parameters;  ///< of that file
  std::string name;             ///< of an attached job; "" to take that of its file
  double patience = 10;         ///< seconds to wait for the run to be there
  base::Log log;
  std::function<bool()> leave;  ///< whether the sidecar job was asked to leave
};

class SidecarJob {
 public:
  /// Finds the run and loads the stages. [collective] Throws the same error on every rank.
  SidecarJob(Attach attach, MPI_Comm comm);
  /// Sits down, works until the run ends or the sidecar job is asked to leave, and writes the
  /// report. [collective] Throws the same error on every rank if somebody else sits there.
  Ending work();

 private:
  Ending serve();
  void join_folder();
  void start_progress();
  [[nodiscard]] bool is_attached_job() const { return !attach_.analyses.empty(); }
  void configure();
  void read_attached_file();
  void subscribe(int slot);
  /// Whether ranks of one kind, those with the run's first channel or all others, could claim their
  /// channels within `patience` seconds.
  bool claim(bool first, double patience);
  void take_primary_slot();
  /// Whether nothing is left to do in this run, and nothing will come.
  [[nodiscard]] bool is_over() const;
  /// Goes on where sidecar jobs before this one have ended.
  void continue_predecessor();
  void restore(const std::optional<run::SavedState>& saved);
  /// Publications that the sidecar job before had begun with when it died.
  int64_t count_interrupted(int64_t done, int64_t begun);
  void take_attached_slot();
  void after_each(const transport::PublicationHeader& head);
  /// Saves the state for sidecars that come later. [collective]
  void save_state();
  void write_report();

  Attach attach_;
  run::Run run_;
  run::Attachment attachment_;
  run::RunSpec spec_;
  run::AttachedJob attached_job_;
  std::optional<run::SuccessorState> successor_state_;
  transport::NodeReceiver* receiver_ = nullptr;  ///< belongs to side_
  run::Chains chains_;
  std::unique_ptr<Sidecar> side_;
  std::vector<int64_t> over_;    ///< by analysis: publications finished or lost by all sidecar jobs
  std::vector<int64_t> before_;  ///< publications of earlier runs that stages know of
  double saved_at_ = 0;          ///< monotonic seconds
  double saving_took_ = 0;
  std::optional<Error> unreported_;  ///< why there is no report
};

}  // namespace pillion::sidecar
