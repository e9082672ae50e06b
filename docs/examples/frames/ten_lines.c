/* SPDX-License-Identifier: BSD-3-Clause */
/* What is around the ten lines of the README: a solver that does nothing. */
#include <mpi.h>
#include <pillion/pillion.h>
#include <stdio.h>

static int stop(const char* why) {
  fprintf(stderr, "%s\n", why);
  MPI_Finalize();
  return 1;
}

static void solve(MPI_Comm sim) { MPI_Barrier(sim); }

int main(int argc, char** argv) {
  static double t[64 * 64 * 64];
  const int64_t lo[3] = {0, 0, 0}, hi[3] = {64, 64, 64}, steps = 10;
  const double time = 0;
  MPI_Init(&argc, &argv);
  /* block */
  return MPI_Finalize();
}
