/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether this process has loaded anything from below a folder: an installed program must not
 * depend on the tree that it was built in. Linux only. */
#ifndef CONSUMER_LOADED_H
#define CONSUMER_LOADED_H

#include <stdio.h>
#include <string.h>

static int loaded_from(const char* folder) {
  char line[4096];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  if (!maps) return 0;
  while (fgets(line, sizeof line, maps))
    if (strstr(line, folder)) {
      fprintf(stderr, "loaded from the build tree: %s", line);
      found = 1;
    }
  fclose(maps);
  return found;
}

#endif
