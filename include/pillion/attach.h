/* SPDX-License-Identifier: BSD-3-Clause */
/* The C interface for programs that attach sidecars to runs that go on; pillion-attach is one. */
#ifndef PILLION_ATTACH_H
#define PILLION_ATTACH_H

#include <pillion/pillion.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How the work of attached sidecars ended. */
enum {
  PILLION_ENDED_CLOSED = 0, /**< the simulation has closed its session */
  PILLION_ENDED_LEFT = 1,   /**< they were asked to leave */
  PILLION_ENDED_ALONE = 2   /**< the simulation is gone without a word */
};

/** Attaches the ranks of `comm` as sidecars to the run called `run` (its name, or its id), waiting
 * for it for at most `patience` seconds, and works until it ends or pillion_leave() was called on
 * some rank. [collective over comm] There must be at least one rank on every node of the run.
 *
 * `analyses` is NULL for the run's own sidecars (`job: separate`), or a YAML file with `analyses:`
 * that are added to the run; products then go to folders of their names, and the report to
 * report-NAME.json, where NAME is `name` or, if that is NULL, the file's name. `options` may be
 * NULL; its parameters and log handler are used. *ending may be NULL. */
pillion_status pillion_attach(const char* run, const char* analyses, const char* name,
                              double patience, MPI_Comm comm, const pillion_options* options,
                              int32_t* ending);

/** Asks sidecars of this process to leave after the publication at hand. May be called from a
 * signal handler. */
void pillion_leave(void);

/** Runs of this user that go on on this node, a line each. Valid until the next call on this
 * thread.
 */
const char* pillion_runs(void);

/** Answers a simulation that wants to know what its sidecars will need: reads the question from one
 * file descriptor and writes the answer to the other. Needs no MPI. */
pillion_status pillion_answer(int32_t in, int32_t out);

#ifdef __cplusplus
}
#endif
#endif
