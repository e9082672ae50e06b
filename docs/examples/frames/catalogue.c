/* SPDX-License-Identifier: BSD-3-Clause */
/* What is around a block of docs/howto-instrument.md: a program that offers fields by itself. */
#include <mpi.h>
#include <pillion/pillion.h>

int main(int argc, char** argv) {
  pillion_options* options = NULL;
  MPI_Init(&argc, &argv);
  if (pillion_options_create(&options)) return 1;
  /* block */
  pillion_options_free(options);
  return MPI_Finalize();
}
