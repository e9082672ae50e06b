// SPDX-License-Identifier: BSD-3-Clause
// Halos from the merge tree against flooding, on fields with and without ties, open and periodic
// meshes of all shapes, however they are cut into boxes; and what must hold of any merge tree.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <set>
#include <string>

#include "halos/catalogue.hpp"
#include "halos/field_values.hpp"
#include "halos_scene.hpp"

using namespace halos_scene;

namespace {

enum class Kind { gaussian, lognormal, levels, few_levels, constant, ramp };
constexpr Kind kinds[] = {Kind::gaussian,   Kind::lognormal, Kind::levels,
                          Kind::few_levels, Kind::constant,  Kind::ramp};

Field field_of(Kind kind, const Cell& cells, std::array<bool, 3> periodic, Random& random) {
  Field field{{cells, periodic},
              std::vector<double>(static_cast<size_t>(cells[0] * cells[1] * cells[2]))};
  std::normal_distribution<double> normal;
  double count = 0;
  for (auto& value : field.values) {
    const double x = normal(random);
    value = kind == Kind::gaussian     ? x
            : kind == Kind::lognormal  ? std::exp(1.5 * x)
            : kind == Kind::levels     ? std::floor(3 * x)
            : kind == Kind::few_levels ? static_cast<double>(random() % 2)
            : kind == Kind::ramp       ? count++
                                       : 2;
  }
  return field;
}

/// Thresholds on values, between them, and beyond them.
std::vector<double> levels_of(const Field& field, Random& random) {
  auto sorted = field.values;
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> out = {sorted.front() - 1, sorted.front(), sorted.back(), sorted.back() + 1};
  for (int i = 0; i < 4; ++i) out.push_back(sorted[random() % sorted.size()]);
  out.push_back(sorted[sorted.size() / 2] + 1e-3);
  return out;
}

void compare(const std::vector<Found>& found, const std::vector<Found>& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t h = 0; h < found.size(); ++h) {
    const auto &a = found[h], &b = expected[h];
    REQUIRE(a.id == b.id);
    REQUIRE(a.peak == b.peak);
    REQUIRE(a.cells == b.cells);
    REQUIRE(a.wraps == b.wraps);
    REQUIRE(a.sum == doctest::Approx(b.sum).epsilon(1e-12));
    for (size_t d = 0; d < 3; ++d)
      if ((a.wraps >> d & 1) == 0) REQUIRE(a.places[d] == b.places[d]);
  }
}

/// Maximum and saddle, of all maxima.
std::map<int64_t, int64_t> pairs_of_all(const std::vector<Rank>& ranks) {
  std::map<int64_t, int64_t> out;
  for (const auto& rank : ranks)
    for (int64_t n = 0; n < rank.tree.maxima; ++n) {
      const auto& branch = rank.tree.branches[static_cast<size_t>(n)];
      const auto id = rank.tree.nodes[static_cast<size_t>(n)].top.id;
      REQUIRE(out.emplace(id, branch.parent < 0 ? -1 : branch.saddle.id).second);
    }
  return out;
}

