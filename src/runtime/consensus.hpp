// SPDX-License-Identifier: BSD-3-Clause
// What simulation ranks agree on without waiting for each other: each says at a publication how it
// stands; the sum of it is read at the next one. The decision itself is a pure function.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "comm/message.hpp"
#include "model/configuration.hpp"

namespace pillion::runtime {

/// How a rank, or all of them together, stood at a publication.
struct Standing {
  bool full = false;           ///< another publication like the last would not have fitted
  std::set<int32_t> disabled;  ///< analyses that sidecars have disabled
};

/// Whether to skip the publication that is due now, given how all ranks stood at the last.
bool skip(model::WhenFull policy, const Standing& before);

class Consensus {
 public:
  Consensus(const comm::Communicator& simulation, size_t analyses)
      : simulation_(simulation), values_(analyses + 1) {}

  /// Says how this rank stands. [collective, does not wait]
  void start(const Standing& mine);
  /// How all ranks stood when they last said so; waits for ranks that have not yet. [collective]
  const Standing& settle();

 private:
  const comm::Communicator& simulation_;
  std::vector<double> values_;
  comm::Request request_;
  Standing standing_;
  bool pending_ = false;
};

}  // namespace pillion::runtime
