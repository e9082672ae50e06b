// SPDX-License-Identifier: BSD-3-Clause
#include "policy/leave_state.hpp"

#include <doctest/doctest.h>

using namespace pillion::policy;

TEST_CASE("sidecars that are asked to leave look first whether the simulation dies too") {
  constexpr auto none = LeaveRequest::None, asked = LeaveRequest::Asked;
  LeaveState state(60);
  CHECK_FALSE(state.leaves(none, 100));
  CHECK_FALSE(state.leaves(asked, 100));
  CHECK_FALSE(state.leaves(asked, 102.9));
  SUBCASE("it lives") { CHECK(state.leaves(asked, 103)); }
  SUBCASE("it dies, and they finish what it has published") {
    state.note_gone();
    CHECK_FALSE(state.leaves(asked, 159));
    CHECK(state.leaves(asked, 160));
  }
  SUBCASE("they are asked again") {
    state.note_gone();
    CHECK(state.leaves(LeaveRequest::Insisted, 102.9));
  }
  SUBCASE("it makes a checkpoint before it ends") {
    state.note_checkpoint(102);
    CHECK_FALSE(state.leaves(asked, 116.9));
    CHECK(state.leaves(asked, 117));
  }
}
