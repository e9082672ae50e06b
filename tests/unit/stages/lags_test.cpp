// SPDX-License-Identifier: BSD-3-Clause
// Which publications become origins, and how samples are filed by lag, bounded, saved and restored.
#include "common/lags.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "common/tracks.hpp"

using namespace pillion::stages;

TEST_CASE("the first publication alone, or every so many with the latest kept") {
  Origins first({.only_first = true});
  CHECK(first.due(0));
  first.add({5, 0, {}});
  CHECK_FALSE(first.due(1));
  CHECK_FALSE(first.due(100));

  Origins windowed({.every = 3, .keep = 2});
  for (int64_t publication = 0; publication < 10; ++publication)
    if (windowed.due(publication)) windowed.add({publication, 0, {}});
  REQUIRE(windowed.kept().size() == 2);
  CHECK(windowed.kept()[0].step == 6);
  CHECK(windowed.kept()[1].step == 9);
}

TEST_CASE("samples of a lag add up, and its time is the mean over origins") {
  Lags lags(2, 10);
  lags.add(50, 1.0, std::vector<Moment>{{3, {1, 2, 3}}, {0, {}}});
  lags.add(50, 1.5, std::vector<Moment>{{2, {10, 0, 0}}, {1, {0, 0, 4}}});
  lags.add(0, 0.0, std::vector<Moment>{{1, {}}, {1, {}}});
  REQUIRE(lags.size() == 2);
  const auto& lag = lags.all().at(50);
  CHECK(lag.origins == 2);
  CHECK(lag.time() == doctest::Approx(1.25));
  CHECK(lag.species[0].samples == 5);
  CHECK(lag.species[0].sum[0] == 11);
  CHECK(lag.species[1].sum[2] == 4);
  CHECK(lags.all().begin()->first == 0);
}

TEST_CASE("new lags beyond the limit are left out and counted, known ones go on") {
  Lags lags(1, 2);
  const std::vector<Moment> one = {{1, {1, 1, 1}}};
  for (const int64_t steps : {0, 1, 2, 1, 3}) lags.add(steps, 0, one);
  CHECK(lags.size() == 2);
  CHECK(lags.left_out() == 2);
  CHECK(lags.all().at(1).species[0].samples == 2);
}

TEST_CASE("lags survive saving; those of other species are refused") {
  Lags lags(2, 3);
  lags.add(7, 0.5, std::vector<Moment>{{3, {1, 2, 3}}, {4, {5, 6, 7}}});
  lags.add(9, 0.7, std::vector<Moment>{{1, {0, 2, 0}}, {2, {1, 6, 1}}});
  for (int64_t n = 20; n < 23; ++n) lags.add(n, 1, std::vector<Moment>(2));
  Lags restored(2, 3);
  restored.restore(lags.integers(), lags.reals());
  CHECK(restored.integers() == lags.integers());
  CHECK(restored.reals() == lags.reals());
  CHECK(restored.left_out() == 2);
  CHECK(restored.all().at(7).species[1].sum[2] == 7);
  Lags other(3, 3);
  CHECK_THROWS(other.restore(lags.integers(), lags.reals()));
}
