/* SPDX-License-Identifier: BSD-3-Clause */
/* A shared object that is no stage. */
int pillion_is_not_here(void) { return 1; }
