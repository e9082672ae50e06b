// SPDX-License-Identifier: BSD-3-Clause
// The chains of all analyses on one side of the cut.
#pragma once

#include <memory>
#include <vector>

#include "run/run.hpp"
#include "run/run_spec.hpp"
#include "stagehost/chain.hpp"
#include "topology/location.hpp"

namespace pillion::run {

/// By analysis; null where this side has no stage of it.
using Chains = std::vector<std::unique_ptr<stagehost::Chain>>;

/// Finds the files of all stages that the configuration names: the first rank searches, so that a
/// file system is asked once and not by all ranks. What it cannot find, each rank searches itself.
/// [collective over `ranks`]
void find_stages(const comm::Communicator& ranks, model::Configuration& configuration);

/// Creates the chains of one side. `produced` is what crosses the cut, for sidecars.
Chains make_chains(const Run& run, topology::Role side, const ProducedFields& produced);

/// Whether any analysis may run on either side.
bool may_migrate(const Run& run);
/// New stages behind the cut of one analysis. `produced` is what crosses the cut.
std::unique_ptr<stagehost::Chain> make_behind_cut(const Run& run, size_t analysis,
                                                  const ProducedFields& produced);
/// In the simulation, those of the analyses that may run there too.
Chains make_migratable_chains(const Run& run, const ProducedFields& produced);

/// What is missing from an analysis, for its products to say.
struct Gaps {
  int64_t skipped = 0;
  int64_t coarsened = 0;
  int64_t lost = 0;
  std::string disabled{};  ///< why nothing more will come; "" if that is not so
};

/// What a failed publication costs an analysis.
enum class Consequence {
  Drop,  ///< the publication: what the program shared does not fit together
  Lose,  ///< the publication: it cannot be analysed, or its products cannot be written
  Disable
};

/// `unharmed`: what stages keep is as it was. `in_row`: failures up to this one. A failure of
/// Pillion's own, or a lack of memory, says nothing of the publication.
Consequence consequence_of(const Error& failure, bool unharmed, int64_t in_row,
                           int64_t disable_after);

struct Failure {
  Error error;
  Consequence consequence = Consequence::Disable;
  int64_t in_row = 1;
};
/// Of a publication that no stage has seen.
Failure failure_to_fill(const Error& failure);

/// Runs one chain on a publication, with its time in the account and on the timeline. Returns the
/// failure, the same on every rank. [collective over the side]
[[nodiscard]] std::optional<Failure> run_chain(Run& run, stagehost::Chain& chain, size_t analysis,
                                               stagehost::Publication& publication,
                                               const Gaps& gaps, double CostCounters::*account);

/// Writes what the stages of one chain have computed. If the analysis is disabled, the products
/// say why. A failure disables it. [collective over the side]
void finish_chain(Run& run, stagehost::Chain& chain, size_t analysis, int64_t step, double time,
                  const Gaps& gaps, double CostCounters::*account);

/// The same for all chains of this side whose analyses are enabled; the products of the others were
/// written when they were disabled. [collective over the side]
void finish_chains(Run& run, Chains& chains, int64_t step, double time,
                   const std::vector<Gaps>& gaps, double CostCounters::*account);

/// Which stages chains hold: those in front of the cut, or those behind it.
enum class Half { Front, Behind };
inline Half half_of(const Run& run) { return run.is_sidecar() ? Half::Behind : Half::Front; }

/// Restores the chains of the analyses that are saved in a folder. [collective over the side]
void restore_chains(const Run& run, Chains& chains, Half half, const std::filesystem::path& folder,
                    const std::set<std::string>& saved);

/// `durable`: on disk, so that it outlives the machine. Throws the same error on every rank.
/// [collective over the side]
void save_chains(const Run& run, const Chains& chains, Half half,
                 const std::filesystem::path& folder, bool durable);

/// The layouts that the chains ask for, by analysis.
LayoutRequests layout_requests_of(const Chains& chains);
/// What the chains produce, by analysis.
ProducedFields produced_by(const Chains& chains);
/// Products that the stages of the chains declare, by analysis.
std::vector<std::vector<stagehost::DeclaredProduct>> declared_by(const Chains& chains);
/// What the chains need, by analysis.
CutFields cut_fields_of(const Chains& chains);

}  // namespace pillion::run
