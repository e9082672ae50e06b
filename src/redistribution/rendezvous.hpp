// SPDX-License-Identifier: BSD-3-Clause
// Planning where neither side can say who has what: each part of the domain has a rank that is told
// which boxes lie there, on both sides, and tells those who have them what to send where. No rank
// ever knows all boxes.
#pragma once

#include "comm/communicator.hpp"
#include "layout/division.hpp"

namespace pillion::redistribution {

/// Boxes that this rank wants, ghost cells included. They may overlap each other; cells beyond the
/// domain are those of the other end where it is periodic, and come from nowhere elsewhere.
struct WantedBoxes {
  std::vector<layout::Box> boxes;
  layout::Box domain;
  std::array<bool, 3> periodic{};
};

/// What this rank sends to each rank of the communicator, itself included. [collective]
std::vector<layout::Moves> meet(const comm::Communicator& ranks,
                                const std::vector<layout::Box>& here, const WantedBoxes& wanted);

}  // namespace pillion::redistribution