/// Pairs by the definition: cells from the highest down, joined with those that are there already.
std::map<int64_t, int64_t> swept(const Field& field) {
  const auto& grid = field.grid;
  std::vector<Vertex> order;
  for (int64_t c = 0; c < grid.count(); ++c)
    order.push_back({field.values[static_cast<size_t>(c)], c});
  std::sort(order.begin(), order.end(), [](const Vertex& a, const Vertex& b) { return b < a; });
  std::vector<int64_t> place(order.size()), up(order.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) place[order[i].id] = static_cast<int64_t>(i);
  const auto top = [&](int64_t c) {
    while (up[c] != c) c = up[c];
    return c;
  };
  std::map<int64_t, int64_t> out;
  for (const auto& vertex : order) {
    const Cell at = grid.cell(vertex.id);
    std::set<int64_t> tops;
    for (const auto& step : steps) {
      const Cell other = {at[0] + step[0], at[1] + step[1], at[2] + step[2]};
      bool is_outside = false;
      for (size_t d = 0; d < 3; ++d)
        is_outside =
            is_outside || (!grid.periodic[d] && (other[d] < 0 || other[d] >= grid.cells[d]));
      if (!is_outside && grid.id(other) != vertex.id && up[grid.id(other)] >= 0)
        tops.insert(top(grid.id(other)));
    }
    up[vertex.id] = vertex.id;
    if (tops.empty()) out[vertex.id] = -1;
    int64_t highest = vertex.id;
    for (const auto t : tops)
      if (highest == vertex.id || place[t] < place[highest]) highest = t;
    for (const auto t : tops) {
      up[t] = highest;
      if (t != highest) out[t] = vertex.id;
    }
    up[vertex.id] = highest;
  }
  return out;
}

const Cell shapes[] = {{7, 6, 5}, {9, 8, 1}, {23, 1, 1}, {1, 1, 1}, {2, 5, 4},
                       {1, 6, 7}, {2, 2, 2}, {3, 3, 3},  {1, 2, 9}, {12, 3, 2}};
const std::array<bool, 3> edges[] = {
    {false, false, false}, {true, true, true}, {true, false, true}, {false, true, false}};

template <class F>
void for_each_field(F&& use) {
  Random random(7);
  for (const auto& shape : shapes)
    for (const auto& periodic : edges)
      for (const auto kind : kinds) use(field_of(kind, shape, periodic, random), random);
}

}  // namespace

TEST_CASE("halos are the components that flooding finds, however the mesh is cut") {
  for_each_field([](const Field& field, Random& random) {
    const auto levels = levels_of(field, random);
    for (const int boxes : {1, 2, 3, 5, 8, 17}) {
      CAPTURE(boxes);
      const auto ranks = search(field, boxes, random);
      for (const double boundary : levels) {
        const double peak = levels[random() % levels.size()];
        CAPTURE(boundary);
        CAPTURE(peak);
        const auto expected = flood(field, boundary, peak);
        compare(query(field, ranks, boundary, peak), expected);
        compare(query(field, ranks, boundary, peak, true), expected);
      }
    }
  });
}

TEST_CASE("maxima and saddles are those of a sweep, however the mesh is cut") {
  for_each_field([](const Field& field, Random& random) {
    const auto expected = swept(field);
    for (const int boxes : {1, 2, 4, 7, 13})
      REQUIRE(pairs_of_all(search(field, boxes, random)) == expected);
  });
}

TEST_CASE("on a larger mesh, too") {
  Random random(11);
  for (const auto& periodic : edges) {
    const auto field = field_of(Kind::lognormal, {26, 31, 22}, periodic, random);
    for (const int boxes : {1, 6}) {
      const auto ranks = search(field, boxes, random);
      REQUIRE(pairs_of_all(ranks) == swept(field));
      for (const double boundary : {0.2, 1.0, 1.8, 4.0, 9.0})
        compare(query(field, ranks, boundary, 2 * boundary), flood(field, boundary, 2 * boundary));
    }
  }
}

TEST_CASE("shifting a periodic mesh shifts the halos") {
  Random random(3);
  const Cell cells = {11, 9, 8};
  const auto field = field_of(Kind::lognormal, cells, {true, true, true}, random);
  Field shifted = field;
  const Cell by = {4, 7, 3};
  for (int64_t c = 0; c < field.grid.count(); ++c) {
    const Cell at = field.grid.cell(c);
    shifted.values[field.grid.id({at[0] + by[0], at[1] + by[1], at[2] + by[2]})] = field.values[c];
  }
  const auto before = query(field, search(field, 3, random), 2.5, 5);
  const auto after = query(shifted, search(shifted, 4, random), 2.5, 5);
  REQUIRE(before.size() == after.size());
  REQUIRE(before.size() > 5);
  for (size_t h = 0; h < before.size(); ++h) {
    const Cell at = field.grid.cell(before[h].id);
    CHECK(after[h].id == field.grid.id({at[0] + by[0], at[1] + by[1], at[2] + by[2]}));
    CHECK(after[h].cells == before[h].cells);
    CHECK(after[h].wraps == before[h].wraps);
    for (size_t d = 0; d < 3; ++d) {
      if ((before[h].wraps >> d & 1) != 0) continue;
      const int64_t moved = after[h].places[d] - before[h].places[d] - by[d] * before[h].cells;
      CHECK(moved % (before[h].cells * cells[d]) == 0);
    }
  }
}

