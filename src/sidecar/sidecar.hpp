// SPDX-License-Identifier: BSD-3-Clause
// A sidecar rank's part of a run: carries out what the policy decides about each message, until the
// simulation closes its session or ends without, or the sidecars are asked to leave.
#pragma once

#include "run/run_spec.hpp"
#include "sidecar/messages.hpp"

namespace pillion::sidecar {

class Sidecar {
 public:
  using Event = std::optional<policy::AgreedSidecarEvent>;
  /// Carries out an action of a sidecar job, and returns the event in which it ends, if any.
  using JobActions = std::function<Event(const policy::SidecarAction&)>;

  Sidecar(run::Run& run, run::Chains chains, policy::SidecarRole role);
  Sidecar(const Sidecar&) = delete;
  Sidecar& operator=(const Sidecar&) = delete;

  /// Analyses may come from the simulation and go back there. `produced` is what crosses the cut.
  void set_migratable(run::ProducedFields produced) { produced_ = std::move(produced); }
  void set_job_actions(JobActions actions) { job_actions_ = std::move(actions); }

  /// Returns when no message will come any more. [collective over the sidecars]
  policy::SidecarEnding serve();
  /// Lets the policy answer an event and carries out the actions. [collective over the sidecars]
  void apply(const policy::AgreedSidecarEvent& event);
  /// Updates the progress file.
  void report_progress();
  /// Saves the state of the stages behind the cut. Returns why it failed, or "". [collective]
  [[nodiscard]] std::string save(const std::string& path, bool durable) const;

  [[nodiscard]] Messages& messages() { return messages_; }
  [[nodiscard]] const policy::SidecarPolicy& policy() const { return policy_; }
  [[nodiscard]] run::Chains& chains() { return chains_; }
  /// What each simulation rank sent for the report with its last message.
  [[nodiscard]] const std::vector<base::Bytes>& summaries() const { return summaries_; }

 private:
  Event carry_out(const policy::SidecarAction& action);
  /// Finishes a publication that no analysis here needs.
  void pass();
  void receive();
  Event analyse(size_t analysis);
  /// Takes in what has come for the next publications.
  void take_in();
  void count_dropped(const policy::CountDropped& dropped);
  Event restore_migrated(size_t analysis);
  Event save_for_migration(size_t analysis);
  void save_checkpoint();
  void finish_failed(size_t analysis);
  void finish_analyses(bool has_header);
  void acknowledge();
  void take_units(const transport::PublicationHeader& header);
  /// Publications that these sidecars, and those of this execution before them, lost or dropped.
  [[nodiscard]] int64_t missing_here(size_t analysis) const;
  [[nodiscard]] run::Gaps gaps_of(size_t analysis, const transport::Due& due) const;
  [[nodiscard]] transport::Due due_of(size_t analysis) const;

  run::Run& run_;
  run::Chains chains_;
  policy::SidecarPolicy policy_;
  Messages messages_;
  JobActions job_actions_;
  std::optional<run::ProducedFields> produced_;  ///< none if no analysis migrates
  Message message_;                              ///< in work
  transport::ReceivedMeshes received_;           ///< of it
  double began_ = 0;                             ///< work on it, monotonic seconds
  double busy_ = 0;                              ///< seconds of work on messages
  bool is_dropping_ = false;                     ///< the last publication was dropped whole
  int64_t publications_ = 0;                     ///< that had something for this job
  /// The last publication of an analysis, and what had been left out until then.
  struct LastDue {
    int64_t step = 0;
    double time = 0;
    transport::Due due;
  };
  std::vector<LastDue> last_;  ///< by analysis
  std::vector<base::Bytes> summaries_;
};

}  // namespace pillion::sidecar
