// SPDX-License-Identifier: BSD-3-Clause
// The bound on the error of truncated elements, whatever their shape and field; that no coefficient
// is kept in vain; and that the kernels are what their formulas say, on every processor.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "common/element_coding.hpp"
#include "truncation_scene.hpp"

using namespace pillion::stages;
using namespace pillion::stages::truncate;
using namespace truncation_scene;

namespace {

struct Truncated {
  Outcome outcome;
  Values coefficients;
};

Truncated truncated(const LobattoBasis& basis, const Shape& shape, const Values& values,
                    const Rule& rule, bool single = false) {
  Values shares(values.size()), out(values.size());
  GeometryFinder finder(basis);
  const auto geometry = finder.find(shape.x.data(), shape.y.data(), shape.z.data(), shares);
  CHECK(geometry.is_valid);
  CHECK(geometry.shares.empty() == (shape.is_affine || basis.size() == 0));
  const auto outcome =
      ElementTruncation(basis, single).truncate(values.data(), geometry, rule, out.data());
  return {outcome, out};
}

/// What a decoder has at the end, of a field in single precision or not.
Values decoded(const LobattoBasis& basis, const Truncated& t, const Values& original, bool single) {
  if (t.outcome.step == as_values) return original;
  auto stored = t.coefficients;
  for (auto& c : stored) {
    if (single) c = static_cast<float>(c);
    if (t.outcome.step > 0) c = std::nearbyint(c / t.outcome.step) * t.outcome.step;
  }
  auto out = synthesis(basis, stored);
  if (single)
    for (auto& v : out) v = static_cast<float>(v);
  return out;
}

void check_bound(const LobattoBasis& basis, const Shape& shape, const Values& values,
                 const Rule& rule, bool single) {
  const auto t = truncated(basis, shape, values, rule, single);
  const auto off = errors(shape, decoded(basis, t, values, single), values, rule.bound);
  const double error = rule.norm == Norm::rms ? off.rms : off.largest;
  CAPTURE(shape.name);
  CAPTURE(basis.size());
  CAPTURE(rule.bound);
  CAPTURE(rule.rounds);
  CHECK(error <= 1);
  CHECK(t.outcome.error / rule.bound <= 1);
  CHECK(error <= t.outcome.error / rule.bound * (1 + 1e-9));
  // Said to be no larger than it is, but for what rounding may add.
  if (!single && t.outcome.error > 1e-8 * *std::max_element(values.begin(), values.end()))
    CHECK(error >= t.outcome.error / rule.bound * 0.99);
}

}  // namespace

TEST_CASE("the error of what is decoded is within the bound") {
  std::mt19937 random(8);
  for (const int n : {2, 3, 5, 8}) {
    const LobattoBasis basis(n - 1);
    for (const auto& shape : shapes(basis))
      for (const auto& field : fields(basis, random))
        for (const double bound : {1e-13, 1e-9, 1e-5, 1e-2, 0.3, 3.0, 1e7})
          for (const bool single : {false, true})
            for (const Norm norm : {Norm::rms, Norm::largest})
              for (const bool rounds : {true, false}) {
                auto values = field;
                if (single)
                  for (auto& v : values) v = static_cast<float>(v);
                check_bound(basis, shape, values, {bound, norm, rounds}, single);
              }
  }
}

TEST_CASE("the bound holds for the largest and the smallest numbers") {
  std::mt19937 random(9);
  const LobattoBasis basis(5);
  for (const auto& shape : shapes(basis))
    for (const auto& field : fields(basis, random))
      for (const double scale : {1e300, 1e290, 1e-290, 1e-300, 1e-310, 5e-324})
        for (const double bound : {1e-8, 1e-2, 1.0})
          for (const bool rounds : {true, false}) {
            auto values = field;
            for (auto& v : values) v *= scale;
            if (bound * scale > 0)
              check_bound(basis, shape, values, {bound * scale, Norm::rms, rounds}, false);
          }
}

