// SPDX-License-Identifier: BSD-3-Clause
// The sidecars that a configuration wants: how many, where, and what they may cost.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "base/value.hpp"

namespace pillion::model {

/// The rules by which sidecars are chosen among ranks. Contiguous: the last spots. Striped: every
/// r-th. Numa: dealt to domains of memory. Folded: dealt to columns of the mesh, in the middle of
/// each. Auto: whatever costs least.
enum class Mapping { Auto, Contiguous, Striped, Numa, Folded };

inline constexpr std::array all_mappings{Mapping::Auto, Mapping::Contiguous, Mapping::Striped,
                                         Mapping::Numa, Mapping::Folded};

constexpr const char* name_of(Mapping mapping) {
  switch (mapping) {
    case Mapping::Auto: return "auto";
    case Mapping::Contiguous: return "contiguous";
    case Mapping::Striped: return "striped";
    case Mapping::Numa: return "numa";
    case Mapping::Folded: return "folded";
  }
  return "unknown";
}

/// What happens when sidecars cannot keep up.
enum class WhenFull { Skip, Wait, Coarsen, Spill };
const char* name_of(WhenFull policy);

/// Whether sidecars are ranks of the simulation's MPI job or attach from jobs of their own.
enum class Job { Same, Separate };
const char* name_of(Job job);

/// What attached jobs may cost the simulation.
struct AttachedSpec {
  bool allowed = true;
  double time = 0.01;   ///< share of the simulation's time; 1 for any
  int64_t memory = -1;  ///< bytes of their publications in flight per node; -1 for half of `memory`
  bool operator==(const AttachedSpec&) const = default;
};

struct SidecarSpec {
  int64_t ranks = 0;  ///< of the same job, over the network
  /// Over node memory: ranks of the same job on every node, or, with Job::Separate, how many are
  /// expected to attach there.
  int64_t per_node = 0;
  Job job = Job::Same;
  int64_t memory = int64_t{256} << 20;  ///< bytes of publications in flight per node
  int64_t copy_threads = 1;             ///< of a simulation rank, for large arrays
  int64_t receive = 0;  ///< bytes of publications in sidecars, per node; 0 for the standard
  WhenFull when_full = WhenFull::Skip;
  Mapping mapping = Mapping::Auto;
  int64_t columns = 0, rows = 0;  ///< of the mesh that joins a node's cores; 0 if it is not known
  double deadline = 60;      ///< seconds that `wait`, and the end with Job::Separate, wait at most
  int64_t restart = 0;       ///< how often dead separate sidecars are started again
  std::string launch;        ///< the command that starts them; "" if Pillion is to choose
  std::string spill_folder;  ///< "" for the environment's
  int64_t spill_limit = int64_t{10} << 30;  ///< bytes per node
  AttachedSpec attached;

  /// Bytes of publications that come through the network, per node with sidecars.
  [[nodiscard]] int64_t receive_limit() const { return receive > 0 ? receive : 4 * memory; }
  /// Bytes of node memory through which the ranks of one side of a node may hand values to each
  /// other.
  [[nodiscard]] int64_t transfer_memory() const { return memory / 2; }
  /// Whether there are sidecars of any kind.
  [[nodiscard]] bool any() const { return ranks > 0 || through_node(); }
  /// Whether sidecars are ranks of the simulation's job.
  [[nodiscard]] bool within_job() const { return job == Job::Same && any(); }
  /// Bytes per node that publications for attached jobs may take.
  [[nodiscard]] int64_t attached_memory() const {
    return attached.memory < 0 ? memory / 2 : std::min(attached.memory, memory);
  }
  /// Whether publications go through node memory.
  [[nodiscard]] bool through_node() const { return per_node > 0 || job == Job::Separate; }
  bool operator==(const SidecarSpec&) const = default;
};

/// Reads `sidecars:`. Throws a configuration error for keys that exclude each other. With
/// `mistakes`, what can be read is.
SidecarSpec read_sidecars(const base::Value& value, base::Diagnostics* mistakes = nullptr);

/// Settles how many sidecars there are, given that the launch started `wanted` ranks as sidecars (0
/// if it left the choice to the file). Throws a configuration error at `root`, the whole file.
void settle_sidecars(SidecarSpec& spec, int64_t wanted, const base::Value& root);

}  // namespace pillion::model
