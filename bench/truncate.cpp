// SPDX-License-Identifier: BSD-3-Clause
// How fast does one core truncate fields on spectral elements, beside copying them, and what is
// left? Values are a turbulent velocity: random waves with a spectrum of k^(-5/3) that dies away
// where elements no longer resolve it; or those of a file, 3 components at 8^3 points of each
// element, as `pillion decode` writes them. Seconds are those of the processor, so that others on
// it matter less.
//   bench_truncate [ELEMENTS_PER_SIDE [FILE]]
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "encode/lossless.hpp"
#include "encode/packet.hpp"
#include "truncate/element.hpp"

namespace {

using namespace pillion::stages;
using namespace pillion::stages::encode;
using namespace pillion::stages::truncate;

constexpr int points = 8, size = points * points * points, components = 3;
constexpr int repetitions = 7;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The middle of several times, for the bytes of all values.
double gigabytes_per_second(size_t bytes, const std::function<void()>& deed) {
  std::vector<double> seconds;
  for (int r = 0; r < repetitions; ++r) {
    const double begin = processor_seconds();
    deed();
    seconds.push_back(processor_seconds() - begin);
  }
  std::sort(seconds.begin(), seconds.end());
  return static_cast<double>(bytes) / seconds[repetitions / 2] / 1e9;
}

/// A wave of the velocity, which is at right angles to its wave vector.
struct Wave {
  double k[3], amplitude[3], phase;
};

std::vector<Wave> waves(double finest) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<Wave> out;
  for (int i = 0; i < 400; ++i) {
    Wave w{};
    const double k = std::pow(finest, (i + 0.5) / 400);  // evenly in its logarithm
    double length = 0, along = 0;
    for (double& c : w.k) {
      c = normal(random);
      length += c * c;
    }
    for (double& c : w.k) c = std::round(c * k / std::sqrt(length));
    const double square = std::max(1.0, w.k[0] * w.k[0] + w.k[1] * w.k[1] + w.k[2] * w.k[2]);
    for (int c = 0; c < 3; ++c) {
      w.amplitude[c] = normal(random);
      along += w.amplitude[c] * w.k[c];
    }
    const double energy = std::pow(square, -1.0 / 3) * std::exp(-7.8 * std::sqrt(square) / finest);
    for (int c = 0; c < 3; ++c)
      w.amplitude[c] = (w.amplitude[c] - along * w.k[c] / square) * std::sqrt(energy);
    w.phase = 2 * std::numbers::pi * std::generate_canonical<double, 53>(random);
    out.push_back(w);
  }
  return out;
}

/// Of the periodic box of 2 pi, element after element, scaled so that each component is about 1.
std::vector<double> turbulence(const LobattoBasis& basis, int side) {
  const auto all = waves(points * side / 2.0);
  std::vector<double> out(static_cast<size_t>(side * side * side * components * size));
  double squares = 0;
  for (size_t e = 0; e < out.size() / (components * size); ++e)
    for (size_t p = 0; p < size; ++p) {
      const size_t corner[3] = {e % side, e / side % side, e / side / side};
      const size_t point[3] = {p % points, p / points % points, p / points / points};
      double x[3], u[3] = {};
      for (int d = 0; d < 3; ++d)
        x[d] = 2 * std::numbers::pi / side *
               (static_cast<double>(corner[d]) + (basis.points[point[d]] + 1) / 2);
      for (const auto& w : all) {
        const double c = std::cos(w.k[0] * x[0] + w.k[1] * x[1] + w.k[2] * x[2] + w.phase);
        for (int d = 0; d < 3; ++d) u[d] += w.amplitude[d] * c;
      }
      for (int d = 0; d < 3; ++d) {
        out[(e * components + static_cast<size_t>(d)) * size + p] = u[d];
        squares += u[d] * u[d];
      }
    }
  const double scale = std::sqrt(static_cast<double>(out.size()) / squares);
  for (auto& u : out) u *= scale;
  return out;
}

std::vector<double> values_of(const char* path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::vector<double> out(static_cast<size_t>(in.tellg()) / sizeof(double));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(out.data()),
          static_cast<std::streamsize>(out.size() * sizeof(double)));
  return out;
}

/// Points of an element, straight or bent.
Geometry shape_of(const LobattoBasis& basis, double bend, std::vector<double>& shares) {
  std::vector<double> x(size), y(size), z(size);
  for (size_t p = 0; p < size; ++p) {
    const double r = basis.points[p % points], s = basis.points[p / points % points],
                 t = basis.points[p / points / points];
    x[p] = r + bend * s * s;
    y[p] = s + bend * r * t;
    z[p] = t * (1 + bend * r);
  }
  return GeometryFinder(basis).find(x.data(), y.data(), z.data(), shares);
}

