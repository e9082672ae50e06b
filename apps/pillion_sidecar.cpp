// SPDX-License-Identifier: BSD-3-Clause
// A program that is nothing but sidecars, for runs of several programs under one mpirun:
//   mpirun -n 6 simulation : -n 2 pillion-sidecar
// It needs no configuration: the simulation's is used. For programs that share MPI_COMM_WORLD with
// others in ways of their own, LAMMPS started with -mpicolor for example: --color N first splits it
// as they do, and --barrier meets them at a barrier before the end.
#include <mpi.h>
#include <pillion/pillion.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace {

/// Ends the whole job, for the other programs would wait for this one.
int usage() {
  std::fputs("usage: pillion-sidecar [--color N] [--barrier]\n", stderr);
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
  // The reason has been printed, once for all ranks.
  return status == PILLION_OK && pillion_serve(session) == 1 ? 0 : 1;
}

struct Options {
  bool splits = false;
  int colour = 0;
  bool barrier = false;
};

/// Nothing if an option is not known.
std::optional<Options> read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--barrier") {
      options.barrier = true;
    } else if (word == "--color" && i + 1 < argc) {
      options.splits = true;
      options.colour = std::atoi(argv[++i]);
    } else {
      return {};
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto options = read_options(argc, argv);
  if (!options) return usage();
  if (options->splits) split_world(options->colour);
  const int result = serve();
  // The session is closed, so every rank comes here whatever its status is.
  if (options->barrier) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return result;
}
