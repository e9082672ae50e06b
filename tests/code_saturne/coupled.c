/* SPDX-License-Identifier: BSD-3-Clause */
/* Two programs that are coupled in one job, each of them half of the ranks. The first calls the
 * adapter as code_saturne does; the other one waits for a message from it. */
#include <mpi.h>
#include <stdio.h>

#include "pillion_saturne.h"

static void calculate(MPI_Comm comm) {
  if (pillion_saturne_open(comm) != comm) printf("another communicator\n");
  pillion_saturne_add_zone("in$let");
  pillion_saturne_add_field("pressure", PILLION_SATURNE_CELLS, 1, 0);
  pillion_saturne_configure();
  printf("configured\n");
  pillion_saturne_close();
}

int main(int argc, char* argv[]) {
  int rank = 0, ranks = 0, message = 1;
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int other = (rank + ranks / 2) % ranks, is_first = rank < ranks / 2;
  MPI_Comm_split(MPI_COMM_WORLD, is_first, 0, &comm);
  if (is_first) calculate(comm);
  MPI_Sendrecv_replace(&message, 1, MPI_INT, other, 0, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
