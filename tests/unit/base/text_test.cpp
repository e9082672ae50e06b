// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.hpp"

#include <doctest/doctest.h>

using namespace pillion::base;

TEST_CASE("edit distance counts insertions, deletions, substitutions and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "abc") == 0);
  CHECK(edit_distance("abc", "ab") == 1);
  CHECK(edit_distance("abc", "xbc") == 1);
  CHECK(edit_distance("cutoff", "cutof") == 1);
  CHECK(edit_distance("filed", "field") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("a suggestion is made only for a near miss") {
  CHECK(closest("densty", {"density", "velocity"}) == "density");
  CHECK_FALSE(closest("pressure", {"density", "velocity"}).has_value());
  CHECK(suggestion("densty", {"density"}) == "; did you mean 'density'?");
  CHECK(suggestion("foo", {"density", "velocity"}) == "; known: density, velocity");
  CHECK(suggestion("foo", {}).empty());
}

TEST_CASE("bytes and seconds are read with their units") {
  CHECK(parse_bytes("1024") == 1024);
  CHECK(parse_bytes("2 GiB") == int64_t{2} << 30);
  CHECK(parse_bytes("1.5MB") == 1500000);
  CHECK(parse_bytes(" 64 KiB ") == 65536);
  for (const char* wrong : {"", "MiB", "-1 MiB", "1 mib", "1 MiBs", "nan", "inf"})
    CHECK_FALSE(parse_bytes(wrong).has_value());
  CHECK(parse_seconds("250 ms") == doctest::Approx(0.25));
  CHECK(parse_seconds("2 min") == doctest::Approx(120));
  CHECK_FALSE(parse_seconds("2 days").has_value());
}

TEST_CASE("numbers take the whole of their text") {
  CHECK(parse_integer("12") == 12);
  CHECK_FALSE(parse_integer("12.5").has_value());
  CHECK_FALSE(parse_integer("12 ").has_value() == false);
  CHECK(parse_real("1e-3") == doctest::Approx(1e-3));
  CHECK_FALSE(parse_real("1e-3x").has_value());
}

TEST_CASE("bytes for people") {
  CHECK(format_bytes(512) == "512 B");
  CHECK(format_bytes(1536) == "1.5 KiB");
  CHECK(format_bytes(int64_t{3} << 30) == "3.0 GiB");
}
