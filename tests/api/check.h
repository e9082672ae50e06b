/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks for the API tests, which are programs as users write them rather than test cases. A check
 * that fails is counted and reported, and the program goes on, so that no rank leaves the others
 * waiting; every rank then ends with a status that all agree on. */
#ifndef PILLION_TESTS_API_CHECK_H
#define PILLION_TESTS_API_CHECK_H

#include <mpi.h>
#include <stdio.h>

static int failures = 0;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      ++failures;                                                             \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                         \
  } while (0)

/* Whether no rank of MPI_COMM_WORLD saw a failure, as an exit status. */
static int agreed_status(void) {
  int total = 0;
  MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return total == 0 ? 0 : 1;
}

static int world_size(void) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/* The number of simulation ranks that a run with one sidecar must have, or all without Pillion. */
static inline int expected_simulation_ranks(int enabled, int sidecars) {
  return enabled ? world_size() - sidecars : world_size();
}

static inline int file_exists(const char* path) {
  FILE* file = fopen(path, "r");
  if (file) fclose(file);
  return file != NULL;
}

#endif
