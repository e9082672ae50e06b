/* SPDX-License-Identifier: BSD-3-Clause */
/* The C interface for programs that tell people which stages there are; pillion-stages is one. */
#ifndef PILLION_STAGES_H
#define PILLION_STAGES_H

#include <pillion/pillion.h>
#include <pillion/stage.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One stage that was found. Texts and table live until the function returns that is told. */
typedef struct pillion_found_stage {
  const char* name;
  const char* file;                 /**< of the plug-in; "" if it cannot be loaded */
  const pillion_stage_table* table; /**< NULL if it cannot be loaded */
  const char* failure;              /**< why it cannot be loaded, or "" */
} pillion_found_stage;

/** Calls tell(stage, context) for every stage in the folders of PILLION_STAGE_PATH and beside the
 * library, in order of their names. Needs no MPI. */
pillion_status pillion_each_stage(void (*tell)(const pillion_found_stage* stage, void* context),
                                  void* context);

#ifdef __cplusplus
}
#endif
#endif
