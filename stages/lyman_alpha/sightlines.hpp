// SPDX-License-Identifier: BSD-3-Clause
// Optical depths along lines of sight: absorption by each cell, with a table of the error function.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <vector>

#include "../common/cells.hpp"
#include "lyman_options.hpp"

namespace pillion::stages::lyman_alpha {

// The error function, fast: a Taylor polynomial about the middle of the interval that the argument
// is in. It is right to 4e-16, which is what a difference of two values near 1 can have at best.

class ErfTable {
 public:
  /// From here on erf is 1 in double precision, for erfc(6) = 2e-17.
  static constexpr double end = 6;

  ErfTable() : polynomials_(static_cast<size_t>(2 * end * per_unit) + 2) {
    for (size_t i = 0; i < polynomials_.size(); ++i) polynomials_[i] = about(middle(i));
  }

  /// erf(x), for x between -end and end, or beyond by rounding.
  double operator()(double x) const {
    const auto i = static_cast<int32_t>((x + end) * per_unit + 0.5);
    const double d = x - middle(static_cast<size_t>(i));
    const auto& c = polynomials_[static_cast<size_t>(i)];
    // In pairs, so that additions need not wait for each other.
    const double dd = d * d, d4 = dd * dd;
    const double low = (c[0] + c[1] * d) + (c[2] + c[3] * d) * dd;
    const double high = (c[4] + c[5] * d) + (c[6] + c[7] * d) * dd;
    return low + high * d4;
  }

 private:
  static constexpr double per_unit = 32;
  using Polynomial = std::array<double, 8>;

  static double middle(size_t i) { return static_cast<double>(i) / per_unit - end; }

  /// Coefficients of erf about x, from erf'' = -2 x erf'.
  static Polynomial about(double x) {
    Polynomial c{std::erf(x), 2 * std::numbers::inv_sqrtpi * std::exp(-x * x)};
    for (size_t k = 0; k + 2 < c.size(); ++k) {
      const auto n = static_cast<double>(k);
      c[k + 2] = -2 * (x * (n + 1) * c[k + 1] + n * c[k]) / ((n + 2) * (n + 1));
    }
    return c;
  }

  std::vector<Polynomial> polynomials_;
};

// Optical depth along one line of sight, periodic in velocity. The gas of a cell is spread evenly
// over the cell and broadened to a Gaussian, so that each pixel gets a difference of two error
// functions; those of neighbouring pixels share one, and each is evaluated once.

class Absorption {
 public:
  explicit Absorption(int64_t cells)
      : cells_(cells), steps_(static_cast<size_t>(2 * 2 * ErfTable::end) * cells + 4) {}

  /// Adds to `tau` what one cell absorbs: `strength` is the optical depth times pixels of all of
  /// it. `width` (the Doppler parameter) and `velocity` are in cells. A velocity above 0 moves the
  /// gas to higher pixels.
  void add(int64_t cell, double strength, double width, double velocity, std::span<double> tau) {
    // Seen from so far the images of a line make a constant, to 17 digits.
    if (width >= 2 * static_cast<double>(cells_)) return add_evenly(strength, tau);
    const double shift = std::fmod(velocity, static_cast<double>(cells_));
    // Of a line thinner than this, no pixel but its own sees anything.
    const double b = std::max(width, 1e-9), reach = ErfTable::end * b;
    const auto first = static_cast<int64_t>(std::ceil(shift - reach - 0.5));
    const auto last = static_cast<int64_t>(std::floor(shift + reach + 0.5));
    const int64_t count = last - first + 1;
    const double per_width = 1 / b;
    // Beyond `reach` erf is 1, so what the pixels get adds up to the whole.
    steps_[0] = -1;
    for (int64_t p = 1; p < count; ++p)
      steps_[p] = erf_((static_cast<double>(first + p) - 0.5 - shift) * per_width);
    steps_[count] = 1;
    spread(cell + first, count, strength / 2, tau);
  }

 private:
  void add_evenly(double strength, std::span<double> tau) const {
    for (double& t : tau) t += strength / static_cast<double>(cells_);
  }
  /// Adds differences of steps_ from pixel `first` on, round and round.
  void spread(int64_t first, int64_t count, double half, std::span<double> tau) const {
    int64_t pixel = first % cells_;
    if (pixel < 0) pixel += cells_;
    const double* step = steps_.data();
    while (count > 0) {
      const int64_t run = std::min(count, cells_ - pixel);
      double* to = tau.data() + pixel;
      for (int64_t p = 0; p < run; ++p) to[p] += half * std::max(0.0, step[p + 1] - step[p]);
      step += run;
      count -= run;
      pixel = 0;
    }
  }

