/* SPDX-License-Identifier: BSD-3-Clause */
/* What is around a block of docs/howto-instrument.md: a step with a scalar. */
#include <mpi.h>
#include <pillion/pillion.h>

int main(int argc, char** argv) {
  pillion_session* pil = NULL;
  const int64_t step = 0;
  const double time = 0, scale_factor = 0.5;
  MPI_Init(&argc, &argv);
  if (pillion_open("pillion.yaml", MPI_COMM_WORLD, &pil)) return 1;
  /* block */
  pillion_close(pil);
  return MPI_Finalize();
}
