// SPDX-License-Identifier: BSD-3-Clause
// The catalogue of a case, line by line.
#include "catalogue.hpp"

#include <cstddef>

namespace pillion::nek5000 {

namespace {

std::string mesh(const std::string& name, const Case& of, const std::string& coordinates) {
  return "  " + name + ": {kind: spectral, order: " + std::to_string(of.order) +
         ", dimensions: " + std::to_string(of.dimensions) + ", coordinates: " + coordinates + "}\n";
}

std::string field(const std::string& name, const std::string& mesh, int components = 1,
                  const char* more = "") {
  return "  " + name + ": {mesh: " + mesh +
         ", type: float64, components: " + std::to_string(components) + more + "}\n";
}

std::string coordinates(const std::string& name, const std::string& mesh, const Case& of) {
  return field(name, mesh, of.dimensions, of.is_moving ? "" : ", constant: true");
}

std::string number(const std::string& name, const std::string& mesh) {
  return "  " + name + ": {mesh: " + mesh + ", type: int32, centering: cell, constant: true}\n";
}

}  // namespace

std::string catalogue_text(const Case& of) {
  const int vector = of.dimensions;
  std::string text = "meshes:\n" + mesh("fluid", of, "coordinates");
  if (of.has_solid) text += mesh("thermal", of, "thermal_coordinates");
  text += "fields:\n" + number("number", "fluid") + coordinates("coordinates", "fluid", of);
  if (of.has_solid)
    text += number("thermal_number", "thermal") + coordinates("thermal_coordinates", "thermal", of);
  if (of.has_flow) text += field("velocity", "fluid", vector) + field("pressure", "fluid");
  if (of.has_flow && !of.is_axisymmetric) text += field("vorticity", "fluid", vector == 3 ? 3 : 1);
  if (of.has_magnetic_field) text += field("magnetic_field", "fluid", vector);
  for (size_t n = 0; n < of.is_on_thermal.size(); ++n)
    if (n > 0 || of.has_temperature)
      text += field(n == 0 ? "temperature" : "scalar_" + std::to_string(n),
                    of.is_on_thermal[n] ? "thermal" : "fluid");
  for (const auto& name : of.added) text += field(name, "fluid");
  return text + "scalars: [dt]\n";
}

}  // namespace pillion::nek5000
