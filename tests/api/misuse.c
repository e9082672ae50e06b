/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls at the wrong time or with the wrong handle: each returns a status with a message, and none
 * ends the program. misuse.f90 is its twin in Fortran. */
#include <pillion/pillion.h>
#include <string.h>

#include "check.h"

static int message_has(const char* text) { return strstr(pillion_error_message(), text) != NULL; }

/* Before MPI_Init, and after MPI_Finalize. */
static void check_without_mpi(const char* why) {
  pillion_session* session = NULL;
  CHECK(pillion_open("second.yaml", MPI_COMM_WORLD, &session) == PILLION_ERROR_STATE);
  CHECK(session == NULL && message_has(why));
  CHECK(pillion_open_fortran("second.yaml", 0, &session) == PILLION_ERROR_STATE);
  CHECK(session == NULL && message_has(why));
  CHECK(pillion_communicator_fortran(NULL) == -1);
  CHECK(pillion_close(NULL) == PILLION_OK);
}

static void check_communicators(void) {
  pillion_session* session = NULL;
  CHECK(pillion_open("second.yaml", MPI_COMM_NULL, &session) == PILLION_ERROR_ARGUMENT);
  CHECK(message_has("MPI_COMM_NULL"));
  CHECK(pillion_open_fortran("second.yaml", MPI_Comm_c2f(MPI_COMM_NULL), &session) ==
        PILLION_ERROR_ARGUMENT);
  if (world_size() == 1) return;
  MPI_Comm half = MPI_COMM_NULL, both = MPI_COMM_NULL;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &both);
  CHECK(pillion_open("second.yaml", both, &session) == PILLION_ERROR_ARGUMENT);
  CHECK(session == NULL && message_has("intercommunicator"));
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

static pillion_session* opened(const char* sidecars) {
  pillion_options* options = NULL;
  pillion_session* session = NULL;
  CHECK(pillion_options_create(&options) == PILLION_OK);
  CHECK(pillion_options_override(options, "sidecars", sidecars) == PILLION_OK);
  CHECK(pillion_options_set_log(options, NULL, NULL) == PILLION_OK);
  CHECK(pillion_open_with("second.yaml", MPI_COMM_WORLD, options, &session) == PILLION_OK);
  pillion_options_free(options);
  return session;
}

static void offer_step(pillion_session* session) {
  static float heights[16];
  int rank = 0, ranks = 1;
  MPI_Comm_rank(pillion_communicator(session), &rank);
  MPI_Comm_size(pillion_communicator(session), &ranks);
  const int64_t lo = 16 * rank / ranks, hi = 16 * (rank + 1) / ranks;
  CHECK(pillion_share_box(session, "height", 0, &lo, &hi, heights) == PILLION_OK);
  CHECK(pillion_step(session, 0, 0.0) == PILLION_OK);
}

static void check_closed(pillion_session* session) {
  pillion_progress progress;
  const int64_t lo = 0, hi = 1;
  const float height = 0;
  int32_t due = 0;
  CHECK(pillion_step(session, 1, 1.0) == PILLION_ERROR_STATE && message_has("closed"));
  CHECK(pillion_is_due(session, 1, 1.0, &due) == PILLION_ERROR_STATE);
  CHECK(pillion_share_box(session, "height", 0, &lo, &hi, &height) == PILLION_ERROR_STATE);
  CHECK(pillion_checkpoint(session, "checkpoint") == PILLION_ERROR_STATE);
  CHECK(pillion_get_progress(session, &progress) == PILLION_ERROR_STATE);
  CHECK(pillion_communicator(session) == MPI_COMM_NULL);
}

static void check_closing_twice(const char* sidecars) {
  pillion_session* session = opened(sidecars);
  const int served = pillion_serve(session);
  if (!served) {
    offer_step(session);
    CHECK(pillion_close(session) == PILLION_OK);
  }
  CHECK(pillion_close(session) == PILLION_ERROR_STATE && message_has("closed"));
  CHECK(pillion_close(session) == PILLION_ERROR_STATE);
  CHECK(pillion_serve(session) == served);
  CHECK(strcmp(pillion_report_path(session), "") == 0);
  check_closed(session);
}

/* The second phase is for sessions that have one, and all ranks open theirs in the same way. */
static void check_phases(void) {
  pillion_options* options = NULL;
  pillion_session* session = opened("null");
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(pillion_set_parameter(session, "n", "1") == PILLION_ERROR_STATE && message_has("too late"));
  CHECK(pillion_offer_catalogue(session, "") == PILLION_ERROR_STATE && message_has("too late"));
  CHECK(pillion_configure(session) == PILLION_OK);
  CHECK(pillion_close(session) == PILLION_OK);
  if (world_size() == 1) return;
  CHECK(pillion_options_create(&options) == PILLION_OK);
  CHECK(pillion_options_set_log(options, NULL, NULL) == PILLION_OK);
  if (rank == 0) CHECK(pillion_options_set_deferred(options) == PILLION_OK);
  CHECK(pillion_open_with("third.yaml", MPI_COMM_WORLD, options, &session) ==
        PILLION_ERROR_ARGUMENT);
  CHECK(session == NULL && message_has("in two phases and others in one"));
  pillion_options_free(options);
}

int main(int argc, char** argv) {
  check_without_mpi("MPI_Init");
  MPI_Init(&argc, &argv);
  check_communicators();
  check_phases();
  check_closing_twice("null");
  if (world_size() > 1) check_closing_twice("{ranks: 1}");
  pillion_session* forgotten = opened("null");
  CHECK(pillion_serve(forgotten) == 0);
  offer_step(forgotten);
  const int status = agreed_status();
  MPI_Finalize();
  const int before = failures;
  check_closed(forgotten);
  CHECK(pillion_close(forgotten) == PILLION_OK);
  check_without_mpi("MPI_Finalize");
  return failures > before ? 1 : status;
}
