// SPDX-License-Identifier: BSD-3-Clause
#include "run/finalize.hpp"

#include <doctest/doctest.h>

using pillion::run::patience_at_finalize;

TEST_CASE("sidecars that are late at the end keep MPI_Finalize for seconds, and not for an hour") {
  CHECK(patience_at_finalize(60) == 60);
  CHECK(patience_at_finalize(1) == 60);
  CHECK(patience_at_finalize(0.2) == doctest::Approx(12));
  CHECK(patience_at_finalize(600) == 600);
}
