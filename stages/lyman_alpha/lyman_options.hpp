// SPDX-License-Identifier: BSD-3-Clause
// The parameters of `lyman_alpha`, and the cosmology that they give.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <pillion/stage.hpp>
#include <set>
#include <string>
#include <vector>

#include "../common/options.hpp"
#include "../common/units.hpp"

namespace pillion::stages::lyman_alpha {

// Constants of nature (CODATA 2022, exact ones among them) and what follows from them and from the
// cosmological parameters: the expansion rate, and velocities and optical depths of a line of
// sight.

namespace nature {
constexpr double electron_charge = 1.602176634e-19;       // C
constexpr double electron_mass = 9.1093837139e-31;        // kg
constexpr double proton_mass = 1.67262192595e-27;         // kg
constexpr double light_speed = 2.99792458e8;              // m/s
constexpr double vacuum_permittivity = 8.8541878188e-12;  // F/m
constexpr double boltzmann = 1.380649e-23;                // J/K
constexpr double megaparsec = 3.0856775814913673e22;      // m
constexpr double lyman_alpha = 1215.67e-10;               // m
constexpr double oscillator_strength = 0.41641;
/// pi e^2 f / (m_e c) in Gaussian units, as m^2 Hz.
constexpr double cross_section = electron_charge * electron_charge * oscillator_strength /
                                 (4 * vacuum_permittivity * electron_mass * light_speed);
}  // namespace nature

struct Cosmology {
  double omega_m, omega_lambda, h;

  /// In km/s/Mpc, with what is missing to a flat space as curvature.
  [[nodiscard]] double hubble(double scale_factor) const {
    const double z1 = 1 / scale_factor, curvature = 1 - omega_m - omega_lambda;
    return 100 * h * std::sqrt(omega_m * z1 * z1 * z1 + curvature * z1 * z1 + omega_lambda);
  }
};

/// Thermal Doppler parameter of hydrogen at 1 K, in km/s; it goes with the root of temperature.
inline double doppler_of_kelvin() {
  return std::sqrt(2 * nature::boltzmann / nature::proton_mass) / 1000;
}

/// A line of sight through the whole mesh.
struct Sight {
  int64_t cells;
  double length;    ///< comoving, in Mpc
  double velocity;  ///< Hubble flow over it, in km/s
  /// Optical depth times pixels of one hydrogen atom per cm^3 in one cell.
  double strength;
};

inline Sight sight_of(const Cosmology& cosmology, double scale_factor, int64_t cells,
                      double length) {
  const double hubble = cosmology.hubble(scale_factor);
  const double per_second = hubble * 1000 / nature::megaparsec;
  return {cells, length, hubble * scale_factor * length,
          1e6 * nature::cross_section * nature::lyman_alpha / per_second};
}

// Reading the parameters of `lyman_alpha`: fields and their units, the cosmology, and what the
// time of a step means. Units that are known while setting up are checked then.

/// What a quantity may be measured in: units as Units writes them, and their size.
using KnownUnits = std::map<std::string, double>;

inline const KnownUnits number_densities = {{"1/cm^3", 1}, {"1/m^3", 1e-6}};
inline const KnownUnits temperatures = {{"K", 1}};
inline const KnownUnits velocities = {{"km/s", 1}, {"m/s", 1e-3}, {"cm/s", 1e-5}};

/// The size of units, nothing if they are none of these; without units it is 1.
inline std::optional<double> size_of_units(const std::string& units, const KnownUnits& known) {
  if (units.empty()) return 1;
  const auto at = known.find(Units(units).text());
  if (at == known.end()) return {};
  return at->second;
}

inline std::string listed(const KnownUnits& known) {
  std::string out;
  for (const auto& [text, size] : known) out += (out.empty() ? "" : ", ") + text;
  return out;
}

/// Comoving Mpc of a unit of length, which may be divided by h.
inline std::optional<double> megaparsecs(const std::string& units, double h) {
  static const KnownUnits lengths = {{"Mpc", 1},
                                     {"kpc", 1e-3},
                                     {"Gpc", 1e3},
                                     {"pc", 1e-6},
                                     {"m", 1 / nature::megaparsec},
                                     {"cm", 1e-2 / nature::megaparsec},
                                     {"km", 1e3 / nature::megaparsec}};
  const Units given(units), times_h = given * Units("h");
  if (const auto at = lengths.find(given.text()); at != lengths.end()) return at->second;
  if (const auto at = lengths.find(times_h.text()); at != lengths.end()) return at->second / h;
  return {};
}

inline std::string unknown_length(const std::string& units) {
  return units.empty() ? "the mesh has no units of length; give `length_units`, such as Mpc/h"
                       : "lengths in '" + units +
                             "' are none that are known: pc, kpc, Mpc, Gpc, cm, m, km, or one of "
                             "these over h, such as Mpc/h; give `length_units`";
}

inline Cosmology cosmology_of(const stage::Setup& setup) {
  const double omega_m = setup["omega_m"].real(), h = setup["h"].real();
  if (!(omega_m >= 0) || !std::isfinite(omega_m))
    setup["omega_m"].fail("expected at least 0, not " + setup["omega_m"].text());
  if (!(h > 0) || !std::isfinite(h))
    setup["h"].fail("expected a number above 0, such as 0.7, not " + setup["h"].text());
  const auto given = setup["omega_lambda"];
  const double omega_lambda = given ? given.real() : 1 - omega_m;
  if (!std::isfinite(omega_lambda)) given.fail("expected a finite number");
  return {omega_m, omega_lambda, h};
}

/// How to know the redshift of a step.
struct Epoch {
  enum { scale_factor, redshift, constant } meaning = constant;
  double at = 0;  ///< if constant

