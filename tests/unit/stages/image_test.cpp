// SPDX-License-Identifier: BSD-3-Clause
// The geometry of pictures: surfaces of random fields are closed however cells are turned, every
// sample of a triangulated plane has one triangle, the order of drawing does not matter, and what
// blocks know of a lattice is what the whole mesh says.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "image/colour.hpp"
#include "image/patch.hpp"
#include "image/raster.hpp"
#include "image/surface.hpp"

using namespace pillion::stages::image;

namespace {

/// The corners of a cube in another order, which keeps neighbours neighbours: axes exchanged and
/// turned round.
std::array<int, 8> turned(std::mt19937& random) {
  std::array<int, 3> axes = {0, 1, 2};
  std::shuffle(axes.begin(), axes.end(), random);
  const int flips = static_cast<int>(random() % 8);
  std::array<int, 8> out{};
  for (int c = 0; c < 8; ++c) {
    int corner = 0;
    for (int d = 0; d < 3; ++d) corner |= ((c >> d & 1) ^ (flips >> d & 1)) << axes[d];
    out[static_cast<size_t>(c)] = corner;
  }
  return out;
}

}  // namespace

TEST_CASE("surfaces of random fields are closed, however cells are turned") {
  std::mt19937 random(7);
  constexpr int n = 5;
  for (int trial = 0; trial < 200; ++trial) {
    std::array<bool, n * n * n> above{};
    const auto inside = [](int i) { return i > 0 && i < n - 1; };
    for (int p = 0; p < n * n * n; ++p)
      above[p] = inside(p % n) && inside(p / n % n) && inside(p / (n * n)) && random() % 2 == 0;
    std::map<std::set<std::pair<int, int>>, int> sides;  // by the two edges that they join
    for (int cell = 0; cell < (n - 1) * (n - 1) * (n - 1); ++cell) {
      const std::array<int, 3> at = {cell % (n - 1), cell / (n - 1) % (n - 1),
                                     cell / ((n - 1) * (n - 1))};
      const auto turn = turned(random);
      std::array<int, 8> points{};
      uint32_t mask = 0;
      for (int c = 0; c < 8; ++c) {
        const int t = turn[c];
        points[c] = at[0] + (t & 1) + n * (at[1] + (t >> 1 & 1) + n * (at[2] + (t >> 2)));
        if (above[points[c]]) mask |= 1U << c;
      }
      const auto cut_edge = [&](int e) {
        return std::minmax(points[cell_edges[e][0]], points[cell_edges[e][1]]);
      };
      for (const Polygon& polygon : polygons_of(mask)) {
        CHECK(polygon.size() >= 3);
        for (size_t i = 0; i < polygon.size(); ++i)
          ++sides[{cut_edge(polygon[i]), cut_edge(polygon[(i + 1) % polygon.size()])}];
      }
    }
    for (const auto& [side, count] : sides) CHECK(count == 2);
  }
}

TEST_CASE("every edge of a cell that is cut is the corner of one polygon") {
  for (uint32_t above = 0; above < 256; ++above) {
    std::array<int, 12> used{};
    for (const Polygon& polygon : polygons_of(above))
      for (const int e : polygon) ++used[static_cast<size_t>(e)];
    for (size_t e = 0; e < 12; ++e) {
      const auto& [a, b] = cell_edges[e];
      CHECK(used[e] == ((above >> a & 1U) != (above >> b & 1U) ? 1 : 0));
    }
  }
}

namespace {

View looking_down(int32_t size, int32_t samples, bool parallel) {
  const Camera camera{{0.5, 0.5, 3}, {0.5, 0.5, 0}, {0, 1, 0}, parallel, parallel ? 0.5 : 0.2};
  return {camera, {size, size, 0, 0, size, size, samples}};
}
const Paint grey{ColourMap({0x000000, 0xffffff}), {0, 1, false}};

/// The unit square in triangles around points of a grid that are moved so much. If they are not,
/// the triangles' edges go through centres of samples.
std::vector<Triangle> triangulated(std::mt19937& random, double moved = 0.4) {
  std::uniform_real_distribution<double> uniform(0, 1);
  constexpr int n = 8;
  std::vector<Vec> points;
  for (int j = 0; j <= n; ++j)
    for (int i = 0; i <= n; ++i) {
      const bool moves_x = i > 0 && i<n, moves_y = j> 0 && j < n;
      points.push_back({(i + (moves_x ? uniform(random) - 0.5 : 0) * moved) / n,
                        (j + (moves_y ? uniform(random) - 0.5 : 0) * moved) / n, uniform(random)});
    }
  std::vector<Triangle> out;
  const auto corner = [&](int p) { return Corner{points[p], {0, 0, 1}, uniform(random)}; };
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const int a = j * (n + 1) + i, b = a + 1, c = a + n + 1, d = c + 1;
      out.push_back({corner(a), corner(b), corner(d)});
      out.push_back({corner(a), corner(d), corner(c)});
    }
  return out;
}

}  // namespace

