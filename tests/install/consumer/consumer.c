/* SPDX-License-Identifier: BSD-3-Clause */
/* A C program that found Pillion by find_package. Usage: FILE BUILD_TREE OUTPUT [SECONDS], where
 * SECONDS is how long it waits for sidecars of another job to finish before it closes. */
#include <pillion/pillion.h>
#include <stdlib.h>
#include <time.h>

#include "loaded.h"

static int stop(const char* what) {
  fprintf(stderr, "%s: %s\n", what, pillion_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

/* Whether all that was published has been worked on before so many seconds have passed. */
static int worked_on(const pillion_session* session, double seconds) {
  const struct timespec moment = {0, 20000000};
  pillion_progress progress = {.behind = 1};
  for (const double begin = MPI_Wtime(); progress.behind > 0 && MPI_Wtime() - begin < seconds;) {
    if (pillion_get_progress(session, &progress)) return 0;
    nanosleep(&moment, NULL);
  }
  return progress.behind == 0;
}

int main(int argc, char** argv) {
  pillion_options* options = NULL;
  pillion_session* session = NULL;
  int rank = 0, ranks = 1, failed = 0;
  double height[12];
  MPI_Init(&argc, &argv);
  if (argc < 4) return stop("usage: consumer FILE BUILD_TREE OUTPUT [SECONDS]");
  if (pillion_options_create(&options)) return stop("options");
  if (pillion_options_set(options, "output", argv[3])) return stop("set");
  if (pillion_open_with(argv[1], MPI_COMM_WORLD, options, &session)) return stop("open");
  pillion_options_free(options);
  MPI_Comm_rank(pillion_communicator(session), &rank);
  MPI_Comm_size(pillion_communicator(session), &ranks);
  const int64_t lo = 12 * rank / ranks, hi = 12 * (rank + 1) / ranks;
  for (int64_t step = 0; step < 4; ++step) {
    for (int64_t i = lo; i < hi; ++i) height[i - lo] = i % 2 == 0 ? 1.0 : -1.0;
    if (pillion_share_box(session, "height", 0, &lo, &hi, height)) return stop("share");
    if (pillion_step(session, step, (double)step)) return stop("step");
  }
  failed = loaded_from(argv[2]);
  pillion_progress progress;
  if (pillion_get_progress(session, &progress)) return stop("progress");
  if (progress.step != 3 || progress.disabled != 0) failed = 1;
  if (argc > 4 && !worked_on(session, atof(argv[4]))) return stop("the sidecars did not come");
  if (pillion_close(session)) return stop("close");
  MPI_Finalize();
  return failed;
}
