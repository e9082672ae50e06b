/* SPDX-License-Identifier: BSD-3-Clause */
/* The C interface for programs that tell people what is wrong with a configuration, and what will
 * happen if nothing is; pillion-check is one. */
#ifndef PILLION_CHECK_H
#define PILLION_CHECK_H

#include <pillion/pillion.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A configuration to look at, and how a run with it is to be started. What is not known is NULL or
 * 0. */
typedef struct pillion_question {
  const char* file;           /**< the configuration, or a guest's file */
  const char* of;             /**< of a guest's file: the configuration of the run */
  const char* catalogue_file; /**< where the catalogue in the options is from, for messages */
  int64_t ranks;              /**< of the whole job */
  int64_t nodes;              /**< that these are on */
  int64_t sidecars;           /**< of the ranks, if they are started as such */
} pillion_question;

/** A sentence about a place in a file. */
typedef struct pillion_remark {
  const char* file;
  int64_t line; /**< 0: none in particular */
  const char* message;
} pillion_remark;

typedef struct pillion_stage_outlook {
  const char* name;
  int32_t in_sidecars; /**< 1: it runs there, 0: in the simulation, 2: where that is better */
} pillion_stage_outlook;

typedef struct pillion_analysis_outlook {
  const char* name;
  const char* every;
  const char* when;   /**< "" if there is no condition */
  const char* folder; /**< of its products */
  int64_t products_every;
  int32_t stage_count;
  int32_t need_count;
  const pillion_stage_outlook* stages;
  const char* const* needs; /**< fields of the simulation */
} pillion_analysis_outlook;

/** A field that crosses the cut. */
typedef struct pillion_crossing {
  const char* field;
  const char* mesh;
  const char* made_by; /**< the analysis whose stages in the simulation make it; "" if shared */
  const char* type;
  int32_t components;
  pillion_mesh_kind mesh_kind;
  int64_t bytes; /**< of a whole uniform mesh; of one particle or element of others */
} pillion_crossing;

/** What will happen. */
typedef struct pillion_outlook {
  const char* output;
  const char* run;
  const char* restart; /**< "" for a new run */
  const char* job;     /**< of the sidecars: "same" or "separate" */
  const char* when_full;
  int64_t sidecar_ranks;
  int64_t sidecars_per_node;
  int64_t memory;     /**< budget of publications in flight on a node, in bytes */
  int64_t simulating; /**< ranks, or 0 */
  const pillion_analysis_outlook* analyses;
  const pillion_crossing* crossing; /**< when all analyses are due */
  int32_t analysis_count;
  int32_t crossing_count;
  int64_t bytes;          /**< of all that crosses then on uniform meshes */
  int64_t bytes_per_rank; /**< the same of a rank, if cells are shared evenly; 0 if unknown */
} pillion_outlook;

typedef struct pillion_checked {
  const pillion_remark* mistakes;
  const pillion_remark* notes; /**< nothing wrong, but perhaps not what was meant */
  int32_t mistake_count;
  int32_t note_count;
  const pillion_outlook* outlook; /**< NULL if there are mistakes */
} pillion_checked;

/** Looks for all mistakes in a configuration and calls tell(checked, context) once; what it is
 * given lives until it returns. `options` may be NULL; parameters, catalogue, overrides and restart
 * are as for pillion_open_with. Stages are loaded and made, as in a run. Writes nothing and needs
 * no MPI. A mistake in the configuration is no failure of this function. */
pillion_status pillion_check(const pillion_question* question, const pillion_options* options,
                             void (*tell)(const pillion_checked* checked, void* context),
                             void* context);

#ifdef __cplusplus
}
#endif
#endif
