// SPDX-License-Identifier: BSD-3-Clause
// The state of a stage, on its way to and from disk: one file for each node. Values that are the
// same on every peer are kept once. Records that belong to keys are kept on the node of their
// owner, and sent to their new owner when they are read, on any number of ranks and nodes.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.hpp"
#include "comm/agreement.hpp"
#include "stagehost/state_file.hpp"

namespace pillion::stagehost {

struct Records {
  std::vector<int64_t> keys;
  size_t record_size = 0;
  base::Bytes values;

  static constexpr auto members() {
    return std::tuple{&Records::keys, &Records::record_size, &Records::values};
  }
};

}  // namespace pillion::stagehost

/// The handle that a plug-in sees.
struct pillion_state {
  std::map<std::string, pillion::base::Bytes> globals;
  std::map<std::string, pillion::stagehost::Records> keyed;

  static constexpr auto members() {
    return std::tuple{&pillion_state::globals, &pillion_state::keyed};
  }
};

namespace pillion::stagehost {

/// Ranks that save together, and their nodes.
struct StateRanks {
  const comm::Communicator& peers;
  const comm::Communicator& on_node;  ///< peers on this node
  const comm::Communicator& leaders;  ///< the first rank of each node; none on other ranks
};

/// What this rank adds to the file of its node. Global values are the first rank's.
StatePart part_of(const pillion_state& state, bool with_globals);

/// Writes a state; the first rank of each node writes the node's file. The fence keeps peers
/// together. [collective over the peers]
void write_state(const pillion_state& state, const std::filesystem::path& folder,
                 const StateRanks& ranks, comm::Fence& fence, bool durable = true);

/// Reads a state that any number of ranks wrote. Only ranks that get records are sent a message.
/// The fence keeps peers together. [collective over the peers]
pillion_state read_state(const std::filesystem::path& folder, const comm::Communicator& peers,
                         comm::Fence& fence);

}  // namespace pillion::stagehost
