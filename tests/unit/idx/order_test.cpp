// SPDX-License-Identifier: BSD-3-Clause
// The order of samples against the definition of the HZ address, sample by sample, and against the
// numbers of S. Kumar et al., "Efficient data restructuring and aggregation for I/O acceleration
// in PIDX", SC 2012: ranges of table I, packets of figure 5, boxes of table II.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <pillion/error.hpp>
#include <pillion/idx/runs.hpp>
#include <random>

using namespace pillion;
using namespace pillion::idx;

namespace {

/// By the definition: interleave the bits, mark the end, drop trailing zeros and the last one.
int64_t address_by_definition(const std::string& mask, Point p) {
  const auto bits = static_cast<int>(mask.size()) - 1;
  uint64_t z = 0;
  for (int s = 0; s < bits; ++s) {
    const auto axis = static_cast<size_t>(mask[static_cast<size_t>(bits - s)] - '0');
    z |= static_cast<uint64_t>(p[axis] & 1) << s;
    p[axis] >>= 1;
  }
  z |= uint64_t{1} << bits;
  while ((z & 1) == 0) z >>= 1;
  return static_cast<int64_t>(z >> 1);
}

struct Summary {
  int64_t first, last, samples;
  bool operator==(const Summary&) const = default;
};

/// Of the samples of a box on one level, by looking at each.
Summary on_level(const Bitmask& mask, const Point& lo, const Point& hi, int level) {
  Summary out{int64_t{1} << 62, 0, 0};
  for (int64_t z = lo[2]; z < hi[2]; ++z)
    for (int64_t y = lo[1]; y < hi[1]; ++y)
      for (int64_t x = lo[0]; x < hi[0]; ++x) {
        const int64_t address = mask.address({x, y, z});
        if (Bitmask::level_of(address) != level) continue;
        out.first = std::min(out.first, address);
        out.last = std::max(out.last, address);
        ++out.samples;
      }
  return out;
}

Summary quadrant(int64_t x, int64_t y, int64_t nx, int64_t ny, int level) {
  return on_level(Bitmask("V010101"), {x, y, 0}, {x + nx, y + ny, 1}, level);
}

}  // namespace

TEST_CASE("addresses are those of the definition, and points come back from them") {
  std::mt19937 random(3);
  for (const std::string text :
       {"V", "V0", "V010101", "V0120120120120121", "V2222001", "V2101210210210210210"}) {
    const Bitmask mask(text);
    for (int n = 0; n < 500; ++n) {
      Point p{};
      for (int a = 0; a < 3; ++a)
        p[static_cast<size_t>(a)] =
            std::uniform_int_distribution<int64_t>(0, mask.extent(a) - 1)(random);
      const int64_t address = mask.address(p);
      CHECK(address == address_by_definition(text, p));
      CHECK(mask.point(address) == p);
      CHECK(address < (int64_t{1} << mask.bits()));
    }
  }
}

TEST_CASE("samples of all levels up to one are a lattice") {
  const Bitmask mask("V0120120120120121");
  for (int level = 0; level <= mask.bits(); ++level) {
    const Point stride = mask.stride(level);
    for (int64_t address = 0; address < (int64_t{1} << mask.bits()); address += 1 + address / 64) {
      const Point p = mask.point(address);
      const bool on_lattice =
          p[0] % stride[0] == 0 && p[1] % stride[1] == 0 && p[2] % stride[2] == 0;
      CHECK(on_lattice == (Bitmask::level_of(address) <= level));
    }
  }
}

TEST_CASE("masks that are made") {
  CHECK(Bitmask::alternating({8, 8, 1}).text() == "V010101");
  CHECK(Bitmask::alternating({22, 36, 22}).text() == "V0120120120120121");
  CHECK(Bitmask::of_boxes({240, 480, 480}, {6, 6, 6}).text() == "V01201212012012012012012012");
  CHECK(Bitmask::alternating({1, 1, 1}).text() == "V0");  // readers want a bit for one sample
  CHECK(Bitmask::of_boxes({1, 1, 1}, {0, 0, 0}).text() == "V0");
  CHECK_THROWS_AS(Bitmask("012"), Error);
  CHECK_THROWS_AS(Bitmask("V013"), Error);
}

TEST_CASE("table I: ranges of the finest level on 8x8 samples") {
  // Quadrants low-low, low-high, high-high, high-low, of 8x8, of 6x6, and of 6x6 restructured.
  CHECK(quadrant(0, 0, 4, 4, 6) == Summary{32, 39, 8});
  CHECK(quadrant(0, 4, 4, 4, 6) == Summary{40, 47, 8});
  CHECK(quadrant(4, 4, 4, 4, 6) == Summary{56, 63, 8});
  CHECK(quadrant(4, 0, 4, 4, 6) == Summary{48, 55, 8});
  CHECK(quadrant(0, 0, 3, 3, 6) == Summary{32, 36, 3});
  CHECK(quadrant(0, 3, 3, 3, 6) == Summary{34, 44, 6});
  CHECK(quadrant(3, 3, 3, 3, 6) == Summary{39, 57, 6});
  CHECK(quadrant(3, 0, 3, 3, 6) == Summary{37, 49, 3});
  CHECK(quadrant(0, 4, 4, 2, 6) == Summary{40, 45, 4});
  CHECK(quadrant(4, 4, 2, 2, 6) == Summary{56, 57, 2});
  CHECK(quadrant(4, 0, 2, 4, 6) == Summary{48, 51, 4});
  // The level below, computed apart.
  CHECK(quadrant(0, 0, 3, 3, 5) == Summary{16, 17, 2});
  CHECK(quadrant(0, 3, 3, 3, 5) == Summary{20, 20, 1});
  CHECK(quadrant(3, 3, 3, 3, 5) == Summary{22, 28, 2});
  CHECK(quadrant(3, 0, 3, 3, 5) == Summary{18, 25, 4});
  CHECK(quadrant(0, 4, 4, 2, 5) == Summary{20, 22, 2});
}