TEST_CASE("every sample of a triangulated square is in one triangle") {
  std::mt19937 random(3);
  const View view = looking_down(64, 2, true);
  for (const double moved : {0.0, 0.1, 0.4, 0.4, 0.4}) {
    std::vector<int> times(128 * 128);
    for (const Triangle& triangle : triangulated(random, moved)) {
      Canvas canvas(128, 128);
      draw_triangle(canvas, view, triangle, grey);
      for (int32_t i = 0; i < 128 * 128; ++i)
        times[static_cast<size_t>(i)] += canvas.is_empty(i % 128, i / 128) ? 0 : 1;
    }
    CHECK(std::all_of(times.begin(), times.end(), [](int t) { return t == 1; }));
  }
}

TEST_CASE("the order of drawing does not matter") {
  std::mt19937 random(4);
  for (const bool parallel : {true, false}) {
    const View view = looking_down(48, 2, parallel);
    auto all = triangulated(random);
    for (int layer = 0; layer < 2; ++layer)
      for (const Triangle& triangle : triangulated(random)) all.push_back(triangle);
    Canvas one(96, 96), other(96, 96);
    for (const Triangle& triangle : all) draw_triangle(one, view, triangle, grey);
    std::shuffle(all.begin(), all.end(), random);
    for (const Triangle& triangle : all) draw_triangle(other, view, triangle, grey);
    bool same = true;
    for (int32_t i = 0; i < 96 * 96; ++i) {
      const int32_t x = i % 96, y = i / 96;
      same = same && one.depth(x, y) == other.depth(x, y) && one.colour(x, y) == other.colour(x, y);
    }
    CHECK(same);
  }
}

TEST_CASE("a point is where its ray goes") {
  for (const bool parallel : {true, false}) {
    const View view({{4, -3, 2}, {0.2, 0.1, 0}, {0, 0, 1}, parallel, parallel ? 2.0 : 0.4},
                    {200, 100, 20, 10, 180, 100, 3});
    const Vec point = {0.3, -0.4, 0.5}, seen = view.seen(point);
    CHECK(length(view.ray(seen.x, seen.y).at(seen.z) - point) < 1e-12);
  }
}

namespace {

/// A mesh of 6 x 5 x 4 cells with random values, and its blocks with ghost cells.
struct Mesh {
  std::array<int64_t, 3> cells = {6, 5, 4};
  std::array<bool, 3> periodic;
  std::vector<double> values;
  Lattice lattice;

  Mesh(std::array<bool, 3> is_periodic, std::mt19937& random) : periodic(is_periodic) {
    std::uniform_real_distribution<double> uniform(0, 1);
    for (int i = 0; i < 120; ++i) values.push_back(uniform(random));
    for (size_t d = 0; d < 3; ++d) {
      const double width = 0.5 + static_cast<double>(d);
      lattice.axes[d] = {1, 1 + width * static_cast<double>(cells[d]), 1 + width / 2, width,
                         cells[d]};
    }
  }
  [[nodiscard]] double cell(Index i) const {
    for (size_t d = 0; d < 3; ++d) i[d] = (i[d] + cells[d]) % cells[d];
    return values[static_cast<size_t>((i[2] * 5 + i[1]) * 6 + i[0])];
  }
  /// As the documentation of Patch says it.
  [[nodiscard]] double point(Index i, size_t axis = 3) const {
    if (axis == 0) return cell(i);
    const size_t d = axis - 1;
    if (i[d] >= 0 && i[d] < cells[d]) return point(i, d);
    Index below = i, above = i;
    below[d] = periodic[d] ? cells[d] - 1 : i[d] < 0 ? 0 : cells[d] - 1;
    above[d] = periodic[d] ? 0 : below[d];
    return (point(below, d) + point(above, d)) / 2;
  }
};

}  // namespace

