/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of the header of no-ops for Fortran, which cannot include it: inline in C, here
 * they are what a linker finds. Compile it with that header in front, and link no library. */
#include <mpi.h>
#include <pillion/types.h>
#include <pillion/version.h>
#include <stdlib.h>
#include <string.h>

#define static
#define inline
#include <pillion/pillion.h>
