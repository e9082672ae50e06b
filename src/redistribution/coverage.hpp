// SPDX-License-Identifier: BSD-3-Clause
// Whether the boxes of all ranks cover a domain, each cell once. Each rank knows its own boxes
// only: they are sent to the ranks of the parts of the domain in which they lie, and each rank
// looks at its own part.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "layout/boxes.hpp"

namespace pillion::redistribution {

/// What is wrong in the part of the domain that this rank looks at.
struct CoverageFault {
  std::optional<std::pair<layout::Box, layout::Box>> overlap;  ///< two boxes of any ranks
  std::optional<layout::Box> hole;                             ///< no rank has a cell of it
  int64_t covered = 0;  ///< cells of all boxes of all ranks; the same on every rank
};

/// Looks for boxes that overlap, and for holes; boxes lie in the domain, and may be empty. Some
/// rank finds an overlap if there is one. If there is none, `covered` tells of holes, and some rank
/// finds one. Memory and time of a rank grow with the boxes in its part of the domain. Throws the
/// same error on all ranks if one lacks memory. [collective]
CoverageFault find_coverage_fault(const comm::Communicator& ranks,
                                  const std::vector<layout::Box>& here, const layout::Box& domain);

}  // namespace pillion::redistribution
