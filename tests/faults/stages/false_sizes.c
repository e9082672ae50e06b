/* SPDX-License-Identifier: BSD-3-Clause */
/* A plug-in that lies about the sizes of structs: of those it was built with, as LIE says, or of
 * one that it passes to the host. It is refused before the host or the plug-in reads past an end.
 */
#include <pillion/stage.h>

static int32_t create(const pillion_stage_host* host, pillion_setup* setup, void** stage) {
  pillion_output output = {0};
  int32_t number = 0;
  output.size = sizeof output - 8;
  output.name = "made";
  output.like = "density";
  output.type = PILLION_FLOAT64;
  output.components = 1;
  *stage = 0;
  return host->declare_output(setup, &output, &number);
}
static int32_t work(void* stage, pillion_work* at) { return stage != 0 && at != 0; }
static int32_t keep(void* stage, pillion_state* state) { return stage != 0 && state != 0; }
static void destroy(void* stage) { (void)stage; }

const pillion_stage_table* pillion_stage_describe(void) {
  static pillion_stage_sizes sizes = PILLION_STAGE_SIZES;
  static pillion_stage_table table;
#if defined(LARGER_BLOCK)
  sizes.block += 8;
#elif defined(SMALLER_ARRAY)
  sizes.array -= 8;
#elif defined(NO_SIZES)
  sizes.size = 8;
#endif
  table.abi_version = PILLION_STAGE_ABI_VERSION;
  table.size = sizeof table;
  table.sizes = &sizes;
  table.name = "false_sizes";
  table.summary = "";
  table.create = create;
  table.run = work;
  table.finish = work;
  table.save = keep;
  table.restore = keep;
  table.destroy = destroy;
  return &table;
}
