// SPDX-License-Identifier: BSD-3-Clause
// Runs the tests of the stages' kernels, which need neither MPI nor a session.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
