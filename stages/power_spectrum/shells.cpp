// SPDX-License-Identifier: BSD-3-Clause
// A row of modes along the first axis has rising wave numbers, so its shells follow each other.
#include "shells.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace pillion::stages::power_spectrum {

using std::numbers::pi;

double Volume::fundamental(int axis) const { return 2 * pi / lengths[static_cast<size_t>(axis)]; }

int Volume::dimensions() const {
  int number = 0;
  for (int d = 0; d < axes; ++d) number += has_waves(d) ? 1 : 0;
  return number;
}

double Volume::longest() const {
  double longest = 0;
  for (int d = 0; d < axes; ++d)
    if (has_waves(d)) longest = std::max(longest, lengths[static_cast<size_t>(d)]);
  return longest > 0 ? longest : lengths[0];
}

double Volume::size() const {
  double size = 1;
  for (int d = 0; d < axes; ++d)
    if (has_waves(d)) size *= lengths[static_cast<size_t>(d)];
  return size;
}

double Volume::nyquist() const {
  double least = std::numeric_limits<double>::infinity();
  for (int d = 0; d < axes; ++d)
    if (has_waves(d))
      least =
          std::min(least, fundamental(d) * static_cast<double>(cells[static_cast<size_t>(d)]) / 2);
  return least;
}

double Volume::count() const { return static_cast<double>(cells[0] * cells[1] * cells[2]); }

namespace {

/// Half the cells of the axis with the highest Nyquist wave number.
double highest(const Volume& volume) {
  double most = 0;
  for (size_t d = 0; d < static_cast<size_t>(volume.axes); ++d)
    most = std::max(
        most, volume.longest() / volume.lengths[d] * static_cast<double>(volume.cells[d] / 2));
  return most;
}

/// n for the first half of indices, n - N for the rest.
int64_t signed_wave(int64_t index, int64_t cells) {
  return index <= cells / 2 ? index : index - cells;
}

double sinc(double x) { return x == 0 ? 1 : std::sin(x) / x; }

/// The shot noise along one axis of particles on a mesh, all that is folded in included: the sum of
/// sinc^(2 p) over the aliases of `phase` = pi n / N, in closed form (Y. P. Jing, ApJ 620 (2005)
/// 559).
double noise_of(int cloud, double phase) {
  const double s = std::sin(phase) * std::sin(phase);
  switch (cloud) {
    case 2: return 1 - 2.0 / 3 * s;
    case 3: return 1 - s + 2.0 / 15 * s * s;
    default: return 1;
  }
}

}  // namespace

std::vector<double> linear_edges(const Volume& volume, double width) {
  const double most = highest(volume);
  std::vector<double> edges{0.5 * width};
  while (edges.back() <= most)
    edges.push_back(edges.front() + width * static_cast<double>(edges.size()));
  return edges;
}

double linear_shells(const Volume& volume, double width) { return highest(volume) / width; }

std::vector<double> log_edges(const Volume& volume, int64_t bins) {
  const double first = 0.5, last = highest(volume) + 0.5;
  std::vector<double> edges;
  for (int64_t e = 0; e <= bins; ++e)
    edges.push_back(first *
                    std::pow(last / first, static_cast<double>(e) / static_cast<double>(bins)));
  return edges;
}

Shells::Shells(const Volume& volume, std::vector<double> edges, const Clouds& clouds)
    : volume_(volume), edges_(std::move(edges)) {
  for (const double e : edges_) squares_.push_back(e * e);
  for (size_t d = 0; d < 3; ++d) {
    const int64_t n = volume.cells[d];
    // Where lengths are in simple proportions, so are waves, and shells meet none with round-off.
    const double ratio =
        static_cast<int>(d) < volume.axes ? volume.longest() / volume.lengths[d] : 0;
    for (int64_t i = 0; i < n; ++i) {
      const auto wave = static_cast<double>(signed_wave(i, n));
      wave_squares_[d].push_back(wave * wave * ratio * ratio);
      const double phase = pi * wave / static_cast<double>(n);
      const double s = sinc(phase);
      sharpen_[aa][d].push_back(std::pow(s, -2.0 * clouds.undo_a));
      sharpen_[bb][d].push_back(std::pow(s, -2.0 * clouds.undo_b));
      sharpen_[ab][d].push_back(std::pow(s, -1.0 * (clouds.undo_a + clouds.undo_b)));
      noise_[d].push_back(noise_of(clouds.noise, phase) * sharpen_[aa][d].back());
    }
    sums_.planes[d].assign(static_cast<size_t>(n / 2 + 1), 0);
  }
  const size_t shells = edges_.size() - 1;
  for (auto* sums : {&sums_.k, &sums_.power, &sums_.own_a, &sums_.own_b, &sums_.noise})
    sums->assign(shells, 0);
  sums_.modes.assign(shells, 0);
}

