// SPDX-License-Identifier: BSD-3-Clause
// The basis of spectral elements against closed values: tabulated points, exact integrals and
// derivatives of polynomials, the identity that its transforms must make, and known maps of
// elements.
#include "common/legendre.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace pillion::stages;

namespace {

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// Values of f at the points of the reference element.
template <class Function>
std::vector<double> values_of(const LobattoBasis& basis, Function&& f) {
  std::vector<double> out;
  for (const double t : basis.points)
    for (const double s : basis.points)
      for (const double r : basis.points) out.push_back(f(r, s, t));
  return out;
}

}  // namespace

TEST_CASE("points and weights of low order are the tabulated ones") {
  const LobattoBasis line(1), parabola(2), cubic(3), quartic(4);
  CHECK(line.points == std::vector<double>{-1, 1});
  CHECK(line.weights == std::vector<double>{1, 1});
  CHECK(parabola.points == std::vector<double>{-1, 0, 1});
  CHECK(largest_difference(parabola.weights, {1. / 3, 4. / 3, 1. / 3}) < 1e-15);
  const double a = std::sqrt(1. / 5), b = std::sqrt(3. / 7);
  CHECK(largest_difference(cubic.points, {-1, -a, a, 1}) < 1e-15);
  CHECK(largest_difference(cubic.weights, {1. / 6, 5. / 6, 5. / 6, 1. / 6}) < 1e-15);
  CHECK(largest_difference(quartic.points, {-1, -b, 0, b, 1}) < 1e-15);
  CHECK(largest_difference(quartic.weights, {.1, 49. / 90, 32. / 45, 49. / 90, .1}) < 1e-15);
}

TEST_CASE("quadrature is exact up to degree 2N - 1, and is not beyond") {
  for (int order = 1; order <= 31; ++order) {
    const LobattoBasis basis(order);
    for (int degree = 0; degree <= 2 * order; ++degree) {
      double sum = 0;
      for (size_t i = 0; i < basis.size(); ++i)
        sum += basis.weights[i] * std::pow(basis.points[i], degree);
      const double exact = degree % 2 == 0 ? 2. / (degree + 1) : 0;
      if (degree < 2 * order) CHECK(sum == doctest::Approx(exact).epsilon(2e-14));
      else if (order < 15) CHECK(std::abs(sum - exact) > 1e-12);
    }
  }
}

TEST_CASE("derivatives of polynomials up to degree N are exact") {
  for (const int order : {1, 2, 5, 7, 12, 20}) {
    const LobattoBasis basis(order);
    const size_t n = basis.size();
    for (int degree = 0; degree <= order; ++degree)
      for (size_t i = 0; i < n; ++i) {
        double d = 0;
        for (size_t j = 0; j < n; ++j)
          d += basis.derivative[i * n + j] * std::pow(basis.points[j], degree);
        const double exact = degree == 0 ? 0 : degree * std::pow(basis.points[i], degree - 1);
        CHECK(std::abs(d - exact) < 1e-14 * order * order * order);
      }
  }
}

TEST_CASE("V'WV is the identity, and so is there and back") {
  for (int order = 1; order <= 31; ++order) {
    const LobattoBasis basis(order);
    const size_t n = basis.size();
    double worst = 0;
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b) {
        double gram = 0;
        for (size_t i = 0; i < n; ++i)
          gram += basis.to_values[i * n + a] * basis.weights[i] * basis.to_values[i * n + b];
        worst = std::max(worst, std::abs(gram - (a == b ? 1 : 0)));
      }
    CHECK(worst < 1e-14);
  }
  const LobattoBasis basis(7);
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto u = values_of(basis, [&](double, double, double) { return uniform(random); });
  auto turned = u;
  std::vector<double> scratch(u.size());
  apply_tensor({basis.to_legendre, 8}, 8, turned.data(), turned.data(), scratch.data());
  CHECK(largest_difference(u, turned) > 0.1);
  apply_tensor({basis.to_values, 8}, 8, turned.data(), turned.data(), scratch.data());
  CHECK(largest_difference(u, turned) < 2e-14);
}

TEST_CASE("a product of Legendre polynomials has one coefficient, at its own place") {
  const LobattoBasis basis(6);
  const size_t n = basis.size();
  auto u = values_of(basis, [](double r, double s, double t) {
    return legendre(4, r).value * legendre(1, s).value * legendre(3, t).value;
  });
  std::vector<double> scratch(u.size()), coefficients(u.size());
  apply_tensor({basis.to_legendre, n}, n, u.data(), coefficients.data(), scratch.data());
  std::vector<double> expected(u.size(), 0);
  expected[4 + n * (1 + n * 3)] = std::sqrt(2. / 9 * 2. / 3 * 2. / 7);
  CHECK(largest_difference(coefficients, expected) < 1e-14);
}

TEST_CASE("each axis is the one it is called, for numbers of points known or not") {
  for (const int order : {2, 7, 10, 12}) {
    const LobattoBasis basis(order);
    const AxisMatrix d(basis.derivative, basis.size());
    const auto u =
        values_of(basis, [](double r, double s, double t) { return r + 2 * s * s + 5 * r * t; });
    const std::vector expected{
        values_of(basis, [](double, double, double t) { return 1 + 5 * t; }),
        values_of(basis, [](double, double s, double) { return 4 * s; }),
        values_of(basis, [](double r, double, double) { return 5 * r; }),
    };
    std::vector<double> out(u.size());
    for (int axis = 0; axis < 3; ++axis) {
      apply_along(axis, d, basis.size(), u.data(), out.data());
      CHECK(largest_difference(out, expected[static_cast<size_t>(axis)]) < 1e-12);
    }
  }
}

TEST_CASE("the Jacobian of a parallelepiped is an eighth of its volume everywhere") {
  const LobattoBasis basis(5);
  const auto x = values_of(basis, [](double r, double s, double t) { return 3 * r + s - t; });
  const auto y = values_of(basis, [](double, double s, double t) { return 2 * s + 4 * t + 9; });
  const auto z = values_of(basis, [](double, double, double t) { return 5 * t; });
  std::vector<double> out(x.size());
  Jacobian(basis).determinant(x.data(), y.data(), z.data(), out.data());
  CHECK(largest_difference(out, std::vector<double>(x.size(), 30)) < 2e-12);
}

TEST_CASE("the Jacobian of a curved element is that of its map") {
  const LobattoBasis basis(4);
  const auto x = values_of(basis, [](double r, double s, double) { return r + 0.2 * s * s; });
  const auto y = values_of(basis, [](double r, double s, double) { return s + 0.3 * r * r * r; });
  const auto z = values_of(basis, [](double r, double, double t) { return t * (2 + r); });
  const auto exact = values_of(
      basis, [](double r, double s, double) { return (2 + r) * (1 - 0.4 * s * 0.9 * r * r); });
  std::vector<double> out(x.size());
  Jacobian(basis).determinant(x.data(), y.data(), z.data(), out.data());
  CHECK(largest_difference(out, exact) < 1e-13);
  // A left-handed element has a negative one.
  Jacobian(basis).determinant(y.data(), x.data(), z.data(), out.data());
  CHECK(*std::max_element(out.begin(), out.end()) < 0);
}
