// SPDX-License-Identifier: BSD-3-Clause
// What users say of a ride: the keywords of `fix ID group pillion`, and the command line of
// pillion-lmp. They are read into plain values, with nothing of LAMMPS but how keywords are
// written, so that a mistake is named before anything is opened.
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

/// The command line of pillion-lmp, in Pillion's options and LAMMPS's.
struct CommandLine {
  RideOptions ride;
  std::vector<std::string> lammps;  ///< arguments for LAMMPS, the program's name first
  std::vector<int> partitions;      ///< how many of LAMMPS's ranks each has; empty without any
  bool help = false;
};

/// Throws std::runtime_error that names the argument which makes no sense.
CommandLine read_command_line(int argc, char** argv);

/// The partition of a rank of the job, from 1. Ranks beyond LAMMPS's are sidecars, the same number
/// for each partition, beside its own. Throws std::runtime_error if they cannot be divided so.
int partition_of(int rank, int ranks, const std::vector<int>& partitions);

/// How the program is used.
const char* usage();

}  // namespace pillion::lammps