TEST_CASE("patches of blocks make up the lattice of the mesh") {
  std::mt19937 random(11);
  for (const auto& periodic :
       {std::array{true, true, true}, {false, false, false}, {true, false, true}}) {
    const Mesh mesh(periodic, random);
    std::map<Index, int> owners;
    const std::array<std::vector<int64_t>, 3> ends = {{{0, 1, 4, 6}, {0, 3, 5}, {0, 4}}};
    for (size_t a = 0; a + 1 < ends[0].size(); ++a)
      for (size_t b = 0; b + 1 < ends[1].size(); ++b) {
        pillion_block block{};
        auto& [lo, hi] = block.allocated;
        const std::array<size_t, 3> part = {a, b, 0};
        for (size_t d = 0; d < 3; ++d) {
          block.valid.lo[d] = ends[d][part[d]];
          block.valid.hi[d] = ends[d][part[d] + 1];
          lo[d] = block.valid.lo[d] - 2;
          hi[d] = block.valid.hi[d] + 2;
          if (!periodic[d]) {
            lo[d] = std::max(lo[d], int64_t{0});
            hi[d] = std::min(hi[d], mesh.cells[d]);
          }
        }
        std::vector<double> values;
        Index i;
        for (i[2] = lo[2]; i[2] < hi[2]; ++i[2])
          for (i[1] = lo[1]; i[1] < hi[1]; ++i[1])
            for (i[0] = lo[0]; i[0] < hi[0]; ++i[0]) values.push_back(mesh.cell(i));
        const int64_t row = hi[0] - lo[0];
        const pillion::stage::Array array{
            values.data(), PILLION_FLOAT64, 1, {1, row, row * (hi[1] - lo[1]), 1}};
        const Patch patch(pillion::stage::Block(&block), mesh.lattice, 3, 1);
        const auto known = patch.values(array, 0);
        for (i[2] = patch.lo()[2]; i[2] < patch.hi()[2]; ++i[2])
          for (i[1] = patch.lo()[1]; i[1] < patch.hi()[1]; ++i[1])
            for (i[0] = patch.lo()[0]; i[0] < patch.hi()[0]; ++i[0]) {
              ++owners[i];
              for (int c = 0; c < 8; ++c) {
                const Index at = {i[0] + (c & 1), i[1] + (c >> 1 & 1), i[2] + (c >> 2)};
                CHECK(known[patch.at(at)] == doctest::Approx(mesh.point(at)).epsilon(1e-14));
                const Vec slope = patch.gradient(known, at);
                Index after = at, before = at;
                after[1] = std::min(at[1] + 1, mesh.cells[1]);
                before[1] = std::max(at[1] - 1, int64_t{-1});
                const double way =
                    mesh.lattice.axes[1].place(after[1]) - mesh.lattice.axes[1].place(before[1]);
                CHECK(slope.y == doctest::Approx((mesh.point(after) - mesh.point(before)) / way));
              }
            }
      }
    CHECK(owners.size() == 7 * 6 * 5);
    CHECK(std::all_of(owners.begin(), owners.end(), [](auto& o) { return o.second == 1; }));
  }
}

TEST_CASE("marks of a bar") {
  CHECK(ticks({0, 1, false}, 5) == std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1});
  CHECK(ticks({1e-300, 1e300, true}, 4).size() >= 2);
  // Where there are no numbers between the ends, or their distance is none.
  CHECK(ticks({300, std::nextafter(300, 301), false}, 8).size() == 2);
  CHECK(ticks({-1.5e308, 1.5e308, false}, 8).size() == 2);
}

TEST_CASE("colours go from one end of a map to the other") {
  std::vector<Colour> colours;
  REQUIRE(ColourMap::find("viridis", colours));
  const ColourMap map(colours);
  CHECK(rgb(map.at(0)[0], map.at(0)[1], map.at(0)[2]) == 0x440154);
  CHECK(map.at(-3) == map.at(0));
  CHECK(map.at(1)[0] == 0xfd);
  CHECK(ColourMap::names() == "viridis, inferno, magma, cividis, coolwarm, grey, blue to red");
  for (const char* name : {"coolwarm", "gray", "blue to red"}) {
    REQUIRE(ColourMap::find(name, colours));
    CHECK(colours.size() == 256);
  }
  CHECK(!ColourMap::find("jet", colours));
  CHECK(map.at(std::nan("")) == std::array<double, 3>{128, 128, 128});
  CHECK(Range{1, 100, true}.fraction(10) == doctest::Approx(0.5));
  CHECK(Range{3, 3, false}.fraction(3) == 0.5);
  CHECK(std::isnan(Range{3, 3, false}.fraction(std::nan(""))));
  CHECK(std::isnan(Range{0, 1, false}.fraction(HUGE_VAL)));
  Colour colour = 0;
  CHECK(parse_colour("#0f8", colour));
  CHECK(colour == 0x00ff88);
  CHECK(!parse_colour("#0f8a", colour));
  CHECK(!parse_colour("mauve", colour));
}
