// SPDX-License-Identifier: BSD-3-Clause
// The state of a stage, on its way to and from disk. Values that are the same on every peer are
// kept once; records that belong to keys are kept wherever their owner was, and find their new
// owner when they are read, on any number of ranks.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.hpp"
#include "comm/agreement.hpp"

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

/// Writes this rank's part of a state as FOLDER/RANK.state. Global values go with rank 0's.
void write_state(const pillion_state& state, const std::filesystem::path& folder, int rank,
                 bool durable = true);

/// Reads a state that any number of ranks wrote. The fence keeps peers together. [collective]
pillion_state read_state(const std::filesystem::path& folder, const comm::Communicator& peers,
                         comm::Fence& fence);

}  // namespace pillion::stagehost
