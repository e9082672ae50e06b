// SPDX-License-Identifier: BSD-3-Clause
// The catalogue of a case, line by line.
#include "catalogue.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>

#include "pillion_saturne.h"

namespace pillion::code_saturne {

namespace {

constexpr const char* previous = "_previous";  ///< behind the name of a field

const std::map<std::string, std::string>& units_of_fields() {
  static const std::map<std::string, std::string> all = {
      {"velocity", "m/s"},
      {"pressure", "Pa"},
      {"total_pressure", "Pa"},
      {"hydrostatic_pressure", "Pa"},
      {"hydraulic_head", "m"},
      {"density", "kg/m^3"},
      {"boundary_density", "kg/m^3"},
      {"molecular_viscosity", "Pa s"},
      {"turbulent_viscosity", "Pa s"},
      {"volume_viscosity", "Pa s"},
      {"specific_heat", "J/(kg K)"},
      {"thermal_conductivity", "W/(m K)"},
      {"thermal_expansion", "1/K"},
      {"enthalpy", "J/kg"},
      {"total_energy", "J/kg"},
      {"k", "m^2/s^2"},
      {"epsilon", "m^2/s^3"},
      {"omega", "1/s"},
      {"rij", "m^2/s^2"},
      {"r11", "m^2/s^2"},
      {"r22", "m^2/s^2"},
      {"r33", "m^2/s^2"},
      {"r12", "m^2/s^2"},
      {"r23", "m^2/s^2"},
      {"r13", "m^2/s^2"},
      {"f_bar", "1/s"},
      {"phi", "1"},
      {"alpha", "1"},
      {"nu_tilda", "m^2/s"},
      {"void_fraction", "1"},
      {"porosity", "1"},
      {"dt", "s"},
      {"courant_number", "1"},
      {"fourier_number", "1"},
      {"yplus", "1"},
      {"wall_distance", "m"},
      {"s2", "1/s^2"},
      {"vel_gradient_trace", "1/s"},
      {"anisotropic_turbulent_viscosity", "Pa s"},
      {"boundary_forces", "N"},
      {"boundary_stress", "Pa"},
      {"boundary_thermal_flux", "W/m^2"},
      {"inner_mass_flux", "kg/s"},
      {"boundary_mass_flux", "kg/s"},
      {"mesh_velocity", "m/s"},
      {"disale", "m"},
      {"cell_volume", "m^3"},
      {"cell_centre", "m"},
      {"boundary_area", "m^2"},
      {"boundary_normal", "m^2"},
      {"rad_incident_flux", "W/m^2"},
      {"rad_net_flux", "W/m^2"},
  };
  return all;
}

bool is_temperature(const std::string& field) {
  return field == "temperature" || field == "boundary_temperature" || field == "t_gas";
}

std::string plain(const std::string& name) {
  std::string out = name;
  std::replace_if(
      out.begin(), out.end(),
      [](unsigned char letter) { return letter > 127 || (!std::isalnum(letter) && letter != '_'); },
      '_');
  return out.empty() || std::isdigit(static_cast<unsigned char>(out.front())) ? "f_" + out : out;
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    if (letter == '$') out += '$';  // a single one would begin the name of a parameter
    out += letter;
  }
  return out + '"';
}

const char* mesh_of(int32_t location) {
  switch (location) {
    case PILLION_SATURNE_CELLS:
    case PILLION_SATURNE_VERTICES: return "fluid";
    case PILLION_SATURNE_BOUNDARY_FACES: return "boundary";
    case PILLION_SATURNE_INTERIOR_FACES: return "interior_faces";
    default: return nullptr;
  }
}

std::vector<std::string> names_of(const std::vector<RegistryField>& fields) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (const auto& field : fields) {
    std::string name = plain(field.name) + (field.is_previous ? previous : "");
    while (!taken.insert(name).second) name += '_';
    out.push_back(name);
  }
  return out;
}

std::string units_of(const std::string& field, bool is_celsius) {
  if (is_temperature(field)) return is_celsius ? "degC" : "K";
  const auto at = units_of_fields().find(field);
  return at == units_of_fields().end() ? "" : at->second;
}

std::string catalogue_text(const Case& of) {
  const bool is_porous = std::any_of(of.fields.begin(), of.fields.end(), [](const auto& field) {
    return field.name == "porosity" && field.location == PILLION_SATURNE_CELLS;
  });
  std::string text =
      std::string("meshes:\n  fluid: {kind: unstructured, units: m") +
      (is_porous ? ", weight: porosity" : "") + "}\n" +
      "  interior_faces: {kind: unstructured, dimensions: 2, of: fluid, units: m}\n"
      "  boundary: {kind: unstructured, dimensions: 2, of: fluid, units: m, patches: [";
  for (const auto& zone : of.zones) text += (&zone == &of.zones.front() ? "" : ", ") + quoted(zone);
  text += "]}\nfields:\n";
  const auto names = names_of(of.fields);
  for (size_t f = 0; f < names.size(); ++f) {
    const auto& field = of.fields[f];
    text += "  " + names[f] + ": {mesh: " + mesh_of(field.location) +
            ", type: float64, components: " + std::to_string(field.components);
    if (field.location == PILLION_SATURNE_VERTICES) text += ", centering: point";
    if (field.is_constant) text += ", constant: true";
    const auto units = units_of(field.name, of.is_celsius);
    if (!units.empty()) text += ", units: " + quoted(units);
    text += "}\n";
  }
  return text + "scalars: {dt: {units: s}}\n";
}

}  // namespace pillion::code_saturne
