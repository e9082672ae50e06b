// SPDX-License-Identifier: BSD-3-Clause
// Counting pairs through cells, against every pair with every other; what pairs of overlapping
// species mean; and normalisation.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "rdf/count_pairs.hpp"
#include "rdf/species_pairs.hpp"

using namespace pillion::stages;
using namespace pillion::stages::rdf;

namespace {

Points random_points(int64_t count, double lo, double hi, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> place(lo, hi);
  Points out;
  for (auto& component : out.at)
    for (int64_t i = 0; i < count; ++i) component.push_back(place(random));
  for (int64_t i = 0; i < count; ++i) out.molecule.push_back(i / 3);
  return out;
}

/// The definition, without cells.
std::vector<int64_t> every_pair(const Points& a, const Points& b, bool same, const PairRule& rule) {
  std::vector<int64_t> counts(rule.bins);
  const double width = rule.cutoff / static_cast<double>(rule.bins);
  for (int64_t i = 0; i < a.size(); ++i)
    for (int64_t j = 0; j < b.size(); ++j) {
      if (same && i == j) continue;
      if (rule.skip_same_molecule && a.molecule[i] != 0 && a.molecule[i] == b.molecule[j]) continue;
      double squares = 0;
      for (int axis = 0; axis < 3; ++axis)
        squares += (a.at[axis][i] - b.at[axis][j]) * (a.at[axis][i] - b.at[axis][j]);
      const auto bin = static_cast<int64_t>(std::sqrt(squares) * (1.0 / width));
      if (bin < rule.bins) ++counts[bin];
    }
  return counts;
}

}  // namespace

TEST_CASE("pairs through cells are the pairs there are") {
  for (const bool skip : {false, true})
    for (const double cutoff : {0.3, 1.7, 6.0, 40.0}) {
      const PairRule rule = {cutoff, 50, skip};
      const auto a = random_points(300, -5, 5, 1), b = random_points(500, -6, 7, 2);
      const CellList in_a(a, cutoff), in_b(b, cutoff);
      std::vector<int64_t> between(50), within(50);
      count_pairs(in_a, in_b, rule, between);
      count_pairs_within(in_a, rule, within);
      CHECK(between == every_pair(a, b, false, rule));
      CHECK(within == every_pair(a, a, true, rule));
    }
}

TEST_CASE("cells of any size, few or many of them, find the same pairs") {
  const PairRule rule = {1.7, 50, false};
  const auto a = random_points(400, -5, 5, 5);
  const auto expected = every_pair(a, a, true, rule);
  for (const double edge : {0.1, 0.5, 1.7, 4.0, 100.0})
    for (const double most : {1.0, 30.0, 1e5}) {
      const CellList list(CellGrid({-5, -5, -5}, {5, 5, 5}, edge, most), a);
      std::vector<int64_t> within(50);
      count_pairs_within(list, rule, within);
      CHECK(within == expected);
    }
}

TEST_CASE("points outside the grid are found too") {
  const PairRule rule = {1.7, 50, false};
  const auto a = random_points(200, -5, 5, 6), b = random_points(300, -5, 5, 7);
  const CellList list(CellGrid({-1, -2, 0}, {2, 2, 3}, 0.8, 1e5), b);
  std::vector<int64_t> between(50);
  count_pairs(CellList(a, 1.7), list, rule, between);
  CHECK(between == every_pair(a, b, false, rule));
}

TEST_CASE("more neighbours than a buffer holds") {
  const PairRule rule = {10, 20, false};
  const auto a = random_points(3000, 0, 1, 3);
  const CellList list(a, rule.cutoff);
  std::vector<int64_t> counts(20);
  count_pairs_within(list, rule, counts);
  CHECK(counts == every_pair(a, a, true, rule));
}

TEST_CASE("the bin of a distance: lower edge in, cutoff out") {
  Points a, b;
  for (auto& c : a.at) c = {0};
  b.at = {{{0, 0.25, 0.5, 1.0, 0.99999}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}}};
  std::vector<int64_t> counts(4);
  count_pairs(CellList(a, 1), CellList(b, 1), {1, 4, false}, counts);
  CHECK(counts == std::vector<int64_t>{1, 1, 1, 1});
}

TEST_CASE("empty sets and far apart points") {
  Points none, two;
  two.at = {{{-1e12, 1e12}, {0, 0}, {0, 0}}};
  const PairRule rule = {1, 10, false};
  CHECK(grid_for(two, 1).size() < 100);
  const CellList nothing(none, 1), list(two, 1);
  std::vector<int64_t> counts(10);
  count_pairs(nothing, list, rule, counts);
  count_pairs(list, nothing, rule, counts);
  count_pairs_within(list, rule, counts);
  CHECK(counts == std::vector<int64_t>(10));
}

TEST_CASE("a point that is nowhere pairs with nothing") {
  auto a = random_points(50, 0, 1, 4);
  const PairRule rule = {2, 10, false};
  a.at[1][7] = std::nan("");
  const CellList list(a, rule.cutoff);
  std::vector<int64_t> counts(10);
  count_pairs_within(list, rule, counts);
  int64_t sum = 0;
  for (const auto c : counts) sum += c;
  CHECK(sum == 49 * 48);
}