  int64_t cells_;
  std::vector<double> steps_;
  ErfTable erf_;
};

// The gas on this rank's lines of sight: reading it, and what it absorbs.

/// This peer's lines along an axis. They may come in parts, each with values where they lie, so
/// that values on this rank need no copy.
class Pencil {
 public:
  Pencil(const stage::Step& step, int32_t input, int axis)
      : axis_(axis), first_(axis == 0 ? 1 : 0), second_(axis == 2 ? 1 : 2) {
    for (int32_t b = 0; b < step.block_count(input); ++b) blocks_.push_back(step.block(input, b));
    if (blocks_.empty()) return;
    std::copy_n(blocks_[0].inner_lo(), 3, lo_.begin());
    std::copy_n(blocks_[0].inner_hi(), 3, hi_.begin());
    starts_.assign(static_cast<size_t>(count()) + 1, 0);
    for_each_line([&](size_t line, int32_t) { ++starts_[line + 1]; });
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    parts_.resize(static_cast<size_t>(starts_.back()));
    auto next = starts_;
    for_each_line(
        [&](size_t line, int32_t part) { parts_[static_cast<size_t>(next[line]++)] = part; });
  }

  [[nodiscard]] int64_t across() const { return hi_[first_] - lo_[first_]; }
  [[nodiscard]] int64_t count() const { return across() * (hi_[second_] - lo_[second_]); }
  /// Where the first element of a line is, in an array of all lines.
  [[nodiscard]] int64_t start(int64_t line, const int64_t* strides) const {
    return line % across() * strides[first_] + line / across() * strides[second_];
  }
  /// One line of a component of a field, in doubles.
  void read(int32_t field, int32_t component, int64_t line, std::span<double> values) const {
    const int64_t i = lo_[first_] + line % across(), j = lo_[second_] + line / across();
    for (auto n = starts_[static_cast<size_t>(line)]; n < starts_[static_cast<size_t>(line) + 1];
         ++n) {
      const auto& block = blocks_[static_cast<size_t>(parts_[static_cast<size_t>(n)])];
      const auto& array = block[field];
      const auto& strides = array.strides;
      const int64_t from = block.lo()[axis_], size = block.hi()[axis_] - from;
      array.visit([&](const auto* data) {
        data += (i - block.lo()[first_]) * strides[first_] +
                (j - block.lo()[second_]) * strides[second_] + component * strides[3];
        for (int64_t c = 0; c < size; ++c)
          values[static_cast<size_t>(from + c)] = static_cast<double>(data[c * strides[axis_]]);
      });
    }
  }

 private:
  /// Calls body(line, part) for each line that a part has a stretch of.
  template <class Body>
  void for_each_line(Body&& body) const {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const auto* lo = blocks_[b].lo();
      const auto* hi = blocks_[b].hi();
      for (int64_t j = lo[second_]; j < hi[second_]; ++j)
        for (int64_t i = lo[first_]; i < hi[first_]; ++i)
          body(static_cast<size_t>(i - lo_[first_] + (j - lo_[second_]) * across()),
               static_cast<int32_t>(b));
    }
  }

  int axis_, first_, second_;
  std::array<int64_t, 3> lo_{}, hi_{};
  std::vector<stage::Block> blocks_;
  std::vector<int64_t> starts_;  ///< by line: of its parts
  std::vector<int32_t> parts_;
};

/// Optical depths, and later fluxes, of this peer's lines, one after the other.
struct Sightlines {
  int64_t cells = 0, count = 0, not_usable = 0;
  std::vector<double> tau;

  [[nodiscard]] std::span<const double> of(int64_t line) const {
    return {tau.data() + line * cells, static_cast<size_t>(cells)};
  }
  /// Copies them into the field that is made on the pencils.
  void give(const stage::Step& step, int32_t output, int32_t input, int axis) const {
    const double* from = tau.data();
    for (int32_t b = 0; b < step.block_count(input); ++b) {
      const auto block = step.block(input, b);
      const int64_t nx = block.hi()[0] - block.lo()[0], ny = block.hi()[1] - block.lo()[1];
      const int64_t strides[3] = {1, nx, nx * ny};
      auto* to = step.produce<double>(output, input, b);
      const Pencil pencil(step, input, axis);
      for (int64_t line = 0; line < pencil.count(); ++line) {
        double* at = to + pencil.start(line, strides);
        for (int64_t i = 0; i < cells; ++i) at[i * strides[axis]] = *from++;
      }
    }
  }
};

