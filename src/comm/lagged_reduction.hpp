// SPDX-License-Identifier: BSD-3-Clause
// A reduction over all ranks for which no rank waits: each rank contributes when it comes by, and
// reads the result when it comes by again. By then the others have contributed too, or are about
// to.
#pragma once

#include <optional>
#include <vector>

#include "comm/message.hpp"

namespace pillion::comm {

class LaggedReduction {
 public:
  /// `operation` is Max or Sum.
  LaggedReduction(const Communicator& ranks, Operation operation)
      : ranks_(ranks), operation_(operation) {}

  /// Contributes; every rank gives as many values. The one before must be settled. [collective,
  /// does not wait]
  void start(std::vector<double> mine);
  /// The result of the reduction that was started last; nothing if it was read. Waits for ranks
  /// that have not started it yet. [collective]
  std::optional<std::vector<double>> settle();

 private:
  const Communicator& ranks_;
  Operation operation_;
  std::vector<double> values_;
  Request request_;
  bool is_under_way_ = false;
};

}  // namespace pillion::comm
