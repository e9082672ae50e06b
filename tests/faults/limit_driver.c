/* SPDX-License-Identifier: BSD-3-Clause */
/* A simulation under a limit of resources, as batch systems set them:
 *   limit_driver CONFIGURATION CELLS STEPS WHEN RESOURCE VALUE
 * WHEN is `before` or `after` it opens its session. VALUE counts from what the process has already:
 * bytes of address space and of data, and open files; of sizes of files, locked memory and threads
 * it is the limit itself. With `as-nobody` for WHEN it gives up the rights of root before, which
 * has no limit of threads. No limit may end it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <pillion/pillion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static long kibibytes(const char* key) {
  char line[256];
  long found = 0;
  FILE* file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, key, strlen(key)) == 0) found = atol(line + strlen(key));
  if (file != NULL) fclose(file);
  return found;
}

static long open_files(void) {
  long greatest = 0;
  DIR* folder = opendir("/proc/self/fd");
  struct dirent* entry = NULL;
  while (folder != NULL && (entry = readdir(folder)) != NULL)
    if (atol(entry->d_name) > greatest && atol(entry->d_name) != dirfd(folder))
      greatest = atol(entry->d_name);
  if (folder != NULL) closedir(folder);
  return greatest + 1;
}

static void limit(const char* resource, long value) {
  int which = RLIMIT_FSIZE;
  if (strcmp(resource, "AS") == 0) which = RLIMIT_AS, value += kibibytes("VmSize:") * 1024;
  else if (strcmp(resource, "DATA") == 0) which = RLIMIT_DATA, value += kibibytes("VmData:") * 1024;
  else if (strcmp(resource, "NOFILE") == 0) which = RLIMIT_NOFILE, value += open_files();
  else if (strcmp(resource, "MEMLOCK") == 0) which = RLIMIT_MEMLOCK;
  else if (strcmp(resource, "NPROC") == 0) which = RLIMIT_NPROC;
  const struct rlimit limits = {(rlim_t)value, (rlim_t)value};
  if (setrlimit(which, &limits) != 0) perror("setrlimit");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int64_t cells = atol(argv[2]), steps = atol(argv[3]);
  const char* when = argv[4];
  /* The arrays of a solver are there before. */
  double* density = calloc((size_t)(cells * cells * cells), sizeof *density);
  for (int64_t i = 0; i < cells * cells * cells; ++i) density[i] = 1 + (double)(i % 7);
  if (strcmp(when, "as-nobody") == 0 && setresuid(65534, 65534, 65534) != 0) perror("setresuid");
  if (strcmp(when, "after") != 0) limit(argv[5], atol(argv[6]));
  pillion_session* session = NULL;
  if (pillion_open(argv[1], MPI_COMM_WORLD, &session) != PILLION_OK) {
    if (rank == 0) printf("refused: %s\n", pillion_error_message());
    if (rank == 0) puts("solver ended well");
    MPI_Finalize();
    return 0;
  }
  if (pillion_serve(session)) return MPI_Finalize();
  if (strcmp(when, "after") == 0) limit(argv[5], atol(argv[6]));
  MPI_Comm comm = pillion_communicator(session);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int64_t lo[] = {0, 0, cells * rank / ranks},
                hi[] = {cells, cells, cells * (rank + 1) / ranks};
  pillion_status status =
      pillion_share_box(session, "density", 0, lo, hi, density + cells * cells * lo[2]);
  for (int64_t step = 0; step < steps && status == PILLION_OK; ++step)
    status = pillion_step(session, step, 0.5 * (double)step);
  if (status != PILLION_OK && rank == 0) printf("a call failed: %s\n", pillion_error_message());
  status = pillion_close(session);
  if (status != PILLION_OK && rank == 0) printf("close failed: %s\n", pillion_error_message());
  if (rank == 0) puts("solver ended well");
  free(density);
  MPI_Finalize();
  return 0;
}
