// SPDX-License-Identifier: BSD-3-Clause
// The main of unit-test programs that fork processes or start threads, and have no use for MPI.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
