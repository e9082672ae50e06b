/* SPDX-License-Identifier: BSD-3-Clause */
/* A simulation whose ranks do not make the same calls, for test_different_calls.py. MODE says in
 * what the last rank differs from the others. Prints each failure once, and "ok" at the end.
 *   calls_driver CONFIG MODE [RANK THAT DIFFERS] */
#include <mpi.h>
#include <pillion/pillion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank = 0;
static char last[2048] = "";

static int failed(const char* call, pillion_status status) {
  if (status == PILLION_OK) return 0;
  char line[2048];
  snprintf(line, sizeof line, "rank %d: %s: %s\n", rank, call, pillion_error_message());
  if (strcmp(line, last) != 0) fputs(line, stdout);
  memcpy(last, line, sizeof last);
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* mode = argc > 2 ? argv[2] : "";
  pillion_session* session = NULL;
  if (failed("open", pillion_open(argv[1], MPI_COMM_WORLD, &session))) return 1;
  if (pillion_serve(session)) {
    MPI_Finalize();
    return 0;
  }
  const MPI_Comm comm = pillion_communicator(session);
  int ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int differs = rank == (argc > 3 ? atoi(argv[3]) : ranks - 1);
  static double density[64];
  const int64_t lo[] = {8 * rank / ranks, 0}, hi[] = {8 * (rank + 1) / ranks, 4};
  if (failed("share", pillion_share_box(session, "density", 0, lo, hi, density))) return 1;
#define MODE(name) (strcmp(mode, name) == 0)
  if (MODE("ready") && differs) failed("ready", pillion_ready(session));
  int steps = 12;
  if ((MODE("only") && !differs) || (MODE("none") && differs)) steps = 0;
  if ((MODE("only") || MODE("none")) && steps > 0) steps = 3;
  if (MODE("fewer") && differs) steps = 6;
  if (MODE("ready") && differs) steps = 0;
  for (int i = 0; i < steps; ++i) {
    const int step = MODE("late") && differs ? i + 1 : i;
    if (MODE("skips") && differs && i == 5) continue;
    if (MODE("checkpoint") && differs && i == 5)
      failed("checkpoint", pillion_checkpoint(session, "state"));
    if (MODE("closes") && differs && i == 5) break;
    if (MODE("fork") && differs && i == 5) {
      const pid_t child = fork();
      if (child == 0) _exit(pillion_close(session));
      int status = 1;
      waitpid(child, &status, 0);
      if (status != 0) printf("rank %d: the child ended with %d\n", rank, status);
    }
    const double time = 0.1 * step * (MODE("time") && differs ? 2 : 1);
    failed("step", pillion_step(session, step, time));
    if (MODE("twice") && differs) failed("step", pillion_step(session, step, time));
  }
  /* The others wait for this rank outside Pillion. */
  if (MODE("absent") && !differs) MPI_Barrier(comm);
  if (MODE("never") && differs) failed("checkpoint", pillion_checkpoint(session, "state"));
  if (MODE("never")) MPI_Barrier(comm);
  failed("close", pillion_close(session));
  if (MODE("absent") && differs) MPI_Barrier(comm);
  /* The communicator is the program's until the end. */
  int sum = 1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (sum == ranks) printf("rank %d: ok\n", rank);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
