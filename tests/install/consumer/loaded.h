/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether this process has loaded a library or a stage of a build tree: an installed program must
 * not depend on the tree that it was built in. Linux only. */
#ifndef CONSUMER_LOADED_H
#define CONSUMER_LOADED_H

#include <stdio.h>
#include <string.h>

static int loaded_from(const char* build) {
  char line[4096], libraries[2048], stages[2048];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  if (!maps) return 0;
  snprintf(libraries, sizeof libraries, "%s/lib/", build);
  snprintf(stages, sizeof stages, "%s/stages/", build);
  while (fgets(line, sizeof line, maps))
    if (strstr(line, libraries) || strstr(line, stages)) {
      fprintf(stderr, "loaded from the build tree: %s", line);
      found = 1;
    }
  fclose(maps);
  return found;
}

#endif
