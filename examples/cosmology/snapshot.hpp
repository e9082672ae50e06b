// SPDX-License-Identifier: BSD-3-Clause
// Whole fields as NumPy's .npy files, each written by all ranks together: what the simulation
// itself would leave on disk without analyses that ride along.
#pragma once

#include <string>

#include "gas.hpp"

namespace cosmology {

/// Writes id, position, velocity (km/s), and the gas, as FOLDER/NAME.STEP.npy. Particles are in no
/// order; arrays of the gas are indexed [z, y, x] and [z, y, x, component]. [collective]
void write_snapshot(const std::string& folder, int64_t step, const Particles& particles,
                    const std::vector<Vector>& velocity, const Gas& gas, const Boxes& boxes,
                    const Slabs& slabs);

}  // namespace cosmology
