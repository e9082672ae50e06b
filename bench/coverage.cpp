// SPDX-License-Identifier: BSD-3-Clause
// How often does the 95 % interval of `uncertainty` hold the true mean, and is its variance right
// on average? Series of several kinds and lengths whose true mean is 0, of many seeds; beside
// it what batch means say, and what a fit of two decays without measures against noise would.
//   bench_coverage [SERIES]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "known_series.hpp"

namespace {

using namespace pillion::stages;
using namespace pillion::stages::uncertainty;

struct Case {
  const char* name;
  bench::Parts parts;
  int samples;
  size_t lags;
};

const std::vector<Case> cases = {
    {"white noise", {{0, 1}}, 1000, 25},
    {"AR(1) 0.5", {{0.5, 1}}, 500, 25},
    {"AR(1) 0.5", {{0.5, 1}}, 2000, 25},
    {"AR(1) 0.5", {{0.5, 1}}, 10000, 50},
    {"AR(1) 0.8", {{0.8, 1}}, 500, 25},
    {"AR(1) 0.9", {{0.9, 1}}, 2000, 50},
    {"AR(1) 0.9", {{0.9, 1}}, 10000, 50},
    {"AR(1) 0.98", {{0.98, 1}}, 5000, 25},
    {"AR(1) 0.98", {{0.98, 1}}, 20000, 50},
    {"0.7 of 0.5, 0.3 of 0.95", {{0.5, 0.7}, {0.95, 0.3}}, 2000, 50},
    {"0.7 of 0.5, 0.3 of 0.95", {{0.5, 0.7}, {0.95, 0.3}}, 10000, 50},
    {"0.9 of 0.3, 0.1 of 0.95", {{0.3, 0.9}, {0.95, 0.1}}, 10000, 50},
    {"oscillation 0.95, 0.3", {{0.95, 1, 0.3}}, 5000, 50},
    {"AR(1) 0.999", {{0.999, 1}}, 20000, 25},
};

struct Tally {
  double variance = 0;
  int covered = 0;
  void add(double mean, double v, double reach) {
    variance += v;
    covered += std::abs(mean) <= reach ? 1 : 0;
  }
};

/// Two decays, fitted to the biased estimate as it is, and a normal interval.
double plain_variance(const bench::One& one, int samples, const RateBounds& bounds,
                      const Rates& rates) {
  std::vector<double> rho;
  for (size_t k = 1; k < one.covariance.size(); ++k)
    rho.push_back(one.covariance[k] / one.covariance[0]);
  const auto fit = fit_decay(rho.data(), rho.size(), bounds, rates.best(rho.data()).two, false);
  return one.covariance[0] / samples * inefficiency(fit.decay, samples);
}

void measure(const Case& c, size_t count) {
  constexpr unsigned seeds = 4;
  const RateBounds bounds(c.lags, 1e6);
  const Rates rates(c.lags, bounds);
  ErrorOfMean error(c.samples, c.lags, 0.95);
  const double truth = bench::variance_of_mean(c.parts, c.samples), z = normal_reach(0.95);
  Tally ours, batches, plain;
  int fitted = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed)
    for (const auto& one : bench::gathered(c.parts, count / seeds, c.lags, c.samples, seed)) {
      const auto found = error.of(one.view());
      ours.add(one.mean, found.sigma * found.sigma, found.reach);
      fitted += found.verdict == Verdict::fitted ? 1 : 0;
      batches.add(one.mean, one.batch_variance,
                  student_reach(z, one.batches - 1) * std::sqrt(one.batch_variance));
      const double v = plain_variance(one, c.samples, bounds, rates);
      plain.add(one.mean, v, z * std::sqrt(v));
    }
  const double n = static_cast<double>(count / seeds * seeds);
  std::printf(
      "{\"bench\": \"coverage\", \"series\": \"%s\", \"samples\": %d, \"lags\": %zu, "
      "\"independent\": %.0f, \"covered\": %.3f, \"variance\": %.3f, \"fitted\": %.3f, "
      "\"batches_covered\": %.3f, \"batches_variance\": %.3f, \"plain_covered\": %.3f, "
      "\"plain_variance\": %.3g}\n",
      c.name, c.samples, c.lags, 1 / truth, ours.covered / n, ours.variance / n / truth, fitted / n,
      batches.covered / n, batches.variance / n / truth, plain.covered / n,
      plain.variance / n / truth);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2000;
  for (const auto& c : cases) measure(c, count);
  std::printf("bench coverage: series=%zu cases=%zu\n", count, cases.size());
}
