// SPDX-License-Identifier: BSD-3-Clause
#include "replay/arrangement.hpp"

#include <doctest/doctest.h>

#include "errors.hpp"

using namespace replay;
using pillion::Field;

namespace {

Field grid(int32_t components, int32_t axes = 3) {
  return {"speed",
          "grid",
          PILLION_UNIFORM,
          PILLION_FLOAT32,
          components,
          axes,
          {4, axes > 1 ? 5 : 1, axes > 2 ? 6 : 1},
          true};
}

Field particles(int32_t components) {
  return {"place", "stars", PILLION_PARTICLES, PILLION_FLOAT64, components, 0, {0, 0, 0}, true};
}

Stored stored(std::vector<int64_t> shape, bool fortran = false, Number number = Number::Float32) {
  Stored out;
  out.path = "a.npy";
  out.number = number;
  out.fortran = fortran;
  out.shape = std::move(shape);
  return out;
}

constexpr int c = Dimension::components;

}  // namespace

TEST_CASE("grids are indexed [z, y, x], or the other way") {
  CHECK(arrange(stored({6, 5, 4}), grid(1), Indices::Zyx) == Arrangement{{2, 6}, {1, 5}, {0, 4}});
  CHECK(arrange(stored({6, 5, 4, 3}), grid(3), Indices::Zyx) ==
        Arrangement{{2, 6}, {1, 5}, {0, 4}, {c, 3}});
  CHECK(arrange(stored({4, 5, 6, 3}), grid(3), Indices::Xyz) ==
        Arrangement{{0, 4}, {1, 5}, {2, 6}, {c, 3}});
  CHECK(arrange(stored({6, 5, 4, 1}), grid(1), Indices::Zyx).back() == Dimension{c, 1});
  CHECK(arrange(stored({5, 4}), grid(1, 2), Indices::Zyx) == Arrangement{{1, 5}, {0, 4}});
  CHECK(arrange(stored({4, 2}), grid(2, 1), Indices::Zyx) == Arrangement{{0, 4}, {c, 2}});
}

TEST_CASE("in Fortran's order the last index is the slowest") {
  CHECK(arrange(stored({6, 5, 4, 3}, true), grid(3), Indices::Zyx) ==
        Arrangement{{c, 3}, {0, 4}, {1, 5}, {2, 6}});
  CHECK(arrange(stored({7, 3}, true, Number::Float64), particles(3), Indices::Zyx) ==
        Arrangement{{c, 3}, {0, 7}});
}

TEST_CASE("there may be any number of particles") {
  for (int64_t n : {0, 1, 100}) {
    CHECK(arrange(stored({n}), particles(1), Indices::Zyx) == Arrangement{{0, n}});
    CHECK(arrange(stored({n, 3}), particles(3), Indices::Xyz) == Arrangement{{0, n}, {c, 3}});
  }
}

TEST_CASE("another shape is refused, with what was found and what is needed") {
  const auto said = [](const std::vector<int64_t>& shape, const Field& field,
                       Indices indices = Indices::Zyx) {
    return error_of([&] { (void)arrange(stored(shape), field, indices); });
  };
  CHECK(said({4, 5, 6}, grid(1)) ==
        "'a.npy' has shape [4, 5, 6], but field 'speed' on mesh 'grid' needs [6, 5, 4]; if it is "
        "indexed the other way, say --axes xyz");
  CHECK(contains(said({6, 5, 4, 3}, grid(3), Indices::Xyz),
                 "needs [4, 5, 6, 3]; if it is indexed the other way, say --axes zyx"));
  CHECK(contains(said({6, 5, 5}, grid(1)),
                 "needs [6, 5, 4]; do the parameters say the right cells?"));
  CHECK(contains(said({3, 6, 5, 4}, grid(3)), "needs [6, 5, 4, 3]"));
  CHECK(contains(said({6, 5, 4}, grid(3)), "needs [6, 5, 4, 3]"));
  CHECK(contains(said({}, grid(1)), "has shape [], but"));
  CHECK(contains(said({7}, particles(3)), "needs [n, 3]"));
  CHECK(contains(said({7, 2}, particles(1)), "needs [n]"));
  CHECK(contains(said({}, particles(1)), "needs [n]"));
}

TEST_CASE("numbers that would lose something are refused") {
  CHECK(contains(
      error_of([] {
        (void)arrange(stored({6, 5, 4}, false, Number::Float64), grid(1), Indices::Zyx);
      }),
      "holds float64, but field 'speed' is declared float32, which would lose some of it"));
  Stored odd = stored({6, 5, 4});
  odd.number.reset();
  odd.type = "<c16";
  CHECK(contains(error_of([&] { (void)arrange(odd, grid(1), Indices::Zyx); }),
                 "values of type '<c16', which are not read"));
}