TEST_CASE("figure 5: 2587 runs of a block of 60^3, 19 of a box of 64^3") {
  const auto mask = Bitmask::of_boxes({480, 480, 240}, {6, 6, 6});
  const auto two_phases = runs_of(mask, {0, 0, 0}, {60, 60, 60});
  CHECK(two_phases.size() == 2587);
  const auto is_short = [](const Run& run) { return run.count < 4; };
  CHECK(std::count_if(two_phases.begin(), two_phases.end(), is_short) == 607);
  const auto longer = [](const Run& a, const Run& b) { return a.count < b.count; };
  CHECK(std::max_element(two_phases.begin(), two_phases.end(), longer)->count == 18720);
  const auto three_phases = runs_of(mask, {0, 0, 0}, {64, 64, 64});
  REQUIRE(three_phases.size() == 19);
  CHECK(three_phases.front() == Run{0, 1});
  CHECK(three_phases.back().count == 131072);
}

TEST_CASE("a mask that does not end with the box breaks it into more runs") {
  const auto usual = Bitmask::alternating({240, 480, 480});
  CHECK(runs_of(usual, {0, 0, 0}, {64, 64, 64}).size() == 36);
  const auto ours = Bitmask::of_boxes({240, 480, 480}, {6, 6, 6});
  CHECK(runs_of(ours, {0, 0, 0}, {64, 64, 64}).size() == 19);
}

TEST_CASE("runs of any box hold its samples and no others, each once") {
  std::mt19937 random(11);
  const Bitmask mask("V2101210210210");
  for (int n = 0; n < 60; ++n) {
    Point lo{}, hi{};
    for (int a = 0; a < 3; ++a) {
      std::uniform_int_distribution<int64_t> any(0, mask.extent(a));
      const int64_t one = any(random), other = any(random);
      lo[static_cast<size_t>(a)] = std::min(one, other);
      hi[static_cast<size_t>(a)] = std::max(one, other);
    }
    std::map<int64_t, int> seen;
    for (const auto& run : runs_of(mask, lo, hi))
      for (int64_t address = run.address; address < run.address + run.count; ++address)
        ++seen[address];
    CHECK(static_cast<int64_t>(seen.size()) == (hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]));
    for (const auto& [address, times] : seen) {
      const Point p = mask.point(address);
      const bool inside = p[0] >= lo[0] && p[0] < hi[0] && p[1] >= lo[1] && p[1] < hi[1] &&
                          p[2] >= lo[2] && p[2] < hi[2];
      CHECK((inside && times == 1));
    }
  }
}

TEST_CASE("a cell is made of smaller ones") {
  const Bitmask mask("V2101210210210");
  const Cell cell{{8, 0, 4}, 7};
  CHECK(split(mask, cell, 7) == std::vector<Cell>{cell});
  CHECK(split(mask, cell, 9) == std::vector<Cell>{cell});
  const auto parts = split(mask, cell, 5);
  REQUIRE(parts.size() == 4);
  std::map<int64_t, int> seen;
  for (const auto& part : parts)
    for (int number = 0; number <= part.bits; ++number) {
      const Run run = run_of(mask, part, number);
      for (int64_t t = 0; t < run.count; ++t) ++seen[run.address + t];
    }
  for (int number = 0; number <= cell.bits; ++number) {
    const Run run = run_of(mask, cell, number);
    for (int64_t t = 0; t < run.count; ++t) CHECK(seen[run.address + t] == 1);
  }
  CHECK(seen.size() == 128);
}

TEST_CASE("samples of a run are found in the array of their cell") {
  const Bitmask mask("V2101210210210");
  const Cell cell{{8, 0, 4}, 7};
  const Point strides{3, 40, 900};
  const Offsets offsets(mask, cell.bits, strides);
  for (int number = 0; number <= cell.bits; ++number) {
    const Run run = run_of(mask, cell, number);
    for (int64_t t = 0; t < run.count; ++t) {
      const int64_t z = number == 0 ? 0 : (2 * t + 1) << (cell.bits - number);
      const Point p = mask.point(run.address + t);
      const int64_t expected = (p[0] - cell.corner[0]) * strides[0] +
                               (p[1] - cell.corner[1]) * strides[1] +
                               (p[2] - cell.corner[2]) * strides[2];
      CHECK(offsets[z] == expected);
    }
  }
}
