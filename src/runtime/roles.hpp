// SPDX-License-Identifier: BSD-3-Clause
// Who simulates and who is a sidecar: a pure function of what each rank insists on and how many
// sidecars the configuration wants.
#pragma once

#include <cstdint>
#include <vector>

namespace pillion::runtime {

enum class Role : int32_t { Any = 0, Simulation = 1, Sidecar = 2 };

/// The role of every rank. Ranks that insist get what they insist on; otherwise the last ranks
/// become sidecars. Throws ErrorCode::Placement if that leaves too few of either kind.
std::vector<Role> assign_roles(const std::vector<Role>& wanted, int64_t sidecars);

/// The same with `per_node` sidecars on every node. `node` is the number of each rank's node.
std::vector<Role> assign_roles_per_node(const std::vector<Role>& wanted,
                                        const std::vector<int>& node, int64_t per_node);

}  // namespace pillion::runtime