TEST_CASE("what cannot be truncated stays as it is") {
  const LobattoBasis basis(4);
  const auto cube = shapes(basis)[0];
  std::mt19937 random(1);
  const Values smooth = fields(basis, random)[3];
  CHECK(truncated(basis, cube, smooth, {0}).outcome.step == as_values);
  for (const double no_number :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()})
    for (const size_t place : {size_t{0}, size_t{77}, smooth.size() - 1}) {
      auto values = smooth;
      values[place] = no_number;
      CHECK(truncated(basis, cube, values, {1e-2}).outcome.step == as_values);
    }
  // Inside out.
  Values shares(smooth.size()), out(smooth.size());
  const auto geometry =
      GeometryFinder(basis).find(cube.y.data(), cube.x.data(), cube.z.data(), shares);
  CHECK_FALSE(geometry.is_valid);
  CHECK(
      ElementTruncation(basis, false).truncate(smooth.data(), geometry, {1e-2}, out.data()).step ==
      as_values);
}

TEST_CASE("a quadrilateral may face either way, but is not folded") {
  const LobattoBasis basis(4);
  const size_t n = basis.size();
  Values r(n * n), s(n * n), folded(n * n), none(n * n), shares(n * n);
  for (size_t p = 0; p < n * n; ++p) {
    r[p] = basis.points[p % n];
    s[p] = basis.points[p / n];
    folded[p] = r[p] * r[p];
  }
  GeometryFinder finder(basis, 2);
  const auto looked_at = [&](const Values& x, const Values& y, const Values& z) {
    return finder.find(x.data(), y.data(), z.data(), shares);
  };
  CHECK(looked_at(r, s, none).is_valid);
  CHECK(looked_at(s, r, none).is_valid);
  CHECK(looked_at(none, s, r).is_valid);
  CHECK(looked_at(r, s, none).volume == doctest::Approx(4));
  CHECK_FALSE(looked_at(folded, s, none).is_valid);
}

TEST_CASE("without rounding, the largest coefficients are kept, and no more than needed") {
  std::mt19937 random(10);
  const LobattoBasis basis(7);
  const auto cube = shapes(basis)[0];
  for (const auto& field : fields(basis, random)) {
    Values all(field);
    kernels_of(8, 3).analyse(operator_of(basis.to_legendre, 8), field.data(), all.data());
    int64_t before = std::numeric_limits<int64_t>::max();
    for (const double bound : {1e-6, 1e-3, 1e-2, 0.1, 0.5}) {
      const auto t = truncated(basis, cube, field, {bound, Norm::rms, false});
      CHECK(t.outcome.kept <= before);
      before = t.outcome.kept;
      auto squares = all;
      for (auto& c : squares) c *= c;
      std::sort(squares.begin(), squares.end());
      double sum = 0;
      int64_t fewest = static_cast<int64_t>(squares.size());
      for (const double square : squares)
        if ((sum += square) <= 8 * bound * bound) --fewest;
        else break;
      CHECK(t.outcome.kept >= fewest);
      CHECK(t.outcome.kept <= fewest + 1);  // where the last one fits but for rounding
      double least_kept = 1e300, most_dropped = 0;
      for (size_t i = 0; i < all.size(); ++i) {
        if (t.coefficients[i] != 0) {
          least_kept = std::min(least_kept, std::fabs(all[i]));
          CHECK(t.coefficients[i] == all[i]);
        } else {
          most_dropped = std::max(most_dropped, std::fabs(all[i]));
        }
      }
      CHECK(least_kept >= most_dropped);
    }
  }
}

TEST_CASE("of a polynomial nothing is kept above its degree") {
  std::mt19937 random(11);
  const LobattoBasis basis(7);
  const auto cube = shapes(basis)[0];
  const auto all = fields(basis, random);
  CHECK(truncated(basis, cube, all[1], {1e-9}).outcome.kept == 1);
  const auto t = truncated(basis, cube, all[2], {1e-9});
  CHECK(t.outcome.kept == 4);  // 1, r, s and r t
  for (const size_t place : {size_t{0}, size_t{1}, size_t{8}, size_t{65}})
    CHECK(t.coefficients[place] != 0);
}

