// SPDX-License-Identifier: BSD-3-Clause
// Whole fields as NumPy's .npy files, each written by all ranks together: what the simulation
// itself would leave on disk without analyses that ride along.
#pragma once

#include <map>
#include <string>

#include "gas.hpp"

namespace cosmology {

/// A step and its scale factor.
struct Moment {
  int64_t step;
  double a;
};

/// Begins FOLDER/snapshots.yaml, which tells `pillion replay` what the arrays do not: the values of
/// these parameters, the box of the particles and, snapshot by snapshot, times. [collective]
void begin_snapshots(const std::string& folder, const std::map<std::string, double>& values,
                     const Slabs& slabs);

/// Writes id, position, velocity (km/s), and the gas, as FOLDER/NAME.STEP.npy. Particles are in no
/// order; arrays of the gas are indexed [z, y, x] and [z, y, x, component]. [collective]
void write_snapshot(const std::string& folder, Moment moment, const Particles& particles,
                    const std::vector<Vector>& velocity, const Gas& gas, const Boxes& boxes,
                    const Slabs& slabs);

}  // namespace cosmology