TEST_CASE("a halo across the faces has its centroid among its cells") {
  Field field{{{10, 1, 1}, {true, false, false}}, std::vector<double>(10, 0)};
  for (const int c : {8, 9, 0, 2, 3}) field.values[c] = 5;
  field.values[1] = 6;
  Random random(1);
  const auto ranks = search(field, 3, random);
  Query<double> query(field.grid, ranks[0].piece, ranks[0].values.data(), ranks[0].tree);
  const auto found = halos_scene::query(field, ranks, 5, 6);
  REQUIRE(found.size() == 1);
  HaloShare share{
      {6, found[0].id}, found[0].wraps, {found[0].cells, found[0].places, found[0].sum}};
  CHECK(found[0].id == 1);
  CHECK(centroid(share, field.grid, 0) == doctest::Approx(0.5));
  share.wraps = 1;
  CHECK(std::isnan(centroid(share, field.grid, 0)));
}

TEST_CASE("raising the boundary only splits or removes, and halos hold no more than there is") {
  Random random(5);
  const auto field = field_of(Kind::levels, {13, 12, 10}, {true, false, true}, random);
  const auto ranks = search(field, 5, random);
  double last = 1e300;
  for (double boundary = -12; boundary < 12; boundary += 0.5) {
    int64_t cells = 0;
    for (const auto& halo : query(field, ranks, boundary, boundary)) cells += halo.cells;
    int64_t above = std::count_if(field.values.begin(), field.values.end(),
                                  [&](double v) { return v >= boundary; });
    CHECK(cells == above);
    CHECK(static_cast<double>(cells) <= last);
    last = static_cast<double>(cells);
  }
}

TEST_CASE("rescaling values monotonously leaves maxima and saddles where they are") {
  Random random(9);
  const auto field = field_of(Kind::gaussian, {9, 10, 11}, {true, true, false}, random);
  Field rescaled = field;
  for (auto& value : rescaled.values) value = std::exp(value) + value;
  CHECK(pairs_of_all(search(field, 4, random)) == pairs_of_all(search(rescaled, 6, random)));
}

TEST_CASE("what ranks tell each other grows with the surface") {
  Random random(13);
  const auto field = field_of(Kind::gaussian, {40, 40, 40}, {false, false, false}, random);
  std::vector<Piece> pieces;
  cut({0, 0, 0}, field.grid.cells, 2, random, pieces);
  size_t maxima = 0, told = 0;
  for (const auto& piece : pieces) {
    const Rank rank(field, piece);
    TreeBuilder builder(field.grid, rank.piece,
                        find_basins(field.grid, rank.piece, rank.values.data()));
    const auto part = builder.part({});
    told += part.nodes.size();
    maxima += static_cast<size_t>(std::move(builder).tree({}, {}).maxima);
  }
  CHECK(maxima > 3000);
  CHECK(told < maxima / 5);
}

TEST_CASE("images add up component by component") {
  for (int64_t x = -3; x <= 3; ++x)
    for (int64_t y = -3; y <= 3; ++y)
      for (int64_t z = -3; z <= 3; ++z) {
        const Image image = image_of({x, y, z});
        CHECK(meshes_of(image) == Cell{x, y, z});
        CHECK(meshes_of(image - image_of({1, -2, 3})) == Cell{x - 1, y + 2, z - 3});
        CHECK(meshes_of(-image) == Cell{-x, -y, -z});
      }
}

