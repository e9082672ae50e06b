/* SPDX-License-Identifier: BSD-3-Clause */
/* What is around a block of docs/howto-restarts.md: a program that saves itself and its analyses.
 */
#include <mpi.h>
#include <pillion/pillion.h>
#include <stdio.h>

static void write_my_own_checkpoint(const char* path) { printf("%s\n", path); }

static int stop(const char* why) {
  fprintf(stderr, "%s\n", why);
  return 1;
}

static int save(pillion_session* pil) {
  /* block */
  return 0;
}

int main(int argc, char** argv) {
  pillion_session* pil = NULL;
  MPI_Init(&argc, &argv);
  if (pillion_open("pillion.yaml", MPI_COMM_WORLD, &pil)) return stop(pillion_error_message());
  if (pillion_serve(pil)) return MPI_Finalize();
  const int status = save(pil);
  pillion_close(pil);
  MPI_Finalize();
  return status;
}
