// SPDX-License-Identifier: BSD-3-Clause
// Meetings of two ranks without Pillion, for test_keeping_up.py: each waits for the other in a
// non-blocking sum, and sleeps between its tests of MPI as long as it has waited, up to a limit.
//   meetings DELAY LONGEST COUNT WORK
// Rank 1 comes DELAY ms late once; rank 0 works WORK ms after every second meeting; a pause takes
// LONGEST ms at most. Prints the mean time of a meeting in ms, the first one left out.
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void pause_for(double seconds) {
  const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
}

static void wait_asleep(MPI_Request* request, double longest) {
  const double begin = MPI_Wtime();
  int done = 0;
  while (MPI_Test(request, &done, MPI_STATUS_IGNORE), !done) {
    const double waited = MPI_Wtime() - begin;
    if (waited < 1e-4) sched_yield();
    else pause_for(waited < longest ? waited : longest);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
  const double delay = atof(argv[1]) * 1e-3, longest = atof(argv[2]) * 1e-3;
  const int count = atoi(argv[3]);
  const double work = atof(argv[4]) * 1e-3;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double total = 0;
  for (int meeting = 0; meeting < count; ++meeting) {
    if (meeting == 0 && rank == 1) pause_for(delay);
    int marks[72] = {0};
    MPI_Request request;
    const double begin = MPI_Wtime();
    MPI_Iallreduce(MPI_IN_PLACE, marks, 72, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    wait_asleep(&request, longest);
    const double end = MPI_Wtime();
    if (meeting > 0) total += end - begin;
    while (rank == 0 && meeting % 2 == 0 && MPI_Wtime() - end < work) sched_yield();
  }
  if (rank == 0) printf("%.3f\n", total / (count - 1) * 1e3);
  MPI_Finalize();
  return 0;
}
