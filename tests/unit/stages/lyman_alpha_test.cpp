// SPDX-License-Identifier: BSD-3-Clause
// What must hold of optical depths, whatever the gas: the column that was put in comes out, the
// uniform gas has the Gunn-Peterson depth, bulk motion by whole pixels rolls the pixels, finer
// pixels leave the mean alone. And the kernel against a sum over all cells, pixels and images.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "lyman_alpha/lyman_options.hpp"
#include "lyman_alpha/lyman_tables.hpp"
#include "lyman_alpha/sightlines.hpp"

using namespace pillion::stages;
using namespace pillion::stages::lyman_alpha;

namespace {

struct Line {
  std::vector<double> strength, width, velocity;  // the latter two in cells

  [[nodiscard]] std::vector<double> tau() const {
    std::vector<double> out(strength.size());
    Absorption absorption(static_cast<int64_t>(out.size()));
    for (size_t j = 0; j < out.size(); ++j)
      absorption.add(static_cast<int64_t>(j), strength[j], width[j], velocity[j], out);
    return out;
  }
};

Line random_line(size_t cells, double widest, double fastest, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Line out;
  for (size_t j = 0; j < cells; ++j) {
    out.strength.push_back(std::exp(2 * normal(random)));
    out.width.push_back(widest * uniform(random));
    out.velocity.push_back(fastest * normal(random));
  }
  return out;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Every cell in every pixel, with so many images on both sides.
std::vector<double> summed(const Line& line, int images) {
  const auto n = static_cast<int>(line.strength.size());
  std::vector<double> out(line.strength.size());
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int image = -images; image <= images; ++image) {
        const double x = i - j + image * n - line.velocity[j], b = line.width[j];
        out[i] += line.strength[j] / 2 * (std::erf((x + 0.5) / b) - std::erf((x - 0.5) / b));
      }
  return out;
}

void check_close(const std::vector<double>& a, const std::vector<double>& b, double relative) {
  const double greatest = *std::max_element(b.begin(), b.end());
  for (size_t i = 0; i < a.size(); ++i) REQUIRE(std::abs(a[i] - b[i]) < relative * greatest);
}

}  // namespace

TEST_CASE("the table of the error function is right to the last digits") {
  const ErfTable erf;
  for (double x = -6; x <= 6; x += 1.37e-4) REQUIRE(std::abs(erf(x) - std::erf(x)) < 4e-16);
  for (const double x : {0.0, 6.0, 5.9999999, 1 / 64.0, 6 + 1e-12})
    for (const double sign : {-1, 1}) CHECK(std::abs(erf(sign * x) - std::erf(sign * x)) < 4e-16);
}

TEST_CASE("optical depth is the sum over all cells and images") {
  for (const double widest : {0.05, 1.0, 4.0, 60.0}) {
    const Line line = random_line(37, widest, 15, 1);
    check_close(line.tau(), summed(line, 15), 1e-14);
  }
}

TEST_CASE("lines so wide that nothing but a constant is left") {
  for (const double width : {73.9, 74.0, 1e6}) {
    const Line line = {std::vector<double>(37, 1), std::vector<double>(37, width),
                       std::vector<double>(37, 3.3)};
    for (const double t : line.tau()) CHECK(std::abs(t - 1) < 1e-14);
  }
}

TEST_CASE("the column comes out, whatever temperatures and velocities are") {
  for (const double widest : {0.0, 0.3, 5.0, 1000.0})
    for (const double fastest : {0.0, 3.0, 1e6}) {
      const Line line = random_line(64, widest, fastest, 2);
      CHECK(std::abs(sum(line.tau()) / sum(line.strength) - 1) < 1e-14);
    }
}

