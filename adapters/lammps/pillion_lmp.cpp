// SPDX-License-Identifier: BSD-3-Clause
// pillion-lmp: LAMMPS with a session of Pillion. Opens a session over all ranks, lets sidecar ranks
// work, and runs the stock LAMMPS library on the simulation's communicator with `fix pillion`
// added. With no -pillion it is LAMMPS and nothing else.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "fix_pillion.hpp"
#include "options.hpp"

namespace {

using namespace pillion::lammps;

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

/// For problems that occur on every rank.
int fail(const std::exception& problem) {
  if (rank_in(MPI_COMM_WORLD) == 0) std::fprintf(stderr, "pillion-lmp: %s\n", problem.what());
  return EXIT_FAILURE;
}

void run_lammps(const CommandLine& line, MPI_Comm comm) {
  std::vector<char*> argv;
  // LAMMPS does not write to its arguments.
  for (const auto& word : line.lammps) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  LAMMPS_NS::LAMMPS lammps(static_cast<int>(argv.size()) - 1, argv.data(), comm);
  (*lammps.modify->fix_map)["pillion"] = &create_fix;
  lammps.input->file();
}

/// LAMMPS has done its work, so a failure here is a warning.
void close(Ride& ride, int rank) {
  try {
    ride.close();
    if (rank == 0) std::printf("Pillion report: %s\n", ride.report().c_str());
  } catch (const std::exception& problem) {
    if (rank == 0) std::fprintf(stderr, "pillion-lmp: WARNING: %s\n", problem.what());
  }
}

int ride_along(const CommandLine& line) {
  Ride ride(line.ride, MPI_COMM_WORLD);
  if (ride.serve()) return EXIT_SUCCESS;
  const int rank = rank_in(ride.communicator());
  Ride::set_of_process(&ride);
  run_lammps(line, ride.communicator());
  Ride::set_of_process(nullptr);
  close(ride, rank);
  return EXIT_SUCCESS;
}

int run(int argc, char** argv) {
  try {
    const CommandLine line = read_command_line(argc, argv);
    if (line.help) {
      if (rank_in(MPI_COMM_WORLD) == 0) std::fputs(usage(), stdout);
      return EXIT_SUCCESS;
    }
    if (!line.ride.file.empty()) return ride_along(line);
    run_lammps(line, MPI_COMM_WORLD);
    return EXIT_SUCCESS;
  } catch (const std::exception& problem) {
    return fail(problem);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = run(argc, argv);
  MPI_Finalize();
  return status;
}