/// The last edge that is not above a square, from one on that is not. It is near as a rule; where
/// shells are thinner than waves are apart, it is searched for.
size_t Shells::climb(size_t edge, double square) const {
  constexpr int near = 4;
  const auto is_below = [&] { return edge + 1 < squares_.size() && squares_[edge + 1] <= square; };
  for (int n = 0; n < near && is_below(); ++n) ++edge;
  if (!is_below()) return edge;
  const auto from = squares_.begin() + static_cast<std::ptrdiff_t>(edge);
  const auto above = std::upper_bound(from, squares_.end(), square);
  return static_cast<size_t>(above - squares_.begin()) - 1;
}

void Shells::add(const Complex* a, const Complex* b, const stage::Step::Part& part) {
  if (part.count() == 0) return;
  const int64_t width = part.hi[0] - part.lo[0], nx = volume_.cells[0];
  std::vector<double> powers(static_cast<size_t>(width)), plain = powers, own_a, own_b;
  if (b != nullptr) own_a = own_b = powers;
  for (int64_t z = part.lo[2]; z < part.hi[2]; ++z)
    for (int64_t y = part.lo[1]; y < part.hi[1]; ++y) {
      const double across = wave_squares_[1][y] + wave_squares_[2][z];
      const double noise_across = noise_[1][y] * noise_[2][z];
      const auto multiply = [&](Product product, const Complex* f, const Complex* g,
                                std::vector<double>& out) {
        const auto& sharpen = sharpen_[product];
        const double of_row = sharpen[1][y] * sharpen[2][z];
        const double* of_column = sharpen[0].data() + part.lo[0];
        for (int64_t i = 0; i < width; ++i)
          out[i] = of_row * of_column[i] * (f[i].real() * g[i].real() + f[i].imag() * g[i].imag());
      };
      const Complex* const with = b == nullptr ? a : b;
      for (int64_t i = 0; i < width; ++i)
        plain[i] = a[i].real() * with[i].real() + a[i].imag() * with[i].imag();
      if (b == nullptr) {
        multiply(aa, a, a, powers);
      } else {
        multiply(ab, a, b, powers);
        multiply(aa, a, a, own_a);
        multiply(bb, b, b, own_b);
      }
      if (y == 0 && z == 0 && part.lo[0] == 0) {
        sums_.mean_a = a[0].real();
        if (b != nullptr) sums_.mean_b = b[0].real();
        powers[0] = plain[0] = 0;
      }
      const auto at_y = static_cast<size_t>(std::min(y, volume_.cells[1] - y));
      const auto at_z = static_cast<size_t>(std::min(z, volume_.cells[2] - z));
      double row = 0, plain_row = 0;
      size_t shell = climb(0, across);
      for (int64_t i = 0; i < width; ++i) {
        const int64_t x = part.lo[0] + i;
        // Others than the first and the middle stand for their conjugates, too.
        const int64_t twins = x == 0 || 2 * x == nx ? 1 : 2;
        const double power = static_cast<double>(twins) * powers[i];
        row += power;
        plain_row += static_cast<double>(twins) * plain[i];
        sums_.planes[0][x] += plain[i];
        const double square = across + wave_squares_[0][x];
        shell = climb(shell, square);
        if (shell + 1 == edges_.size() || square < squares_[0]) continue;
        sums_.modes[shell] += twins;
        sums_.k[shell] += static_cast<double>(twins) * std::sqrt(square);
        sums_.power[shell] += power;
        sums_.noise[shell] += static_cast<double>(twins) * noise_across * noise_[0][x];
        if (b == nullptr) continue;
        sums_.own_a[shell] += static_cast<double>(twins) * own_a[i];
        sums_.own_b[shell] += static_cast<double>(twins) * own_b[i];
      }
      sums_.planes[1][at_y] += plain_row;
      sums_.planes[2][at_z] += plain_row;
      sums_.all += row;
      a += width;
      if (b != nullptr) b += width;
    }
}

}  // namespace pillion::stages::power_spectrum
