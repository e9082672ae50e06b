// SPDX-License-Identifier: BSD-3-Clause
// Boxes of any sizes given to ranks so that each has about as many bytes, and neighbours in space
// stay together: the Z-order curve through the middles of the boxes is cut into as many pieces as
// there are ranks. Each rank knows its own boxes only.
#pragma once

#include "comm/communicator.hpp"
#include "layout/curve.hpp"
#include "model/block.hpp"

namespace pillion::redistribution {

/// A box that is to be given away.
struct Load {
  model::Box box;
  int64_t bytes = 0;
};

/// For each of this rank's boxes, which of `owners` owners it goes to. No owner gets more than its
/// share and the largest box. [collective]
std::vector<int> balance(const comm::Communicator& ranks, const std::vector<Load>& here,
                         const model::Box& domain, int owners);

}  // namespace pillion::redistribution