TEST_CASE("rounding keeps the error near the bound, so that no digit is stored in vain") {
  std::mt19937 random(12);
  const LobattoBasis basis(7);
  for (const auto& shape : shapes(basis)) {
    const auto noise = fields(basis, random)[0];
    CHECK(truncated(basis, shape, noise, {1e-2}).outcome.error > 0.9e-2);
    CHECK(truncated(basis, shape, noise, {1e-2, Norm::largest}).outcome.error > 0.3e-2);
  }
}

TEST_CASE("kernels are what they say for every number of points and every processor") {
  std::mt19937 random(13);
  std::normal_distribution<double> normal;
  for (int run = 2 * fewest_points; run <= 2 * most_points + 1; ++run) {
    const int n = run / 2, axes = 2 + run % 2;
    const LobattoBasis basis(n - 1);
    const int size = axes == 2 ? n * n : n * n * n;
    const auto points = static_cast<size_t>(n);
    Values values(static_cast<size_t>(size)), first(values), back(values);
    for (auto& v : values) v = normal(random);
    const auto analysis = operator_of(basis.to_legendre, n);
    const auto synthesis = operator_of(basis.to_values, n);
    for (const int level : {0, 1, 2}) {
      const auto& k = kernels_of(n, axes, level);
      Values coefficients(values), rounded(values);
      k.analyse(analysis, values.data(), coefficients.data());
      k.synthesise(synthesis, coefficients.data(), back.data());
      for (size_t p = 0; p < values.size(); ++p)
        CHECK(back[p] == doctest::Approx(values[p]).epsilon(1e-11));
      double one = 0;  // a coefficient by its definition
      const size_t at = points * points - 1;
      for (size_t p = 0; p < values.size(); ++p)
        one += basis.to_legendre[(points - 1) * points + p % points] *
               basis.to_legendre[(points - 1) * points + p / points % points] *
               (axes == 2 ? 1 : basis.to_legendre[p / points / points]) * values[p];
      CHECK(coefficients[at] == doctest::Approx(one).epsilon(1e-11));
      if (level == 0) first = coefficients;
      CHECK(first == coefficients);
      const int kept = k.multiples(values.data(), size, 4, 0.25, rounded.data());
      double error = 0, squares = 0, most = 0, small = 0, weighted = 0;
      int left = 0;
      for (size_t p = 0; p < values.size(); ++p) {
        const double steps = 4 * values[p], v = values[p];
        CHECK(rounded[p] == (std::fabs(steps) < dead_zone ? 0 : std::nearbyint(steps) / 4));
        error += (steps - 4 * rounded[p]) * (steps - 4 * rounded[p]);
        left += rounded[p] != 0 ? 1 : 0;
        squares += v * v;
        small += std::fabs(v) < 0.7 ? v * v : 0;
        weighted += back[p] * v * v;
        most = std::max(most, std::fabs(v));
      }
      CHECK(kept == left);
      CHECK(k.squares_below(values.data(), size, 0.7) == doctest::Approx(small));
      CHECK(k.weighted_squares(values.data(), back.data(), size) == doctest::Approx(weighted));
      CHECK(k.rounding_error(values.data(), size, 4) == doctest::Approx(error));
      CHECK(k.sum_of_squares(values.data(), size) == doctest::Approx(squares));
      CHECK(k.largest(values.data(), size) == most);
    }
  }
}

TEST_CASE("steps are told by their index") {
  for (int index = -16000; index <= 16000; index += 7) {
    CHECK(step_at(index) == doctest::Approx(std::exp2(index / 16.0)).epsilon(1e-15));
    CHECK(index_of(step_at(index)) == index);
    const int below = index_below(1.02 * step_at(index));
    CHECK(below == index);
  }
}
