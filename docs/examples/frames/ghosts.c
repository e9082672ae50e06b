/* SPDX-License-Identifier: BSD-3-Clause */
/* What is around a block of docs/howto-instrument.md: an array with ghost cells along two axes. */
#include <mpi.h>
#include <pillion/pillion.h>

int main(int argc, char** argv) {
  pillion_session* pil = NULL;
  static double rho[8 * 8 * 4];
  const int64_t lo[3] = {0, 0, 0}, hi[3] = {4, 4, 4}, step = 0;
  MPI_Init(&argc, &argv);
  if (pillion_open("pillion.yaml", MPI_COMM_WORLD, &pil)) return 1;
  /* block */
  pillion_step(pil, step, 0);
  pillion_close(pil);
  return MPI_Finalize();
}