/// The three fields.
class Gas {
 public:
  explicit Gas(const stage::Setup& setup) {
    add(setup, "neutral_hydrogen", 1, number_densities);
    add(setup, "temperature", 1, temperatures);
    add(setup, "velocity", 3, velocities);
    mesh_ = field_of(setup, "neutral_hydrogen", 1, Numbers::real);
    mesh_name_ = mesh_.mesh;
    expect_equal_cells(mesh_, setup["neutral_hydrogen"], "a sight line in velocity");
    if (mesh_.mesh_kind != PILLION_UNIFORM)
      setup["neutral_hydrogen"].fail("field '" + names_[0] + "' is not on a uniform mesh");
    for (const char* other : {"temperature", "velocity"})
      if (field_of(setup, other, 0, Numbers::real).mesh != mesh_name_)
        setup[other].fail("field '" + setup[other].text() + "' is not on mesh '" + mesh_name_ +
                          "', as '" + names_[0] + "' is");
  }

  [[nodiscard]] const std::vector<std::string>& fields() const { return names_; }
  [[nodiscard]] const pillion_field_description& mesh() const { return mesh_; }
  [[nodiscard]] const std::string& mesh_name() const { return mesh_name_; }

  [[nodiscard]] Sightlines absorb(const stage::Step& step, int32_t input, int axis,
                                  const Sight& sight) const {
    Sightlines out;
    out.cells = sight.cells;
    std::vector<double> units;
    for (size_t f = 0; f < names_.size(); ++f) units.push_back(unit_of(step, f));
    const double cell = sight.velocity / static_cast<double>(sight.cells);
    const double scale[3] = {units[0] * sight.strength, doppler_of_kelvin() / cell,
                             units[2] / cell};
    absorb(Pencil(step, input, axis), axis, scale, out);
    return out;
  }

 private:
  void add(const stage::Setup& setup, const std::string& parameter, int32_t components,
           const KnownUnits& known) {
    const auto field = field_of(setup, parameter, components, Numbers::real);
    if (!size_of_units(field.units, known))
      setup[parameter].fail("field '" + setup[parameter].text() + "' (parameter '" + parameter +
                            "') is in " + field.units + "; it must be in one of: " + listed(known));
    names_.push_back(setup[parameter].text());
    known_.push_back(&known);
  }
  [[nodiscard]] double unit_of(const stage::Step& step, size_t field) const {
    const auto units = step.units(names_[field]);
    if (const auto size = size_of_units(units, *known_[field])) return *size;
    throw Error(ErrorCode::Stage, "field '" + names_[field] + "' is in " + units +
                                      "; it must be in one of: " + listed(*known_[field]));
  }

  static void absorb(const Pencil& pencil, int axis, const double (&scale)[3], Sightlines& out) {
    Absorption absorption(out.cells);
    const auto cells = static_cast<size_t>(out.cells);
    std::vector<double> density(cells), heat(cells), speed(cells);
    out.count = pencil.count();
    out.tau.resize(static_cast<size_t>(out.count) * cells);
    for (int64_t line = 0; line < out.count; ++line) {
      pencil.read(0, 0, line, density);
      pencil.read(1, 0, line, heat);
      pencil.read(2, axis, line, speed);
      const std::span tau(out.tau.data() + static_cast<size_t>(line) * cells, cells);
      for (size_t i = 0; i < cells; ++i) {
        const double strength = density[i] * scale[0], velocity = speed[i] * scale[2];
        const bool usable = strength >= 0 && heat[i] >= 0 && std::isfinite(strength) &&
                            std::isfinite(heat[i]) && std::isfinite(velocity);
        if (!usable) ++out.not_usable;
        else if (strength > 0)
          absorption.add(static_cast<int64_t>(i), strength, std::sqrt(heat[i]) * scale[1], velocity,
                         tau);
      }
    }
  }

  std::vector<std::string> names_;
  std::vector<const KnownUnits*> known_;
  pillion_field_description mesh_{};
  std::string mesh_name_;
};

}  // namespace pillion::stages::lyman_alpha
