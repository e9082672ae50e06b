// SPDX-License-Identifier: BSD-3-Clause
// What a failed publication costs an analysis.
#include <doctest/doctest.h>

#include "run/chains.hpp"

using namespace pillion;
using namespace pillion::run;

TEST_CASE("a failure costs its publication, until there are too many in a row") {
  for (const auto code : {ErrorCode::Stage, ErrorCode::File}) {
    const Error failure(code, "no");
    CHECK(consequence_of(failure, true, 1, 3) == Consequence::Lose);
    CHECK(consequence_of(failure, true, 2, 3) == Consequence::Lose);
    CHECK(consequence_of(failure, true, 3, 3) == Consequence::Disable);
    CHECK(consequence_of(failure, true, 1, 1) == Consequence::Disable);
  }
}

TEST_CASE("what stages keep must be as it was") {
  CHECK(consequence_of(Error(ErrorCode::Stage, "no"), false, 1, 3) == Consequence::Disable);
  CHECK(consequence_of(Error(ErrorCode::File, "no"), false, 1, 100) == Consequence::Disable);
}

TEST_CASE("a lack of memory and a defect are not a matter of one publication") {
  CHECK(consequence_of(Error(ErrorCode::Stage, "out of memory"), true, 1, 3) ==
        Consequence::Disable);
  for (const auto code : {ErrorCode::Internal, ErrorCode::Plugin, ErrorCode::State,
                          ErrorCode::Configuration, ErrorCode::Argument})
    CHECK(consequence_of(Error(code, "no"), true, 1, 3) == Consequence::Disable);
}

TEST_CASE("what does not fit together is dropped, however often") {
  const Error fault(ErrorCode::Sharing, "boxes overlap");
  CHECK(consequence_of(fault, true, 100, 3) == Consequence::Drop);
  CHECK(failure_to_fill(fault).consequence == Consequence::Drop);
  CHECK(failure_to_fill(Error(ErrorCode::Internal, "no")).consequence == Consequence::Disable);
}
