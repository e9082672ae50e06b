// SPDX-License-Identifier: BSD-3-Clause
// Divides the command line of pillion-lmp into Pillion's options and LAMMPS's.
#pragma once

#include <string>
#include <vector>

#include "ride.hpp"

namespace pillion::lammps {

struct CommandLine {
  RideOptions ride;
  std::vector<std::string> lammps;  ///< arguments for LAMMPS, the program's name first
  bool help = false;
};

/// Throws std::runtime_error that names the argument which makes no sense.
CommandLine read_command_line(int argc, char** argv);

/// How the program is used.
const char* usage();

}  // namespace pillion::lammps
