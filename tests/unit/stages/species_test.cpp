// SPDX-License-Identifier: BSD-3-Clause
// Which types belong to which species.
#include "common/species.hpp"

#include <doctest/doctest.h>

using namespace pillion::stages;

TEST_CASE("a type belongs to every species that lists it") {
  const Selection s({{"water", {1, 2}}, {"O", {2}}, {"ion", {4, 3}}});
  CHECK(s.types() == std::vector<int64_t>{1, 2, 3, 4});
  CHECK(s.membership(1) == 0b001);
  CHECK(s.membership(2) == 0b011);
  CHECK(s.membership(4) == 0b100);
  CHECK(s.membership(5) == 0);
  CHECK(s.membership(-7) == 0);
  CHECK(s.find("ion") == 2);
  CHECK(s.find("Na") == -1);
}

TEST_CASE("without species everything is one") {
  const Selection s;
  CHECK(s.everything());
  CHECK(s.size() == 1);
  CHECK(s.membership(17) == 1);
}

TEST_CASE("signatures differ where selections do") {
  const Selection a({{"O", {2}}}), b({{"O", {2, 3}}}), c({{"O2", {2}}});
  CHECK(a.signature() != b.signature());
  CHECK(a.signature() != c.signature());
  CHECK(a.signature() == Selection({{"O", {2}}}).signature());
}
