// SPDX-License-Identifier: BSD-3-Clause
// What a rank is to be.
#pragma once

#include <cstdint>

namespace pillion::topology {

enum class Role : int32_t { Any = 0, Simulation = 1, Sidecar = 2 };

}  // namespace pillion::topology
