// SPDX-License-Identifier: BSD-3-Clause
// How a publication went for the analyses that may move, taken together over all simulation ranks
// without any of them waiting: each says so at its end, and the most of all is read when the next
// comes.
#pragma once

#include <vector>

#include "comm/message.hpp"
#include "runtime/relocation.hpp"

namespace pillion::runtime {

class Survey {
 public:
  Survey(const comm::Communicator& simulation, size_t analyses)
      : simulation_(simulation), values_(analyses * values_each) {}

  /// Says how it went here, one entry for each analysis. [collective, does not wait]
  void start(const std::vector<Sample>& mine);
  /// How it went for all when they last said so; empty if nothing was said since. Waits for ranks
  /// that have not said so yet. [collective]
  std::vector<Sample> settle();

 private:
  static constexpr size_t values_each = 5;
  const comm::Communicator& simulation_;
  std::vector<double> values_;
  comm::Request request_;
  bool pending_ = false;
};

}  // namespace pillion::runtime
