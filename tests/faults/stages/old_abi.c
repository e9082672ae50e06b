/* SPDX-License-Identifier: BSD-3-Clause */
/* A plug-in of another ABI version. Anything behind its first two members may mean something else,
 * so they are made to crash whoever looks. */
#include <pillion/stage.h>

const pillion_stage_table* pillion_stage_describe(void) {
  static const uint32_t table[2] = {PILLION_STAGE_ABI_VERSION + 41, 8};
  return (const pillion_stage_table*)table;
}
