// SPDX-License-Identifier: BSD-3-Clause
// The header has columns of fixed width, as Nek's own output has: readers go by words, and some by
// columns.
#include "format.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <pillion/error.hpp>

namespace pillion::stages::write_nek {

namespace {

Part all_components(int32_t field, int32_t components) {
  Part out;
  for (int32_t c = 0; c < components; ++c) out.push_back({field, c});
  return out;
}

// The place for a field by its name; nullptr of other names.
Part* place_by_name(Places& places, const std::string& name) {
  if (name == "velocity") return &places.velocity;
  if (name == "pressure") return &places.pressure;
  return name == "temperature" ? &places.temperature : nullptr;
}

std::string folder(const std::string& name) { return name + "_nek/"; }

}  // namespace

Places places_of(const std::vector<Named>& fields, int32_t axes) {
  Places out;
  std::vector<int32_t> others;
  for (size_t f = 0; f < fields.size(); ++f) {
    const auto& [name, components] = fields[f];
    Part* place = place_by_name(out, name);
    const int32_t wanted = name == "velocity" ? axes : 1;
    if (place == nullptr) others.push_back(static_cast<int32_t>(f));
    else if (components == wanted) *place = all_components(static_cast<int32_t>(f), components);
    else
      throw Error(ErrorCode::Configuration,
                  "field '" + name + "' has " + std::to_string(components) +
                      " components, and field files of Nek5000 have " + std::to_string(wanted) +
                      " in its place; give the field another name");
  }
  for (const int32_t f : others) {
    const int32_t components = fields[static_cast<size_t>(f)].components;
    if (out.velocity.empty() && components == axes) {
      out.velocity = all_components(f, components);
      continue;
    }
    for (int32_t c = 0; c < components; ++c) out.scalars.push_back({{f, c}});
  }
  if (out.scalars.size() > 99)
    throw Error(ErrorCode::Configuration,
                "field files of Nek5000 have at most 99 scalars beside velocity, pressure and "
                "temperature; these fields have " +
                    std::to_string(out.scalars.size()) + " components beside them");
  return out;
}

std::string fortran_real(double value, int width, int digits) {
  const auto right = [&](const std::string& out) {
    return std::string(std::max<size_t>(width, out.size()) - out.size(), ' ') + out;
  };
  if (std::isnan(value)) return right("NaN");
  if (std::isinf(value)) return right(value < 0 ? "-Infinity" : "Infinity");
  char text[64];
  std::snprintf(text, sizeof text, "%.*e", digits - 1, std::abs(value));
  std::string mantissa(text);
  const size_t e = mantissa.find('e');
  const int exponent = value == 0 ? 0 : std::atoi(mantissa.c_str() + e + 1) + 1;
  mantissa.resize(e);
  mantissa.erase(std::remove(mantissa.begin(), mantissa.end(), '.'), mantissa.end());
  std::snprintf(text, sizeof text, "E%+03d", exponent);
  return right((std::signbit(value) ? "-0." : "0.") + mantissa + text);
}

std::string header_text(const Header& header, const Places& places) {
  std::string letters;
  if (header.has_coordinates) letters += 'X';
  if (!places.velocity.empty()) letters += 'U';
  if (!places.pressure.empty()) letters += 'P';
  if (!places.temperature.empty()) letters += 'T';
  char text[header_size + 64];
  if (!places.scalars.empty()) {
    std::snprintf(text, sizeof text, "S%02d", static_cast<int>(places.scalars.size()));
    letters += text;
  }
  const auto elements = static_cast<long long>(header.elements);
  // One file of one, a thermodynamic pressure of 0, pressure at the points of the mesh, no
  // refinement.
  std::snprintf(text, sizeof text,
                "#std %1d %2d %2d %2d %10lld %10lld %s %9lld %6d %6d %-10s  0.0000000E+00 F 0000",
                header.bytes, header.points, header.points, header.axes == 3 ? header.points : 1,
                elements, elements, fortran_real(header.time, 20, 13).c_str(),
                static_cast<long long>(header.step), 0, 1, letters.c_str());
  std::string out(text);
  out.resize(header_size, ' ');
  return out;
}

std::string list_text(const std::string& name, size_t count) {
  return " filetemplate: " + folder(name) + name +
         "%01d.f%05d\n firsttimestep: 1\n numtimesteps: " + std::to_string(count) + "\n";
}

std::string file_name(const std::string& name, size_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "0.f%05zu", number);
  return folder(name) + name + text;
}

}  // namespace pillion::stages::write_nek
