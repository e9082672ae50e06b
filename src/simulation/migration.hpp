// SPDX-License-Identifier: BSD-3-Clause
// Analyses with `at: auto`, as a simulation rank carries them from one side to the other. To the
// sidecars one goes before a publication: its state is saved, and a message that comes before all
// further ones names the folder. It returns before the publication after the one at which it was
// recalled: sidecars finish what they were given first, so that nothing is lost, and meanwhile the
// simulation runs on until it needs the analysis.
#pragma once

#include <filesystem>

#include "comm/message.hpp"
#include "policy/placement_policy.hpp"
#include "run/chains.hpp"
#include "run/sidecar_notices.hpp"
#include "simulation/publisher.hpp"

namespace pillion::simulation {

class Migration {
 public:
  /// `chains` are the stages behind the cut of the analyses that may move, which begin here.
  /// `produced` is what stages in front of them make.
  Migration(run::Run& run, Publisher& publisher, const run::Agenda& agenda,
            const policy::Policy& policy, run::Chains chains, run::ProducedFields produced);

  /// Reads what all ranks measured at the last publication, and judges by it. [collective]
  void judge();
  /// A publication begins at which these are due.
  void begin(const std::vector<size_t>& due);
  /// Of these, the ones that should run elsewhere at this publication, or, `ahead`, at the next.
  [[nodiscard]] std::set<size_t> should_move(const std::vector<size_t>& due, bool ahead) const;

  /// Each carries out an action, and returns what became of it. [collective]
  policy::AgreedEvent move_to_sidecars(size_t analysis, int64_t step);
  policy::AgreedEvent recall(size_t analysis);
  /// Throws if the state cannot be read: then the analysis has failed.
  policy::AgreedEvent take_back(size_t analysis, int64_t step);

  /// The stages behind the cut, where they are here.
  [[nodiscard]] run::Chains& chains() { return chains_; }
  [[nodiscard]] stagehost::Chain* chain(size_t analysis) const;
  /// The stages behind the cut have run here, for so long.
  void ran(size_t analysis, double seconds) { migrating(analysis)->own = seconds; }
  /// Publications of an analysis that are missing from its products since it came back from
  /// sidecars, which had counted them; those before the run was resumed are not among them.
  [[nodiscard]] int64_t missing(size_t analysis) const;
  /// Contributes how the publication went for the analyses among `due` that do not withhold it.
  /// [collective, does not wait]
  void measure(const std::vector<size_t>& due);
  /// Hears what sidecars report of their load, also when nothing that moves is due, or it would
  /// gather in MPI.
  void hear_load();
  /// What ranks may wait for each other in.
  [[nodiscard]] comm::LaggedReduction& reduction() { return costs_; }
  /// Removes what moves have left on disk. At the end.
  void clean_up();

 private:
  struct MigratingAnalysis {
    size_t analysis = 0;
    policy::PlacementPolicy placement{};
    std::string why{};               ///< it should move; "" if it should not
    int64_t recall = 0;              ///< number of the message that asks sidecars to give it back
    std::filesystem::path folder{};  ///< through which it moves
    std::string why_back{};          ///< it was recalled
    int64_t moves = 0;
    int64_t due = 0;      ///< publications so far, those left out included
    int64_t missing = 0;  ///< of these, lost in sidecars
    double own = 0;       ///< seconds for which the current publication kept the simulation
    double paid = 0;      ///< seconds for copies and stalls so far
    double ended = 0;     ///< monotonic seconds at which the publication before ended; 0: none
  };
  [[nodiscard]] MigratingAnalysis* migrating(size_t analysis);
  [[nodiscard]] const MigratingAnalysis* migrating(size_t analysis) const;
  [[nodiscard]] bool all_fit_header() const;
  void send(transport::MessageKind kind, const MigratingAnalysis& migrating);
  /// An analysis that was recalled did not come back. Throws if that cannot be undone. [collective]
  void leave_in_sidecars(const MigratingAnalysis& migrating);
  void note_move(MigratingAnalysis& migrating, bool to_sidecars, const run::Stopwatch& watch,
                 int64_t step, const std::string& reason);
  [[nodiscard]] policy::Sample sample_of(MigratingAnalysis& migrating) const;

  run::Run& run_;
  Publisher& publisher_;
  const run::Agenda& agenda_;
  const policy::Policy& policy_;
  run::Chains chains_;
  run::ProducedFields produced_;
  std::vector<MigratingAnalysis> movables_;
  comm::LaggedReduction costs_;
  run::LoadReport load_;  ///< of sidecars, as the first rank knows it
};

}  // namespace pillion::simulation
