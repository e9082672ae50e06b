// SPDX-License-Identifier: BSD-3-Clause
// A simulation rank's part of a run: what happens at a step.
#pragma once

#include <optional>

#include "runtime/agenda.hpp"
#include "runtime/chains.hpp"
#include "runtime/checkpoint.hpp"
#include "runtime/consensus.hpp"
#include "runtime/sharing.hpp"
#include "runtime/trigger.hpp"
#include "transport/announcement.hpp"
#include "transport/transport.hpp"

namespace pillion::runtime {

/// By analysis: fields that its stages in sidecars need; empty where there are none.
using Crossing = std::vector<std::set<std::string>>;

/// How the run is doing, for the program.
struct Progress {
  int64_t step = 0;
  double time = 0;
  double steps_per_second = 0;
  int64_t publications = 0;
  int64_t skipped = 0;
  int64_t behind = 0;
  double stall_seconds = 0;
  int64_t disabled = 0;
};

class SimulationSide {
 public:
  /// `sender` is null if there are no sidecars.
  SimulationSide(Run& run, Chains chains, Crossing crossing,
                 std::unique_ptr<transport::Sender> sender, size_t budget);

  Sharing& sharing() { return sharing_; }
  /// Units that are known at run time only; false if there is no such thing.
  bool set_units(const std::string& name, const std::string& units);
  /// Goes on where a checkpoint ended.
  void resume(const Manifest& manifest);

  /// Checks what is shared, once. [collective]
  void ready();
  [[nodiscard]] bool is_due(int64_t step, double time) const;
  void step(int64_t step, double time) {
    if (ready_ && agenda_.idle(step, time)) {
      agenda_.offer_idle(step);
      time_ = time;
      ++steps_;
    } else {
      busy_step(step, time);
    }
  }
  void checkpoint(const std::filesystem::path& path);
  /// Ends the analyses here and in the sidecars. [collective]
  void close();

  [[nodiscard]] Progress progress() const;
  [[nodiscard]] int64_t steps() const { return steps_; }
  [[nodiscard]] int64_t publications() const { return published_; }
  [[nodiscard]] int64_t skipped() const { return skipped_; }
  [[nodiscard]] int64_t first_step() const { return first_step_; }
  [[nodiscard]] int64_t last_step() const { return agenda_.last_step(); }
  [[nodiscard]] double time() const { return time_; }
  [[nodiscard]] size_t budget() const { return budget_; }
  [[nodiscard]] size_t peak() const { return sender_ ? sender_->peak() : 0; }

 private:
  void busy_step(int64_t step, double time);
  /// Those of the scheduled analyses whose conditions hold. [collective, waits for the check
  /// before]
  std::vector<size_t> fired(const std::vector<size_t>& scheduled, int64_t step, double time);
  void check_condition(size_t analysis, int64_t step, double time);
  /// Runs the stages that are due here, and publishes what the others need.
  void work(const std::vector<size_t>& due, int64_t step, double time);
  /// Stages of one analysis in the simulation; what they leave is in `publication`.
  void run_here(size_t analysis, stagehost::Publication& publication);

  // publish.cpp
  void publish(const std::vector<size_t>& due, const std::vector<stagehost::Publication>& left,
               int64_t step, double time);
  transport::Announcement head_of(transport::Kind kind, int64_t step, double time);
  /// What crosses the cut: shared fields, and fields that stages left, as "ANALYSIS/FIELD".
  [[nodiscard]] transport::Meshes crossing(const std::vector<size_t>& due,
                                           const std::vector<stagehost::Publication>& left,
                                           int64_t step, double time) const;
  void send(transport::Announcement& head, const transport::Meshes& meshes,
            const std::vector<size_t>& due);
  /// Memory for a message, waiting as the policy says; null if there is none.
  std::byte* reserve(size_t size, const std::vector<size_t>& due, int64_t step);
  void send_head(const transport::Announcement& head);
  void await_sidecars();
  void settle_all();
  void check_budget() const;
  [[nodiscard]] std::set<std::string> needed_by(size_t analysis) const;
  [[nodiscard]] std::set<std::string> needed() const;
  [[nodiscard]] std::vector<int64_t> skips() const;
  void save_manifest(const std::filesystem::path& folder) const;

  Run& run_;
  Chains chains_;
  Crossing crossing_;
  std::unique_ptr<transport::Sender> sender_;
  size_t budget_;
  Sharing sharing_;
  Agenda agenda_;
  Consensus consensus_;
  std::vector<std::unique_ptr<Trigger>> triggers_;  ///< by analysis, null without a condition
  std::map<std::string, std::string> units_;
  size_t last_size_ = 0;          ///< of the last publication
  std::optional<Error> refused_;  ///< why the run cannot start
  bool ready_ = false;
  int64_t sequence_ = 0;
  int64_t steps_ = 0;
  int64_t first_step_ = 0;
  int64_t published_ = 0;
  int64_t skipped_ = 0;
  double time_ = 0;
  double stall_ = 0;
  double first_offer_ = 0;  ///< monotonic seconds
};

}  // namespace pillion::runtime