TEST_CASE("masses fall in the bins that the edges say") {
  MassFunction function(1, 100, 4);
  CHECK(function.edges.front() == 1);
  CHECK(function.edges.back() == 100);
  CHECK(function.edges[2] == doctest::Approx(10));
  for (const double mass : {0.5, -3.0, 1.0, 9.0, function.edges[2], 99.0, 100.0, 101.0})
    function.add(mass);
  CHECK(function.counts == std::vector<int64_t>{1, 1, 1, 2});
  CHECK(function.below == 2);
  CHECK(function.above == 1);
  CHECK(function.density(2)[3] == doctest::Approx(2 / (2 * 0.5)));
  CHECK(range_of(extremes_of({})) == std::pair{1.0, 10.0});
  CHECK(range_of(extremes_of({5, 5})) == std::pair{2.5, 10.0});
  CHECK(range_of(extremes_of({-1, 3, 7})) == std::pair{3.0, 7.0});
}

TEST_CASE("a coarse mesh has the ids and places of the whole one") {
  pillion_field_description field{};
  field.axes = 3;
  for (int d = 0; d < 3; ++d) {
    field.cells[d] = 4 + d;
    field.origin[d] = 10;
    field.length[d] = 8 + 2 * d;
    field.periodic[d] = 1;
  }
  const MeshScale whole(field, 1), coarse(field, 2);
  CHECK(whole.grid().cells == Cell{4, 5, 6});
  CHECK(coarse.grid().cells == Cell{2, 3, 3});
  CHECK(coarse.grid().periodic == std::array<bool, 3>{true, false, true});
  CHECK(whole.cell_volume() == doctest::Approx(8));
  CHECK(coarse.cell_volume() == doctest::Approx(64));
  CHECK(coarse.all_axes() == 8);
  for (int64_t c = 0; c < coarse.grid().count(); ++c) {
    const Cell at = coarse.grid().cell(c);
    const int64_t fine = whole.grid().id({2 * at[0], 2 * at[1], 2 * at[2]});
    CHECK(coarse.id(c) == fine);
    for (size_t d = 0; d < 3; ++d) {
      const auto place = static_cast<double>(at[d]);
      CHECK(coarse.coordinate(place, d) == whole.coordinate(2 * place, d));
    }
  }
  CHECK(whole.coordinate(1, 0) == doctest::Approx(13));
}

TEST_CASE("the sum over cells is exact, however they are cut, and ghost cells are not in it") {
  Random random(17);
  Field field = field_of(Kind::lognormal, {13, 9, 11}, {true, true, true}, random);
  field.values[5] = 1e17;
  field.values[700] = -1e17;
  field.values[701] = std::nan("");
  field.values[900] = std::numeric_limits<double>::infinity();
  const auto sum_over = [&](int boxes) {
    std::vector<Piece> pieces;
    cut({0, 0, 0}, field.grid.cells, boxes, random, pieces);
    CompensatedSum sum;
    int64_t finite = 0;
    for (const auto& piece : pieces) {
      const Rank rank(field, piece);
      const FieldValues<double> values(rank.piece, rank.values.data());
      sum.add(values.sum());
      finite += values.finite();
      for (int64_t i = 0; i < rank.piece.size(); ++i) REQUIRE_FALSE(std::isnan(values.data()[i]));
    }
    CHECK(finite == field.grid.count() - 2);
    return sum.value();
  };
  double expected = 0;
  for (int64_t c = 0; c < field.grid.count(); ++c)
    if (c != 5 && c != 700 && std::isfinite(field.values[c])) expected += field.values[c];
  const double one = sum_over(1);
  CHECK(one == doctest::Approx(expected).epsilon(1e-13));
  for (const int boxes : {2, 3, 8, 20}) CHECK(sum_over(boxes) == one);
}
