// SPDX-License-Identifier: BSD-3-Clause
// Whether there are ranks enough for what is wanted.
#pragma once

#include <vector>

#include "topology/location.hpp"
#include "topology/role.hpp"

namespace pillion::topology {

/// How many more than those that insist are to become sidecars. Throws ErrorCode::Placement if that
/// leaves too few of either kind.
int64_t missing(const std::vector<Role>& insisted, int64_t sidecars);

/// The same on one node, with its number for messages.
int64_t missing_on_node(const std::vector<Role>& insisted, int64_t per_node, int32_t node);

}  // namespace pillion::topology
