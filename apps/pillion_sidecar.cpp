// SPDX-License-Identifier: BSD-3-Clause
// A program that is nothing but sidecars, for runs of several programs under one mpirun:
//   mpirun -n 6 simulation : -n 2 pillion-sidecar
// It needs no configuration: the simulation's is used. --color N first splits MPI_COMM_WORLD as
// programs do that keep a communicator of their own (LAMMPS started with -mpicolor, for example).
#include <mpi.h>
#include <pillion/pillion.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

/// Ends the whole job, for the other programs would wait for this one.
int usage() {
  std::fputs("usage: pillion-sidecar [--color N]\n", stderr);
  return MPI_Abort(MPI_COMM_WORLD, 2);
}

/// Takes part in the split that the simulation makes of the world; the result is not needed.
void split_world(int colour) {
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, colour, 0, &mine);
  MPI_Comm_free(&mine);
}

int serve() {
  pillion_options* options = nullptr;
  pillion_session* session = nullptr;
  pillion_options_create(&options);
  pillion_options_set_role(options, PILLION_ROLE_SIDECAR);
  const auto status = pillion_open_with(nullptr, MPI_COMM_WORLD, options, &session);
  pillion_options_free(options);
  if (status != PILLION_OK) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "pillion-sidecar: rank %d: %s\n", rank, pillion_error_message());
    return 1;
  }
  return pillion_serve(session) == 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool understood = argc == 1;
  if (argc == 3 && std::strcmp(argv[1], "--color") == 0) {
    split_world(std::atoi(argv[2]));
    understood = true;
  }
  const int result = understood ? serve() : usage();
  MPI_Finalize();
  return result;
}
