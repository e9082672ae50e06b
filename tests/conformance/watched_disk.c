/* SPDX-License-Identifier: BSD-3-Clause */
/* A disk for tests to preload: it says when each process writes to files of datasets (.part, .bin,
 * Cell_D), takes its time over that, and is full after so many bytes of a process.
 *   WATCHED_LOG=FOLDER  a file for each process, with a line "begin end bytes" for each write, in
 * seconds WATCHED_PAUSE=MS    how long a write takes at least WATCHED_ROOM=BYTES  what a process
 * may write before there is no space left */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int is_watched(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  if (strstr(path, "/Cell_D_") != NULL) return 1;
  if (length > 5 && memcmp(path + length - 5, ".part", 5) == 0) return 1;
  return length > 4 && memcmp(path + length - 4, ".bin", 4) == 0;
}

static void note(double begin, size_t size) {
  const char* folder = getenv("WATCHED_LOG");
  if (folder == NULL) return;
  char path[4096];
  snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
  FILE* log = fopen(path, "a");
  if (log == NULL) return;
  fprintf(log, "%.9f %.9f %zu\n", begin, now(), size);
  fclose(log);
}

static ssize_t watched(ssize_t (*real)(int, const void*, size_t, off_t), int file, const void* data,
                       size_t size, off_t at) {
  static size_t written = 0;
  if (!is_watched(file)) return real(file, data, size, at);
  const double begin = now();
  const char *pause = getenv("WATCHED_PAUSE"), *room = getenv("WATCHED_ROOM");
  if (pause != NULL) usleep((useconds_t)atoi(pause) * 1000);
  if (room != NULL && written + size > (size_t)atoll(room)) {
    errno = ENOSPC;
    return -1;
  }
  const ssize_t done = real(file, data, size, at);
  if (done > 0) written += (size_t)done;
  note(begin, size);
  return done;
}

ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
  return watched((ssize_t(*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, "pwrite"), file,
                 data, size, at);
}

ssize_t pwrite64(int file, const void* data, size_t size, off_t at) {
  return watched((ssize_t(*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, "pwrite64"), file,
                 data, size, at);
}
