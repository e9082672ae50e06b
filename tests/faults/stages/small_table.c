/* SPDX-License-Identifier: BSD-3-Clause */
/* A plug-in of this ABI version whose table is shorter than it should be. */
#include <pillion/stage.h>

const pillion_stage_table* pillion_stage_describe(void) {
  static const uint32_t table[2] = {PILLION_STAGE_ABI_VERSION, 8};
  return (const pillion_stage_table*)table;
}
