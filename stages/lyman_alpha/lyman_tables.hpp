// SPDX-License-Identifier: BSD-3-Clause
// Flux statistics of the lines of sight, and their tables.
#pragma once

#include <fftw3.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <vector>

#include "../common/options.hpp"
#include "../common/rows.hpp"
#include "../common/tally.hpp"
#include "lyman_options.hpp"

namespace pillion::stages::lyman_alpha {

// What is measured of the transmitted flux F = exp(-tau): the factor that optical depths must be
// multiplied by for a given mean flux, and the power spectrum of a line.

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

// The products of `lyman_alpha`: what was measured along one axis, as tables, and the mean flux
// over time, which is kept.

/// Along one axis, of all peers.
struct Measured {
  char axis;
  Sight sight;
  int64_t lines = 0, not_usable = 0;
  double rescaling = 1, mean_flux = 1;

  [[nodiscard]] double effective_depth() const { return -std::log(mean_flux); }
};

inline Bins tau_bins_of(const stage::Setup& setup) {
  const auto count = setup["tau_bins"], range = setup["tau_range"];
  if (!range.is_list() || range.size() != 2)
    range.fail("expected [LOWEST, HIGHEST], not " + written(range));
  const double low = range[0].real(), high = range[1].real();
  if (!(low > 0 && low < high && std::isfinite(high)))
    range.fail("expected two numbers above 0, the lower one first, not " + written(range));
  const int64_t number = integer_from(count, 1, most_bins);
  Bins bins(low, high, number, Scale::log);
  if (!bins.distinct()) count.fail("too many bins for this range: their edges coincide");
  return bins;
}

inline void describe(stage::Table& table, const Measured& found) {
  table.attribute("mean_flux", found.mean_flux);
  table.attribute("effective_optical_depth", found.effective_depth());
  table.attribute("rescaling", found.rescaling);
  table.attribute("lines", static_cast<double>(found.lines));
  table.attribute("velocity_length", found.sight.velocity, "km/s");
  table.attribute("comoving_length", found.sight.length, "Mpc");
  if (found.not_usable > 0) table.attribute("not_usable", static_cast<double>(found.not_usable));
}

/// Distribution of optical depth or flux over all pixels.
inline stage::Table table_of(const Tally& tally, const std::string& what, const Measured& found) {
  const auto& edges = tally.axes()[0].edges();
  const bool log = tally.axes()[0].scale() == Scale::log;
  stage::Table out("lyman_alpha_" + what + "_" + found.axis,
                   (log ? "Lyman-alpha optical depth along " : "Lyman-alpha flux along ") +
                       std::string(1, found.axis));
  out.column("lower", "", std::vector<double>(edges.begin(), edges.end() - 1));
  out.column("upper", "", std::vector<double>(edges.begin() + 1, edges.end()));
  out.column("count", "", tally.in_bins()).role(PILLION_COLUMN_COUNT);
  out.column("density", "", of_bins(tally, density_of(tally, tally.counts(), units_of)));
  if (log)
    out.column("density_per_dex", "",
               of_bins(tally, density_of(tally, tally.counts(), decades_of)));
  out.attribute("below", static_cast<double>(tally.below()));
  out.attribute("above", static_cast<double>(tally.above()));
  out.attribute("scale", log ? "log" : "linear");
  describe(out, found);
  return out.per_step();
}

/// Power spectrum of F / <F> - 1 along lines, from sums of |DFT(F)|^2 for n = 1, 2, ….
inline stage::Table table_of(const std::vector<double>& sums, const Measured& found) {
  const auto cells = static_cast<double>(found.sight.cells);
  const double scale =
      1 / (cells * cells * static_cast<double>(found.lines) * found.mean_flux * found.mean_flux);
  std::vector<double> k, power, dimensionless, comoving_k, comoving_power;
  for (size_t n = 0; n < sums.size(); ++n) {
    const double turns = 2 * std::numbers::pi * static_cast<double>(n + 1);
    k.push_back(turns / found.sight.velocity);
    comoving_k.push_back(turns / found.sight.length);
    power.push_back(sums[n] * scale * found.sight.velocity);
    comoving_power.push_back(sums[n] * scale * found.sight.length);
    dimensionless.push_back(k.back() * power.back() / std::numbers::pi);
  }
  stage::Table out("lyman_alpha_power_" + std::string(1, found.axis),
                   "Lyman-alpha flux power spectrum along " + std::string(1, found.axis));
  out.column("k", "s/km", k).column("power", "km/s", power);
  out.column("dimensionless", "", dimensionless);
  out.column("k_comoving", "1/Mpc", comoving_k).column("power_comoving", "Mpc", comoving_power);
  out.attribute("scale", "log");
  describe(out, found);
  return out.per_step();
}

/// Mean flux over time: a row per publication, with the values of each axis.
class FluxHistory {
 public:
  explicit FluxHistory(size_t axes) : axes_(axes) {}

  void begin(const stage::Step& step, double redshift) {
    rows_.add("step", "", step.index());
    rows_.add("time", step.units("time"), step.time());
    rows_.add("redshift", "", redshift);
  }
  void add(const Measured& found) {
    const std::string ending = std::string("_") + found.axis;
    rows_.add("flux" + ending, "", found.mean_flux);
    rows_.add("effective" + ending, "", -std::log(found.mean_flux));
    rows_.add("rescaling" + ending, "", found.rescaling);
  }
  void end() { rows_.end_row(); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  [[nodiscard]] stage::Table table() const {
    stage::Table out("lyman_alpha", "Lyman-alpha mean flux");
    rows_.put_into(out);
    return out;
  }

  void save(const stage::State& state) const { rows_.save(state); }
  void restore(const stage::State& state) {
    rows_.restore(state);
    if (!rows_.empty() && rows_.columns() != 3 + 3 * axes_)
      throw Error(ErrorCode::Configuration, "the saved mean flux is of another number of axes");
  }

 private:
  size_t axes_;
  Rows rows_;
};

}  // namespace pillion::stages::lyman_alpha