void say(const std::string& what, double value, const char* unit) {
  std::printf("{\"bench\": \"truncate\", \"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\"}\n",
              what.c_str(), value, unit);
}

struct Truncated {
  std::vector<double> coefficients, steps;
  double speed = 0, error = 0, kept = 0;
};

Truncated truncated(const LobattoBasis& basis, const std::vector<double>& values,
                    const Geometry& shape, const Rule& rule) {
  ElementTruncation truncation(basis, false);
  Truncated out;
  out.coefficients.resize(values.size());
  const size_t all = values.size() / size;
  out.speed = gigabytes_per_second(values.size() * sizeof(double), [&] {
    out.steps.clear();
    out.kept = out.error = 0;
    for (size_t i = 0; i < all; ++i) {
      const auto one =
          truncation.truncate(&values[i * size], shape, rule, &out.coefficients[i * size]);
      out.steps.push_back(one.step);
      out.error += one.error * one.error / static_cast<double>(all);
      out.kept += static_cast<double>(one.kept) / static_cast<double>(values.size());
    }
  });
  out.error = std::sqrt(out.error);
  return out;
}

/// Packs and codes; returns how many times smaller all is.
double compression_ratio(const Truncated& truncated, const LosslessCodec& codec, double& speed) {
  size_t bytes = 0;
  const size_t raw = truncated.coefficients.size() * sizeof(double);
  speed = gigabytes_per_second(raw, [&] {
    bytes = 0;
    constexpr size_t of_packet = 512;
    const size_t elements = truncated.steps.size() / components;
    for (size_t e = 0; e < elements; e += of_packet) {
      const size_t count = std::min(of_packet, elements - e);
      const PacketSource<double> source{
          static_cast<int64_t>(count), &truncated.coefficients[e * components * size],
          components * size,
          std::span(truncated.steps).subspan(e * components, count * components)};
      const auto plain = packed({points, components}, source);
      const auto coded = compressed(codec, codec.standard, plain);
      bytes += coded.empty() ? plain.size() : coded.size();
    }
  });
  return static_cast<double>(raw) / static_cast<double>(bytes);
}

}  // namespace

int main(int argc, char** argv) {
  const int side = argc > 1 ? std::atoi(argv[1]) : 8;
  const LobattoBasis basis(points - 1);
  const auto once = argc > 2 ? values_of(argv[2]) : turbulence(basis, side);
  auto values = once;
  while (values.size() * sizeof(double) < size_t{128} << 20)
    values.insert(values.end(), once.begin(), once.end());
  std::vector<double> copy(values.size()), shares(size);
  const size_t bytes = values.size() * sizeof(double);
  const double memory =
      gigabytes_per_second(bytes, [&] { std::memcpy(copy.data(), values.data(), bytes); });
  say("memcpy", memory, "GB/s");
  const auto& kernels = kernels_of(points, 3);
  const auto analysis = operator_of(basis.to_legendre, points);
  const double transform = gigabytes_per_second(bytes, [&] {
    for (size_t at = 0; at < values.size(); at += size)
      kernels.analyse(analysis, &values[at], &copy[at]);
  });
  say("transform", transform, "GB/s");
  const auto straight = shape_of(basis, 0, shares);
  const auto rounded = truncated(basis, values, straight, {1e-2});
  say("truncate", rounded.speed, "GB/s");
  say("kept", rounded.kept, "");
  say("error", rounded.error, "");
  const auto fewest = truncated(basis, values, straight, {1e-2, Norm::rms, false});
  say("truncate_fewest", fewest.speed, "GB/s");
  say("kept_fewest", fewest.kept, "");
  const auto bent = shape_of(basis, 0.3, shares);
  say("truncate_deformed", truncated(basis, values, bent, {1e-2}).speed, "GB/s");
  double ratio = 0, speed = 0;
  // A code would find what is repeated.
  const auto own = truncated(basis, once, straight, {1e-2});
  const auto own_fewest = truncated(basis, once, straight, {1e-2, Norm::rms, false});
  for (const auto& codec : codecs()) {
    const double found = compression_ratio(own, codec, speed);
    if (ratio == 0) ratio = found;
    say(std::string("encode_") + codec.name, speed, "GB/s");
    say(std::string("ratio_") + codec.name, found, "");
    if (&codec == &codecs().front())
      say(std::string("ratio_fewest_") + codec.name, compression_ratio(own_fewest, codec, speed),
          "");
  }
  std::printf(
      "bench truncate: gigabytes_per_second=%.2f share_of_memcpy=%.3f transform=%.2f "
      "ratio=%.1f kept=%.3f\n",
      rounded.speed, rounded.speed / memory, transform, ratio, rounded.kept);
  return 0;
}
