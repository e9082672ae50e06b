// SPDX-License-Identifier: BSD-3-Clause
// What both sides of a run hold: the configuration, the communicators, the accounts and the log.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "comm/calls.hpp"
#include "comm/communicator.hpp"
#include "model/configuration.hpp"
#include "products/timeline.hpp"
#include "run/costs.hpp"
#include "run/earlier.hpp"
#include "run/progress.hpp"
#include "run/run_folder.hpp"
#include "stagehost/sink.hpp"

namespace pillion::products {
struct Origin;
}
namespace pillion::stagehost {
class Plans;
}
namespace pillion::topology {
enum class Role : int32_t;
}

namespace pillion::run {

/// An analysis has gone to the other side.
struct MigrationRecord {
  size_t analysis = 0;
  int64_t step = 0;    ///< of the first publication there
  bool there = false;  ///< to the sidecars
  double after = 0;    ///< seconds since the run began
  double seconds = 0;  ///< for which that kept the simulation
  std::string why;

  static constexpr auto members() {
    return std::tuple{&MigrationRecord::analysis, &MigrationRecord::step,
                      &MigrationRecord::there,    &MigrationRecord::after,
                      &MigrationRecord::seconds,  &MigrationRecord::why};
  }
};

/// What a simulation rank keeps of an analysis of an attached job whose number another one has now.
struct DepartedAnalysis {
  model::AnalysisSpec analysis;
  CostCounters costs;
  std::string disabled;
  bool died = false;
};

struct Run {
  Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run();

  base::Log log;
  model::Configuration configuration;
  std::set<size_t> dropping;          ///< analyses whose last publication was dropped
  std::map<size_t, int> said_losses;  ///< by analysis: warnings of failed publications
  std::vector<topology::Role> roles;  ///< of every rank of `world`
  model::Mapping mapping = model::Mapping::Contiguous;  ///< by which sidecars were chosen
  comm::Communicator world;
  comm::Communicator side;     ///< the simulation ranks, or the sidecar ranks
  comm::Communicator on_node;  ///< the ranks of `side` on this node
  comm::Communicator leaders;  ///< first ranks of the nodes; none on other ranks
  /// Of simulation ranks: which call each is in. Null on sidecars.
  std::shared_ptr<comm::Calls> calls;
  /// The ranks of `side`, for the lagged reductions of each part; none where there will be none.
  comm::Communicator for_agreement, for_conditions, for_migration;
  std::unique_ptr<stagehost::Plans> plans;  ///< among the ranks of `side`
  stagehost::Sink sink{"."};
  products::Timeline timeline{4096};
  /// By analysis: products that stages in the simulation declare.
  std::vector<std::vector<stagehost::DeclaredProduct>> declared;
  std::vector<CostCounters> accounts;  ///< by analysis, of this execution
  Earlier earlier;                     ///< of the executions that this one resumes
  std::vector<std::string> disabled;   ///< why, by analysis; "" if it is not
  /// For the report. Jobs come and go as long as the run lasts, so those of one name are one entry,
  /// and the oldest make room.
  std::vector<DepartedAnalysis> departed;
  int64_t forgotten = 0;  ///< entries that made room
  /// Analyses of attached jobs that died: what is in no product at the end is lost.
  std::set<size_t> died;
  /// As of the last step on simulation ranks, as of the last message on sidecars: of the
  /// catalogue's, in its order. Not a number before the program sets one.
  std::vector<double> scalars;
  std::vector<std::string> warnings;
  std::vector<std::string> remarks;
  std::vector<MigrationRecord> moves;  ///< on simulation ranks
  std::set<int64_t>
      move_at;      ///< publications at which analyses move, whatever is better; for tests
  uint64_t id = 0;  ///< no other run has it
  std::vector<std::string> continues;  ///< ids of the runs whose results this one continues
  RunFolder folder;                    ///< held by one rank of each job that writes for the run
  double started = 0;                  ///< calendar seconds
  double patience = 60;  ///< seconds that a simulation rank waits for others to come to a call
  StepPosition mark;
  std::unique_ptr<ProgressFile> progress;  ///< null on ranks that write none

  [[nodiscard]] bool is_sidecar() const;
  /// Ranks in `world` of one role, in order.
  [[nodiscard]] std::vector<int> ranks_of(topology::Role role) const;
  /// Says something to people, once per side, and keeps it for the report.
  void warn(const std::string& message);
  /// The same for what is not a reason to worry.
  void remark(const std::string& message);
  /// Keeps the account of an analysis whose job has left. The same on every rank of this side.
  void keep(DepartedAnalysis departed);
  /// Disables an analysis, loudly. The same on every rank of this side.
  void disable(size_t analysis, const Error& failure);
  /// Counts a publication that the analysis cannot use, since what the program shared does not fit
  /// together, and warns of the first in a row. The same on every rank of this side.
  void drop(size_t analysis, int64_t step, const Error& fault,
            int64_t CostCounters::*counter = &CostCounters::dropped);
  /// Counts a publication at which the analysis failed, and warns of the first in a row, up to a
  /// few times. `in_row`: failures up to this one. The same on every rank of this side.
  void lose(size_t analysis, int64_t step, const Error& failure, int64_t in_row,
            int64_t CostCounters::*counter = &CostCounters::dropped);
  /// What became of an analysis's publications, since the run first began, as this rank knows it.
  [[nodiscard]] Counts counts(size_t analysis) const {
    Counts counts = earlier.of(analysis);
    add(counts, accounts[analysis]);
    return counts;
  }
  [[nodiscard]] bool enabled(size_t analysis) const { return disabled[analysis].empty(); }
  /// Begins to write progress unless the environment says not to; `first` identifies this rank.
  void start_progress(Snapshot first);
  /// Has events written as they happen, to the folder that the environment names, if it does.
  void follow_timeline();
  /// Updates the progress file with new facts, and with what `change` adds.
  template <class Change>
  void tell(Change&& change) {
    if (!progress) return;
    progress->tell([&](Snapshot& snapshot) {
      describe(snapshot);
      change(snapshot);
    });
    warn_of_trouble();
  }
  /// Where the products of an analysis come from, as far as a step does not matter.
  [[nodiscard]] products::Origin origin(size_t analysis) const;

 private:
  /// What is known of analyses, products and warnings. Costs little where nothing is new.
  void describe(Snapshot& snapshot) const;
  /// Says once that progress cannot be written.
  void warn_of_trouble();
};

/// "simulation", "sidecar", "hybrid" or "auto".
const char* placement_of(const model::AnalysisSpec& analysis);

/// Says that a rank works on an analysis, for as long as this lives.
class Working {
 public:
  Working(Run& run, size_t analysis, int64_t step);
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;
  ~Working();

 private:
  ProgressFile* progress_;
};

/// A stretch of time on the timeline and in an account.
class Stopwatch {
 public:
  Stopwatch() : begin_(base::calendar_seconds()), monotonic_(base::monotonic_seconds()) {}
  [[nodiscard]] double seconds() const { return base::monotonic_seconds() - monotonic_; }
  /// Ends it: puts it on the timeline and returns its length, waiting for other ranks included.
  double end(products::Timeline& timeline, std::string name, std::string category, int64_t step,
             double waited = 0) const {
    const double length = seconds();
    timeline.add({std::move(name), std::move(category), begin_, begin_ + length, step, waited});
    return length;
  }

 private:
  double begin_;
  double monotonic_;
};

}  // namespace pillion::run
