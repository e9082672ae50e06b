/* SPDX-License-Identifier: BSD-3-Clause */
/* What is around the time loop of the README: a solver that does nothing. */
#include <mpi.h>
#include <stdio.h>

static int stop(const char* why) {
  fprintf(stderr, "%s\n", why);
  MPI_Finalize();
  return 1;
}

static void advance(MPI_Comm comm, double* t) {
  t[0] += 1;
  MPI_Barrier(comm);
}

int main(int argc, char** argv) {
  static double t[64 * 64 * 64];
  const int64_t lo[3] = {0, 0, 0}, hi[3] = {64, 64, 64}, steps = 10;
  const double dt = 0.1;
  MPI_Init(&argc, &argv);
  /* block */
  MPI_Finalize();
}
