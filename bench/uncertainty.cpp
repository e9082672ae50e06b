// SPDX-License-Identifier: BSD-3-Clause
// What does it cost to follow many series, for each sample of each of them and each lag, and how
// many autocorrelations are fitted in a second? Beside it, from the same run, what one pass per
// sample over the same sums costs, and how fast memory is read and written in their place. All are
// seconds of computing of one core.
//   bench_uncertainty [SERIES [LAGS [SAMPLES]]]
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "autocorrelation/series.hpp"
#include "known_series.hpp"
#include "uncertainty/mean_error.hpp"

namespace {

using namespace pillion::stages;
using namespace pillion::stages::uncertainty;
using namespace pillion::stages::autocorrelation;

constexpr int repetitions = 5;

double now() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds_of(const std::function<void()>& deed) {
  std::vector<double> times;
  for (int r = 0; r < repetitions; ++r) {
    const double begin = now();
    deed();
    times.push_back(now() - begin);
  }
  std::sort(times.begin(), times.end());
  return times[repetitions / 2];
}

void say(const char* name, double value, const char* unit) {
  std::printf("{\"bench\": \"uncertainty\", \"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\"}\n",
              name, value, unit);
}

struct Update {
  double ours = 0, simple = 0, memory = 0;  ///< ns per series, sample and lag; GB/s
};

/// `simple`: sums by lag that every sample passes over, for all series at once.
Update update(size_t series, size_t lags, int samples) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> values(series);
  for (double& v : values) v = normal(random);
  LaggedSeries all(lags);
  all.resize(series);
  const auto per = [&](double seconds) {
    return seconds * 1e9 / (static_cast<double>(series) * samples * static_cast<double>(lags + 1));
  };
  const auto take = [&] {
    for (int n = 0; n < samples; ++n) {
      all.take(0, series, values.data(), 1);
      all.advance();
    }
  };
  // Until batches are long, as they are for most of a run.
  while (all.batches().size < 64) take();
  Update out;
  out.ours = per(seconds_of(take));
  std::vector<double> sums(series * (lags + 1)), ring(series * (lags + 1));
  size_t newest = 0;
  out.simple = per(seconds_of([&] {
    for (int n = 0; n < samples; ++n) {
      newest = (newest + 1) % (lags + 1);
      std::copy(values.begin(), values.end(), &ring[newest * series]);
      for (size_t k = 0; k <= lags; ++k) {
        const double* then = &ring[(newest + lags + 1 - k) % (lags + 1) * series];
        double* sum = &sums[k * series];
        for (size_t s = 0; s < series; ++s) sum[s] += values[s] * then[s];
      }
    }
  }));
  // As much as is remembered of the series.
  std::vector<double> like(series * all.record_size(), sums[0]);
  const double factor = 1 + 1e-16 * sums[0];
  out.memory = static_cast<double>(16 * like.size()) * 1e-9 / seconds_of([&] {
                 for (double& x : like) x *= factor;
               });
  return out;
}

double fits_per_second(size_t series, size_t lags, int samples) {
  const auto x = bench::gathered({{{0.9, 1}}}, series, lags, samples, 3);
  ErrorOfMean error(samples, lags, 0.95);
  double sum = 0;
  const double seconds = seconds_of([&] {
    for (const auto& one : x) sum += error.of(one.view()).sigma;
  });
  if (!(sum > 0)) std::abort();
  return static_cast<double>(series) / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t series = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200000;
  const size_t lags = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 25;
  const int samples = argc > 3 ? std::atoi(argv[3]) : 64;
  const auto far = update(series, lags, samples);
  const auto near = update(512, lags, 4000);
  say("update", far.ours, "ns per series, sample and lag");
  say("update_in_cache", near.ours, "ns per series, sample and lag");
  say("one_pass_per_sample", far.simple, "ns per series, sample and lag");
  say("memory", far.memory, "GB/s, reading and writing in place");
  const double fits = fits_per_second(2000, lags, 2000);
  say("fits", fits, "1/s");
  // A pass reads and writes the sums, reads the ring and writes what has come.
  const double traffic =
      (16.0 + 8.0 + 24.0 * LaggedSeries::together / static_cast<double>(lags + 1)) /
      LaggedSeries::together;
  std::printf(
      "bench uncertainty: series=%zu lags=%zu update_ns=%.3f in_cache_ns=%.3f "
      "simple_over_ours=%.1f "
      "of_memory_speed=%.2f fits_per_s=%.0f\n",
      series, lags, far.ours, near.ours, far.simple / far.ours, traffic / far.ours / far.memory,
      fits);
}
