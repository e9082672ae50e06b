// SPDX-License-Identifier: BSD-3-Clause
// The gas on this rank's lines of sight: reading it, and what it absorbs.
#pragma once

#include <cmath>
#include <cstdint>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <vector>

#include "absorption.hpp"
#include "lyman_options.hpp"

namespace pillion::stages {

/// The lines of a block of pencils.
class Rows {
 public:
  Rows(const stage::Block& block, int axis)
      : first_(axis == 0 ? 1 : 0),
        second_(axis == 2 ? 1 : 2),
        across_(block.hi()[first_] - block.lo()[first_]),
        count_(across_ * (block.hi()[second_] - block.lo()[second_])) {}

  [[nodiscard]] int64_t count() const { return count_; }
  /// Where the first element of a line is.
  [[nodiscard]] int64_t start(int64_t line, const int64_t* strides) const {
    return line % across_ * strides[first_] + line / across_ * strides[second_];
  }

 private:
  int first_, second_;  ///< axes across
  int64_t across_, count_;
};

/// Optical depths, and later fluxes, of this peer's lines, one after the other.
struct Lines {
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
      const Rows rows(block, axis);
      for (int64_t line = 0; line < rows.count(); ++line) {
        double* at = to + rows.start(line, strides);
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

  [[nodiscard]] Lines absorb(const stage::Step& step, int32_t input, int axis,
                             const Sight& sight) const {
    Lines out;
    out.cells = sight.cells;
    std::vector<double> units;
    for (size_t f = 0; f < names_.size(); ++f) units.push_back(unit_of(step, f));
    const double cell = sight.velocity / static_cast<double>(sight.cells);
    const double scale[3] = {units[0] * sight.strength, doppler_of_kelvin() / cell,
                             units[2] / cell};
    Absorption absorption(sight.cells);
    for (int32_t b = 0; b < step.block_count(input); ++b)
      absorb(step.block(input, b), axis, scale, absorption, out);
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

  /// One line of a component, in doubles.
  static void read(const stage::Array& array, int32_t component, const Rows& rows, int64_t line,
                   int axis, std::vector<double>& values) {
    const auto& strides = array.strides;
    array.visit([&](const auto* data) {
      data += rows.start(line, strides) + component * strides[3];
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<double>(data[static_cast<int64_t>(i) * strides[axis]]);
    });
  }

  static void absorb(const stage::Block& block, int axis, const double (&scale)[3],
                     Absorption& absorption, Lines& out) {
    const Rows rows(block, axis);
    const auto cells = static_cast<size_t>(out.cells);
    std::vector<double> density(cells), heat(cells), speed(cells);
    out.tau.resize(static_cast<size_t>(out.count + rows.count()) * cells);
    for (int64_t line = 0; line < rows.count(); ++line, ++out.count) {
      read(block[0], 0, rows, line, axis, density);
      read(block[1], 0, rows, line, axis, heat);
      read(block[2], axis, rows, line, axis, speed);
      const std::span tau(out.tau.data() + static_cast<size_t>(out.count) * cells, cells);
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

}  // namespace pillion::stages
