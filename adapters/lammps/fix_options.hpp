// SPDX-License-Identifier: BSD-3-Clause
// The keywords of `fix ID group pillion`, read into plain values. It knows nothing of LAMMPS beyond
// how keywords are written, so that a mistake is named before anything is opened.
#pragma once

#include <string>
#include <vector>

#include "ride.hpp"

namespace pillion::lammps {

struct FixOptions {
  RideOptions ride;        ///< `config FILE`, `restart PATH`, `set NAME VALUE`; "" if not given
  bool universe = false;   ///< `comm universe`: open over MPI_COMM_WORLD, sidecars included
  int every = 1;           ///< `every N`: offer only steps that N divides
  bool checkpoint = true;  ///< `checkpoint yes|no`: save analyses beside every restart file
  double progress = 5;     ///< `progress SECONDS`; 0 for no progress line
};

/// Reads what stands after the word `pillion`. Throws std::runtime_error that names the word.
FixOptions read_fix_options(const std::vector<std::string>& words);

}  // namespace pillion::lammps
