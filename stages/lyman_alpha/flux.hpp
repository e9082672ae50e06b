// SPDX-License-Identifier: BSD-3-Clause
// What is measured of the transmitted flux F = exp(-tau): the factor that optical depths must be
// multiplied by for a given mean flux, and the power spectrum of a line.
#pragma once

#include <fftw3.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace pillion::stages {

/// Means over all pixels of exp(-A tau) and of A tau exp(-A tau), by which the former falls with
/// ln A.
struct MeanFlux {
  double flux, slope;
};

/// The A for which the mean flux is `wanted`, by Newton's method in ln A, kept between bounds that
/// close in; nothing if there is none. `evaluate(A)` gives a MeanFlux.
template <class F>
std::optional<double> rescaling_for(double wanted, F&& evaluate) {
  constexpr double least = 1e-30, greatest = 1e30;
  double low = 0, high = std::numeric_limits<double>::infinity(), factor = 1;
  for (int i = 0; i < 300; ++i) {
    const MeanFlux mean = evaluate(factor);
    if (std::abs(mean.flux - wanted) <= 1e-15) return factor;
    (mean.flux > wanted ? low : high) = factor;
    double next = factor * std::exp(std::clamp((mean.flux - wanted) / mean.slope, -3.0, 3.0));
    if (!(next > low && next < high))
      next = low == 0 ? high / 10 : std::isinf(high) ? low * 10 : std::sqrt(low * high);
    if (std::abs(next - factor) <= 1e-14 * factor) return next;
    if (next < least || next > greatest) return {};
    factor = next;
  }
  return factor;
}

/// Adds up |sum F exp(-2 pi i n x / N)|^2 of lines, for n from 1 to N / 2.
class LinePower {
 public:
  explicit LinePower(int64_t cells)
      : sums_(static_cast<size_t>(cells / 2)),
        line_(fftw_alloc_real(static_cast<size_t>(cells))),
        waves_(reinterpret_cast<Complex*>(fftw_alloc_complex(static_cast<size_t>(cells / 2 + 1)))),
        // Measuring would make the last digits depend on the machine's mood.
        plan_(fftw_plan_dft_r2c_1d(static_cast<int>(cells), line_.get(),
                                   reinterpret_cast<fftw_complex*>(waves_.get()), FFTW_ESTIMATE)) {}

  void add(std::span<const double> flux) {
    std::copy(flux.begin(), flux.end(), line_.get());
    fftw_execute(plan_.get());
    for (size_t n = 0; n < sums_.size(); ++n) sums_[n] += std::norm(waves_.get()[n + 1]);
  }
  [[nodiscard]] std::vector<double>& sums() { return sums_; }

 private:
  using Complex = std::complex<double>;
  struct Free {
    void operator()(void* memory) const { fftw_free(memory); }
    void operator()(fftw_plan_s* plan) const { fftw_destroy_plan(plan); }
  };
  std::vector<double> sums_;
  std::unique_ptr<double, Free> line_;
  std::unique_ptr<Complex, Free> waves_;
  std::unique_ptr<fftw_plan_s, Free> plan_;
};

}  // namespace pillion::stages