  /// Scale factor; not a number above 0 if the time makes no sense.
  [[nodiscard]] double scale_at(double time) const {
    if (meaning == scale_factor) return time;
    return 1 / (1 + (meaning == redshift ? time : at));
  }
};

inline Epoch epoch_of(const stage::Setup& setup) {
  const auto meaning = setup["time_is"], constant = setup["redshift"];
  if (static_cast<bool>(meaning) == static_cast<bool>(constant))
    (meaning ? meaning : setup.parameters())
        .fail(
            "say either what the time of a step is, `time_is: scale_factor` or `time_is: "
            "redshift`, or a constant `redshift`");
  Epoch epoch;
  if (meaning) {
    epoch.meaning =
        choice(meaning, {"scale_factor", "redshift"}) == 0 ? Epoch::scale_factor : Epoch::redshift;
  } else {
    epoch.at = constant.real();
    if (!(epoch.at > -1) || !std::isfinite(epoch.at))
      constant.fail("expected a number above -1, not " + constant.text());
  }
  return epoch;
}

/// Axes of a mesh by letter; all of them by default. Lines of sight must be periodic.
inline std::vector<int32_t> axes_of(const stage::Value& list,
                                    const pillion_field_description& field) {
  std::vector<int32_t> out;
  if (!list)
    for (int32_t a = 0; a < field.axes; ++a) out.push_back(a);
  std::set<std::string> seen;
  for (const auto& name : list ? list.texts() : std::vector<std::string>{}) {
    const auto axis = static_cast<int32_t>(std::string("xyz").find(name));
    if (name.size() != 1 || axis < 0 || axis >= field.axes)
      list.fail("'" + name + "' is not an axis of mesh '" + field.mesh + "'; its axes are " +
                (field.axes == 3   ? "x, y and z"
                 : field.axes == 2 ? "x and y"
                                   : "x"));
    if (!seen.insert(name).second) list.fail("axis '" + name + "' is listed twice");
    out.push_back(axis);
  }
  if (out.empty()) list.fail("no axes are listed");
  for (const int32_t axis : out)
    if (field.periodic[axis] == 0)
      list.fail("mesh '" + std::string(field.mesh) + "' is not periodic along " + "xyz"[axis] +
                ", and lines of sight must be");
  return out;
}

}  // namespace pillion::stages::lyman_alpha
