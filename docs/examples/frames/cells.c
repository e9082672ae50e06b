/* SPDX-License-Identifier: BSD-3-Clause */
/* What is around a block of docs/howto-unstructured.md: a tetrahedron and a pyramid. */
#include <mpi.h>
#include <pillion/pillion.h>

int main(int argc, char** argv) {
  pillion_session* pil = NULL;
  const double xyz[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1};
  const uint8_t types[2] = {10, 14};
  const int32_t offsets[3] = {0, 4, 9}, corners[9] = {0, 1, 2, 5, 0, 1, 4, 3, 5};
  double heat[2] = {300, 301};
  float velocity[18] = {0};
  MPI_Init(&argc, &argv);
  if (pillion_open("pillion.yaml", MPI_COMM_WORLD, &pil)) return 1;
  /* block */
  pillion_close(pil);
  return MPI_Finalize();
}
