// SPDX-License-Identifier: BSD-3-Clause
// What will happen in a run, as far as its configuration says: what runs where and when, what
// crosses the cut, and how much memory that takes; and whether that goes with what is around.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "preflight/node_memory.hpp"
#include "run/chains.hpp"
#include "run/run_spec.hpp"

namespace pillion::preflight {

/// How a run will be started; 0 if not known.
struct LaunchSize {
  int64_t ranks = 0;     ///< of the whole job
  int64_t nodes = 0;     ///< that these are on
  int64_t sidecars = 0;  ///< of the ranks, started as such

  /// Ranks that simulate; 0 if not known.
  [[nodiscard]] int64_t simulating(const model::SidecarSpec& spec) const;
};

/// A field that goes to sidecars.
struct CutField {
  std::string name;
  std::string made_by;  ///< the analysis whose stages in the simulation make it; "" if it is shared
  const model::Field* field = nullptr;
  const model::Mesh* mesh = nullptr;

  [[nodiscard]] bool is_per_item() const { return model::is_counted(mesh->kind); }
  /// Of all cells of the mesh, or of one particle or element.
  [[nodiscard]] int64_t bytes() const;
};

struct AnalysisDryRun {
  const model::AnalysisSpec* analysis = nullptr;
  std::string folder;              ///< of its products
  std::vector<std::string> needs;  ///< shared fields, those of its condition included
  std::string whole_for{};  ///< its stage in sidecars that cannot use coarse publications, or ""
};

/// Lives no longer than the configuration and the chains that it was made of.
struct DryRun {
  const model::Configuration* configuration = nullptr;
  std::vector<AnalysisDryRun> analyses;
  std::vector<CutField> cut_fields;  ///< when all analyses are due
  int64_t bytes = 0;                 ///< of fields on meshes that cross then
  int64_t largest = 0;     ///< of them or of one analysis alone: what the budget must hold
  int64_t copied = 0;      ///< of these, if the program computes in memory that sidecars see
  int64_t simulating = 0;  ///< ranks, or 0
  int64_t nodes = 0;       ///< or 0
  std::vector<NodeMemory> memory{};  ///< of one node of each kind; of one alone if `nodes` is 0

  /// Of one rank when all are due, if cells are shared evenly; 0 if ranks are not known.
  [[nodiscard]] int64_t bytes_per_rank() const;
};

DryRun dry_run(const model::Configuration& configuration, const run::Chains& in_simulation,
               const run::Chains& in_sidecars, const LaunchSize& start);

/// Throws ErrorCode::Configuration if no publication can ever have room; returns a remark about
/// memory, or "".
std::string judge_memory(const DryRun& forecast, const LaunchSize& start);
/// The same for the memory into which sidecars receive publications through the network.
std::string judge_receive(const DryRun& forecast, const LaunchSize& start);

// Whether a configuration goes with what is around it: its ranks, its folders, its checkpoint, this
// machine. Functions throw an Error that names the fault, or return a remark on an oddity, "" if
// there is none.

/// Throws if products cannot be written there.
void check_output(const std::string& output);

/// Throws if a run cannot resume from the checkpoint; returns analyses that are not in it.
std::vector<std::string> check_restart(const std::string& folder,
                                       const model::Configuration& configuration);

/// Throws if there are too few ranks for the sidecars.
void check_ranks(const model::SidecarSpec& spec, const LaunchSize& start);

/// What this machine lacks; the run may well be on another.
std::vector<std::string> lacking_here(const model::Configuration& configuration);

}  // namespace pillion::preflight
