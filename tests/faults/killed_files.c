/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shows what a process leaves on disk that is killed between two operations on files. After
 * killed_files_after(N), the next N operations that change a file or folder take place, and later
 * ones change nothing and fail, until killed_files_after(-1). So one process can try every N. With
 * KILLED_FILES_NO_EXCHANGE in the environment the file system cannot exchange two names.
 *
 * For LD_PRELOAD. One thread only changes files while it counts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t left = -1;
static int64_t counted = 0;

/* Returns how many operations took place or would have, since the last call. */
int64_t killed_files_after(int64_t operations) {
  const int64_t before = counted;
  counted = 0;
  left = operations;
  return before;
}

/* Whether an operation comes after the end. */
static int is_dead(void) {
  if (left < 0) return 0;
  ++counted;
  if (left > 0) {
    --left;
    return 0;
  }
  errno = EIO;
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int rename(const char* from, const char* to) { return is_dead() ? -1 : REAL(rename)(from, to); }

int renameat2(int a, const char* from, int b, const char* to, unsigned flags) {
  if (flags != 0 && getenv("KILLED_FILES_NO_EXCHANGE") != NULL) {
    errno = EINVAL;
    return -1;
  }
  return is_dead() ? -1 : REAL(renameat2)(a, from, b, to, flags);
}

int unlink(const char* path) { return is_dead() ? -1 : REAL(unlink)(path); }

int unlinkat(int folder, const char* path, int flags) {
  return is_dead() ? -1 : REAL(unlinkat)(folder, path, flags);
}

int rmdir(const char* path) { return is_dead() ? -1 : REAL(rmdir)(path); }

int remove(const char* path) { return is_dead() ? -1 : REAL(remove)(path); }

int mkdir(const char* path, mode_t mode) { return is_dead() ? -1 : REAL(mkdir)(path, mode); }

int fsync(int file) { return is_dead() ? -1 : REAL(fsync)(file); }

ssize_t write(int file, const void* bytes, size_t size) {
  return file > 2 && is_dead() ? -1 : REAL(write)(file, bytes, size);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  return is_dead() ? -1 : REAL(pwrite)(file, bytes, size, at);
}

int ftruncate(int file, off_t size) { return is_dead() ? -1 : REAL(ftruncate)(file, size); }

static int changes(int flags) { return (flags & (O_CREAT | O_TRUNC)) != 0; }

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (changes(flags) && is_dead()) return -1;
  return REAL(open)(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open(path, flags, mode);
}
