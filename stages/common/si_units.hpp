// SPDX-License-Identifier: BSD-3-Clause
// Units in terms of those of the SI, for formats that want numbers: km/s is 1000 of m/s, whose
// dimension is a length by a time.
#pragma once

#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>

#include "units.hpp"

namespace pillion::stages {

struct SiUnit {
  double factor = 1;
  /// Exponents of length, mass, time, current, temperature, amount of substance, luminosity.
  std::array<double, 7> dimension{};
};

namespace detail {

struct NamedUnit {
  double factor;
  std::array<double, 7> dimension;
  bool has_prefixes = false;
};

// Constants are those of CODATA 2018, a year is Julian. An hour is not among them, because h in
// units of cosmology is another thing.
inline const std::map<std::string, NamedUnit, std::less<>>& named_units() {
  static const std::map<std::string, NamedUnit, std::less<>> out{
      {"m", {1, {1}, true}},
      {"g", {1e-3, {0, 1}, true}},
      {"s", {1, {0, 0, 1}, true}},
      {"A", {1, {0, 0, 0, 1}, true}},
      {"K", {1, {0, 0, 0, 0, 1}, true}},
      {"mol", {1, {0, 0, 0, 0, 0, 1}, true}},
      {"cd", {1, {0, 0, 0, 0, 0, 0, 1}, true}},
      {"Hz", {1, {0, 0, -1}, true}},
      {"N", {1, {1, 1, -2}, true}},
      {"Pa", {1, {-1, 1, -2}, true}},
      {"J", {1, {2, 1, -2}, true}},
      {"W", {1, {2, 1, -3}, true}},
      {"C", {1, {0, 0, 1, 1}, true}},
      {"V", {1, {2, 1, -3, -1}, true}},
      {"T", {1, {0, 1, -2, -1}, true}},
      {"eV", {1.602176634e-19, {2, 1, -2}, true}},
      {"e", {1.602176634e-19, {0, 0, 1, 1}}},
      {"Da", {1.66053906660e-27, {0, 1}, true}},
      {"u", {1.66053906660e-27, {0, 1}}},
      {"amu", {1.66053906660e-27, {0, 1}}},
      {"Å", {1e-10, {1}}},
      {"\u212b", {1e-10, {1}}},
      {"angstrom", {1e-10, {1}}},
      {"Angstrom", {1e-10, {1}}},
      {"bohr", {5.29177210903e-11, {1}}},
      {"hartree", {4.3597447222071e-18, {2, 1, -2}}},
      {"pc", {3.0856775814913673e16, {1}, true}},
      {"bar", {1e5, {-1, 1, -2}, true}},
      {"atm", {101325, {-1, 1, -2}}},
      {"cal", {4.184, {2, 1, -2}, true}},
      {"erg", {1e-7, {2, 1, -2}}},
      {"dyn", {1e-5, {1, 1, -2}}},
      {"min", {60, {0, 0, 1}}},
      {"hour", {3600, {0, 0, 1}}},
      {"hours", {3600, {0, 0, 1}}},
      {"day", {86400, {0, 0, 1}}},
      {"days", {86400, {0, 0, 1}}},
      {"yr", {31557600, {0, 0, 1}, true}},
      {"rad", {1, {}, true}},
      {"deg", {std::numbers::pi / 180, {}}},
      {"degree", {std::numbers::pi / 180, {}}},
      {"degrees", {std::numbers::pi / 180, {}}},
      {"%", {0.01, {}}},
  };
  return out;
}

inline std::optional<NamedUnit> named_unit(std::string_view symbol) {
  const auto& known = named_units();
  if (const auto at = known.find(symbol); at != known.end()) return at->second;
  static const std::map<std::string_view, double> prefixes{
      {"P", 1e15},      {"T", 1e12}, {"G", 1e9},   {"M", 1e6},   {"k", 1e3},
      {"d", 1e-1},      {"c", 1e-2}, {"m", 1e-3},  {"u", 1e-6},  {"\u00b5", 1e-6},
      {"\u03bc", 1e-6}, {"n", 1e-9}, {"p", 1e-12}, {"f", 1e-15}, {"a", 1e-18}};
  for (const auto& [prefix, factor] : prefixes) {
    if (!symbol.starts_with(prefix)) continue;
    const auto at = known.find(symbol.substr(prefix.size()));
    if (at == known.end() || !at->second.has_prefixes) continue;
    auto out = at->second;
    out.factor *= factor;
    return out;
  }
  return std::nullopt;
}

}  // namespace detail

/// Nothing if a symbol is not known. A text without symbols has the dimension of a number.
inline std::optional<SiUnit> si_unit(const std::string& text) {
  SiUnit out;
  const Units units(text);
  for (const auto& [symbol, exponent] : units.factors()) {
    const auto unit = detail::named_unit(symbol);
    if (!unit) return std::nullopt;
    out.factor *= std::pow(unit->factor, exponent);
    for (size_t d = 0; d < out.dimension.size(); ++d)
      out.dimension[d] += exponent * unit->dimension[d];
  }
  return out;
}

}  // namespace pillion::stages
