// SPDX-License-Identifier: BSD-3-Clause
// Units as texts: what is understood is combined, what is not is kept.
#include "common/units.hpp"

#include <doctest/doctest.h>

using pillion::stages::Units;

TEST_CASE("powers, products and quotients of units") {
  CHECK(Units("Å").power(2).text() == "Å^2");
  CHECK((Units("Å").power(2) / Units("fs")).text() == "Å^2/fs");
  CHECK((Units("Å/fs").power(2) * Units("fs")).text() == "Å^2/fs");
  CHECK(Units("g/cm^3").power(2).text() == "g^2/cm^6");
  CHECK(Units("nm").power(-3).text() == "1/nm^3");
  CHECK(Units("kg*m/s^2").power(-1).text() == "s^2/kg/m");
  CHECK((Units("m") / Units("m")).text().empty());
}

TEST_CASE("no units stay none") {
  CHECK(Units("").text().empty());
  CHECK(Units("").power(2).text().empty());
  CHECK((Units("").power(2) / Units("fs")).text() == "1/fs");
}

TEST_CASE("units are written as they were if nothing is done") {
  CHECK(Units("g/cm^3").text() == "g/cm^3");
  CHECK(Units("kg m^2/s").text() == "kg*m^2/s");
}

TEST_CASE("what is not understood is kept in parentheses") {
  CHECK(Units("1e-3 mol").power(2).text() == "(1e-3 mol)^2");
  CHECK(Units("m/(s K)").power(2).text() == "(m/(s K))^2");
  CHECK(Units("m^x").text() == "(m^x)");
  CHECK(Units("m/").text() == "(m/)");
}