TEST_CASE("species that share types") {
  // water {1, 2}, O {2}, ion {3, 4}: three classes, of types 1, 2, and 3 with 4.
  const Selection s({{"water", {1, 2}}, {"O", {2}}, {"ion", {3, 4}}});
  const PairPlan plan(s, {{0, 1, "water_O"}, {0, 2, "water_ion"}, {2, 0, "ion_water"}});
  CHECK(plan.classes() == 3);
  CHECK(plan.class_of(s.membership(3)) == plan.class_of(s.membership(4)));
  const size_t h = plan.class_of(s.membership(1)), o = plan.class_of(s.membership(2)),
               ion = plan.class_of(s.membership(3));
  std::vector<int64_t> in_class(3);
  in_class[h] = 20, in_class[o] = 10, in_class[ion] = 4;
  CHECK(plan.particles(0, in_class) == 30);
  CHECK(plan.common(plan.pairs()[0], in_class) == 10);
  CHECK(plan.common(plan.pairs()[1], in_class) == 0);

  // One bin; ordered pairs of class a with class b are 100 (a + 1) + b.
  std::vector<int64_t> counts;
  int64_t oo = 0, ho = 0, hi = 0, oi = 0;
  for (const auto& [a, b] : plan.class_pairs()) {
    const auto value = static_cast<int64_t>(100 * (a + 1) + b);
    counts.push_back(value);
    if (a == o && b == o) oo = value;
    if (std::minmax(a, b) == std::minmax(h, o)) ho = value;
    if (std::minmax(a, b) == std::minmax(h, ion)) hi = value;
    if (std::minmax(a, b) == std::minmax(o, ion)) oi = value;
  }
  CHECK(counts.size() == 4);
  CHECK(plan.counts(plan.pairs()[0], counts, 1)[0] == oo + ho);
  CHECK(plan.counts(plan.pairs()[1], counts, 1)[0] == hi + oi);
  CHECK(plan.counts(plan.pairs()[2], counts, 1)[0] == hi + oi);
}

TEST_CASE("the same overlapping species on both sides counts mixed pairs both ways") {
  const Selection s({{"all", {1, 2}}, {"O", {2}}});
  const PairPlan plan(s, {{0, 0, "all_all"}});
  CHECK(plan.class_pairs().size() == 3);
  std::vector<int64_t> counts;
  for (const auto& [a, b] : plan.class_pairs()) counts.push_back(a == b ? 5 : 7);
  CHECK(plan.counts(plan.pairs()[0], counts, 1)[0] == 5 + 5 + 2 * 7);
}

TEST_CASE("frames are weighed by the pairs expected in them") {
  const Selection s({{"A", {1}}, {"B", {2}}});
  const PairPlan plan(s, {{0, 0, "A_A"}, {0, 1, "A_B"}});
  Averages sums(plan, 2, 2);
  const std::vector<int64_t> counts(plan.class_pairs().size() * 2, 6);
  sums.add(plan, counts, std::vector<int64_t>{4, 3}, 10, Density::others, 1);
  sums.add(plan, counts, std::vector<int64_t>{4, 3}, 20, Density::others, 1);
  CHECK(sums.frames == 2);
  CHECK(sums.expected[0] == doctest::Approx(12.0 / 10 + 12.0 / 20));
  CHECK(sums.expected[1] == doctest::Approx(12.0 / 10 + 12.0 / 20));
  CHECK(sums.density[1] == doctest::Approx(3.0 / 10 + 3.0 / 20));
  CHECK(sums.counts == std::vector<int64_t>(4, 12));
  Averages with_self(plan, 2, 2);
  with_self.add(plan, counts, std::vector<int64_t>{4, 3}, 10, Density::all, 1);
  CHECK(with_self.expected[0] == doctest::Approx(1.6));
}

TEST_CASE("a coarse frame tells of the same structure as the whole one") {
  // Of 400 A and 300 B one in ten is there: a hundredth of the pairs, and of the pairs expected.
  const Selection s({{"A", {1}}, {"B", {2}}});
  const PairPlan plan(s, {{0, 1, "A_B"}});
  Averages whole(plan, 2, 2), coarse(plan, 2, 2), both(plan, 2, 2);
  const std::vector<int64_t> all = {40000, 90000}, few = {400, 900};
  const std::vector<int64_t> numbers = {400, 300}, few_numbers = {40, 30};
  whole.add(plan, all, numbers, 10, Density::others, 1);
  coarse.add(plan, few, few_numbers, 10, Density::others, 10);
  both.add(plan, all, numbers, 10, Density::others, 1);
  both.add(plan, few, few_numbers, 10, Density::others, 10);
  CHECK(coarse.counts == few);
  CHECK(coarse.particles == std::vector<double>{40, 30});
  CHECK(coarse.density == std::vector<double>{4, 3});
  CHECK(whole.coarse_frames == 0);
  CHECK(both.coarse_frames == 1);
  for (const auto* sums : {&coarse, &both})
    for (const size_t bin : {0u, 1u}) {
      const auto g = distribution(sums->counts, sums->expected[0], 2, 3);
      CHECK(g[bin] == doctest::Approx(distribution(all, whole.expected[0], 2, 3)[bin]));
      const auto n = coordination(sums->counts, sums->centres[0]);
      CHECK(n[bin] == doctest::Approx(coordination(all, 400)[bin]));
    }
}

TEST_CASE("counts as expected give one, and nothing expected is not a number") {
  const double shell = 4 * std::numbers::pi / 3;
  const auto g = distribution({1000, 7000}, 1000 / shell, 2, 3);
  CHECK(g[0] == doctest::Approx(1));
  CHECK(g[1] == doctest::Approx(1));
  const auto rings = distribution({1000, 3000}, 1000 / std::numbers::pi, 2, 2);
  CHECK(rings[0] == doctest::Approx(1));
  CHECK(rings[1] == doctest::Approx(1));
  for (const double g : distribution({0, 0}, 0, 2, 3)) CHECK(std::isnan(g));
  for (const double n : coordination({0, 0}, 0)) CHECK(std::isnan(n));
  CHECK(coordination({3, 4}, 2) == std::vector<double>{1.5, 3.5});
  CHECK(radii(2, 4) == std::vector<double>{0.25, 0.75, 1.25, 1.75});
}
