// SPDX-License-Identifier: BSD-3-Clause
// Geometry of the domain, against a brute-force search over images and against vectors.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "common/particles.hpp"

using namespace pillion::stages;

namespace {

const pillion_domain tilted = {{1, -2, 0.5}, {11, 7, 8.5}, {2.5, -1.5, 3}, {1, 1, 1}, 0};

}  // namespace

TEST_CASE("volume and widths of a box without tilt are its lengths") {
  const pillion_domain box = {{0, 0, 0}, {2, 3, 5}, {0, 0, 0}, {1, 1, 1}, 0};
  CHECK(volume(box) == doctest::Approx(30));
  CHECK(widths(box)[0] == doctest::Approx(2));
  CHECK(widths(box)[1] == doctest::Approx(3));
  CHECK(widths(box)[2] == doctest::Approx(5));
}

TEST_CASE("a width is the distance of opposite faces") {
  // Edges a, b, c; the distance of the faces across a is a·n, where n is normal to b and c.
  const auto width = widths(tilted);
  const double b[3] = {2.5, 9, 0}, c[3] = {-1.5, 3, 8};
  const double n[3] = {b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2],
                       b[0] * c[1] - b[1] * c[0]};
  CHECK(width[0] == doctest::Approx(10 * n[0] / std::hypot(n[0], n[1], n[2])));
  const double m[3] = {0, c[2] * 10, -c[1] * 10};  // c × a
  CHECK(width[1] == doctest::Approx(b[1] * m[1] / std::hypot(m[1], m[2])));
  CHECK(width[2] == doctest::Approx(8));
}

TEST_CASE("only periodic axes limit the range of nearest images") {
  pillion_domain box = {{0, 0, 0}, {2, 3, 5}, {0, 0, 0}, {0, 1, 1}, 0};
  CHECK(nearest_image_range(box) == doctest::Approx(1.5));
  box.periodic[1] = box.periodic[2] = 0;
  CHECK(nearest_image_range(box) == std::numeric_limits<double>::infinity());
}

TEST_CASE("in two dimensions the third direction does not count") {
  pillion_domain flat = {{0, 0, 0}, {8, 4, 0.3}, {3, 5, 7}, {1, 1, 1}, 2};
  CHECK(volume(flat) == doctest::Approx(32));
  CHECK(widths(flat)[0] == doctest::Approx(8 * std::cos(std::atan2(3, 4))));
  CHECK(widths(flat)[1] == doctest::Approx(4));
  CHECK(nearest_image_range(flat) == doctest::Approx(2));
  Vectors position = {{{1}, {2}, {0}}};
  unwrap(position, {{{1}, {1}, {1}}}, flat);
  CHECK(position[0][0] == doctest::Approx(1 + 8 + 3));
  CHECK(position[1][0] == doctest::Approx(2 + 4));
  CHECK(position[2][0] == 0);
}

TEST_CASE("unwrapping adds whole edges, tilts included") {
  Vectors position = {{{1, 1}, {2, 2}, {3, 3}}};
  unwrap(position, {{{0, 2}, {0, -1}, {0, 3}}}, tilted);
  CHECK(position[0][0] == 1);
  CHECK(position[0][1] == doctest::Approx(1 + 2 * 10 - 2.5 - 3 * 1.5));
  CHECK(position[1][1] == doctest::Approx(2 - 9 + 3 * 3));
  CHECK(position[2][1] == doctest::Approx(3 + 3 * 8));
}