TEST_CASE("uniform gas at rest has the depth of Gunn and Peterson") {
  const Cosmology cosmology{0.3, 0.7, 0.7};
  const double scale = 0.25, density = 2.5e-11;
  const Sight sight = sight_of(cosmology, scale, 48, 20);
  const double cell = sight.velocity / 48;
  Line line = {std::vector<double>(48, density * sight.strength),
               std::vector<double>(48, 100 * doppler_of_kelvin() / cell),
               std::vector<double>(48, 0)};
  // sigma_0 lambda n / H, with sigma_0 in cm^2 Hz as in the literature.
  const double hubble = 70 * std::sqrt(0.3 * 64 + 0.7) / 3.0856775814913673e19;
  const double expected = 0.0110515 * 1215.67e-8 * density / hubble;
  for (const double t : line.tau()) CHECK(t == doctest::Approx(expected).epsilon(1e-4));
  const auto tau = line.tau();
  for (const double t : tau) CHECK(std::abs(t / tau[0] - 1) < 1e-14);
  CHECK(sight.velocity == doctest::Approx(hubble * 3.0856775814913673e19 * scale * 20));
  CHECK(doppler_of_kelvin() * 100 == doctest::Approx(12.85).epsilon(1e-3));
}

TEST_CASE("bulk motion by whole pixels rolls the pixels") {
  Line line = random_line(41, 3, 5, 4);
  auto still = line.tau();
  for (double& v : line.velocity) v += 7;
  auto moving = line.tau();
  std::rotate(still.begin(), still.end() - 7, still.end());
  check_close(moving, still, 1e-13);
}

TEST_CASE("finer pixels leave the mean alone, and what is seen where lines are resolved") {
  const Line line = random_line(32, 6, 4, 5);
  Line fine;
  for (size_t j = 0; j < 32; ++j)
    for (int part = 0; part < 4; ++part) {
      fine.strength.push_back(line.strength[j]);  // in a quarter of the velocity, so as deep
      fine.width.push_back(4 * line.width[j]);
      fine.velocity.push_back(4 * line.velocity[j]);
    }
  CHECK(std::abs(sum(fine.tau()) / 4 / sum(line.tau()) - 1) < 1e-13);
}

TEST_CASE("space that is not flat expands by its curvature, too") {
  CHECK(Cosmology{0.3, 0.7, 0.7}.hubble(1) == doctest::Approx(70));
  CHECK(Cosmology{0.3, 0.5, 0.7}.hubble(1) == doctest::Approx(70));
  CHECK(Cosmology{0.3, 0.5, 0.7}.hubble(0.5) ==
        doctest::Approx(70 * std::sqrt(0.3 * 8 + 0.2 * 4 + 0.5)));
}

TEST_CASE("the factor for a mean flux is found, or said not to be there") {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  std::vector<double> tau(500);
  for (double& t : tau) t = std::exp(3 * normal(random));
  int evaluations = 0;
  const auto evaluate = [&](double factor) {
    ++evaluations;
    MeanFlux out{0, 0};
    for (const double t : tau) {
      out.flux += std::exp(-factor * t) / 500;
      out.slope += factor * t * std::exp(-factor * t) / 500;
    }
    return out;
  };
  for (const double factor : {1e-6, 0.03, 1.0, 17.0, 1e5}) {
    evaluations = 0;
    const double wanted = evaluate(factor).flux;
    const auto found = rescaling_for(wanted, evaluate);
    REQUIRE(found);
    CHECK(std::abs(evaluate(*found).flux - wanted) < 1e-14);
    CHECK(evaluations < 60);
  }
  std::fill(tau.begin(), tau.begin() + 300, 0.0);
  CHECK_FALSE(rescaling_for(0.5, evaluate));
  CHECK(rescaling_for(0.7, evaluate));
}

TEST_CASE("one wave has its power in one mode, and none in the mean") {
  for (const int64_t cells : {16, 15}) {
    std::vector<double> flux(static_cast<size_t>(cells));
    for (size_t i = 0; i < flux.size(); ++i)
      flux[i] = 0.6 + 0.2 * std::cos(6 * std::acos(-1) * static_cast<double>(i) /
                                     static_cast<double>(cells));
    LinePower power(cells);
    power.add(flux);
    power.add(flux);
    REQUIRE(power.sums().size() == static_cast<size_t>(cells / 2));
    const double expected = 2 * std::pow(0.1 * static_cast<double>(cells), 2);
    for (size_t n = 0; n < power.sums().size(); ++n)
      CHECK(power.sums()[n] == doctest::Approx(n + 1 == 3 ? expected : 0).epsilon(1e-12));
  }
}
