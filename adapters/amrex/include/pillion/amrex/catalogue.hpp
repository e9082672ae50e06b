// SPDX-License-Identifier: BSD-3-Clause
// The catalogue of an AMReX program: YAML with its meshes, fields and scalars, made from
// geometries, names of components and particle containers. Give text() to Session::offer_catalogue
// or Options::catalogue; what the user's file says of a mesh or a field wins.
#pragma once

#include <AMReX_Geometry.H>
#include <AMReX_IntVect.H>
#include <AMReX_REAL.H>
#include <AMReX_Vector.H>

#include <charconv>
#include <pillion/arrays.hpp>
#include <pillion/error.hpp>
#include <string>
#include <type_traits>
#include <vector>

namespace pillion::amrex {

/// Name of an element type in the catalogue.
template <class T>
std::string type_name() {
  static_assert(is_element<T>, "fields have real or integer elements");
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 8 ? "float64" : "float32";
  else return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
}

/// What a geometry does not know of a mesh. Empty texts are left out.
struct MeshOptions {
  std::string units;   ///< of lengths
  std::string weight;  ///< the field with the part of its volume that each cell has, for embedded
                       ///< boundaries
  std::string mask;    ///< the integer field that is 0 where cells do not exist
};

/// Builds the text. Calls may come in any order; a name that is used twice is an error of opening.
class Catalogue {
 public:
  /// A mesh of boxes: `coarsest` is the geometry of level 0, `ratios` has the refinement ratio of
  /// each finer level that a run may have. Throws for coordinates other than Cartesian, and r and
  /// z.
  Catalogue& mesh(const std::string& name, const ::amrex::Geometry& coarsest,
                  const ::amrex::Vector<::amrex::IntVect>& ratios = {},
                  const MeshOptions& options = {}) {
    std::string entry = "kind: uniform, cells: " +
                        list([&](int d) { return std::to_string(coarsest.Domain().length(d)); }) +
                        ", origin: " + list([&](int d) { return number(coarsest.ProbLo(d)); }) +
                        ", length: " + list([&](int d) { return number(coarsest.ProbLength(d)); }) +
                        ", periodic: " + list([&](int d) {
                          return std::string(coarsest.isPeriodic(d) ? "true" : "false");
                        });
    if (!ratios.empty()) {
      entry += ", levels: {count: " + std::to_string(ratios.size() + 1) + ", ratio: [";
      for (const auto& ratio : ratios)
        entry += list([&](int d) { return std::to_string(ratio[d]); }) + ", ";
      entry += "]}";
    }
    if (coarsest.IsRZ()) entry += ", metric: cylindrical";
    else if (!coarsest.IsCartesian())
      throw Error(ErrorCode::Argument,
                  "the geometry of mesh '" + name +
                      "' is spherical; Pillion takes Cartesian geometries, and r and z");
    add_text(entry, "units", options.units);
    add_text(entry, "weight", options.weight);
    add_text(entry, "mask", options.mask);
    meshes_ += "  " + quoted(name) + ": {" + entry + "}\n";
    return *this;
  }

  /// A field of one component or more at the cells of a mesh, or of its particles.
  template <class T = ::amrex::Real>
  Catalogue& field(const std::string& mesh, const std::string& name, const std::string& units = "",
                   int components = 1) {
    std::string entry = "mesh: " + quoted(mesh) + ", type: " + type_name<T>();
    if (components != 1) entry += ", components: " + std::to_string(components);
    add_text(entry, "units", units);
    fields_ += "  " + quoted(name) + ": {" + entry + "}\n";
    return *this;
  }
  /// A field of one component for each name, as plotfiles have them.
  template <class T = ::amrex::Real>
  Catalogue& fields(const std::string& mesh, const std::vector<std::string>& names) {
    for (const auto& name : names) field<T>(mesh, name);
    return *this;
  }
  /// A vector that consists of such fields: vector("velocity", {"x_velocity", "y_velocity",
  /// "z_velocity"}). The program shares those.
  Catalogue& vector(const std::string& name, const std::vector<std::string>& components,
                    const std::string& units = "") {
    std::string entry = "components: [";
    for (const auto& component : components) entry += quoted(component) + ", ";
    entry += "]";
    add_text(entry, "units", units);
    fields_ += "  " + quoted(name) + ": {" + entry + "}\n";
    return *this;
  }
  /// A mesh of particles; ParticleFields::declare adds it with its fields.
  Catalogue& particle_mesh(const std::string& name, const std::string& units = "") {
    std::string entry = "kind: particles";
    if (AMREX_SPACEDIM < 3) entry += ", dimensions: 2";
    add_text(entry, "units", units);
    meshes_ += "  " + quoted(name) + ": {" + entry + "}\n";
    return *this;
  }
  /// A number that the program sets for each step.
  Catalogue& scalar(const std::string& name, const std::string& units = "") {
    std::string entry;
    if (!units.empty()) entry = "units: " + quoted(units);
    scalars_ += "  " + quoted(name) + ": {" + entry + "}\n";
    return *this;
  }

  [[nodiscard]] std::string text() const {
    return section("meshes", meshes_) + section("fields", fields_) + section("scalars", scalars_);
  }

 private:
  static std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
    return out + "'";
  }
  static std::string number(double value) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
  }
  template <class F>
  static std::string list(F&& of_axis) {
    std::string out = "[";
    for (int d = 0; d < AMREX_SPACEDIM; ++d) out += (d == 0 ? "" : ", ") + of_axis(d);
    return out + "]";
  }
  static void add_text(std::string& entry, const std::string& key, const std::string& text) {
    if (!text.empty()) entry += ", " + key + ": " + quoted(text);
  }
  static std::string section(const std::string& key, const std::string& entries) {
    return entries.empty() ? "" : key + ":\n" + entries;
  }

  std::string meshes_, fields_, scalars_;
};

}  // namespace pillion::amrex
