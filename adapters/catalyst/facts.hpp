// SPDX-License-Identifier: BSD-3-Clause
// What one rank, and then all ranks together, know of the meshes of a run. Facts of ranks merge in
// any order to the same; a rank without domains knows none.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "parts.hpp"

namespace pillion::catalyst {

struct FieldFacts {
  pillion_type type = 0;
  int32_t components = 1;
  bool at_points = false;
  std::string units;
  bool operator==(const FieldFacts&) const = default;
  /// Whether both have values of one type at the same places.
  [[nodiscard]] bool has_form_of(const FieldFacts& other) const {
    return type == other.type && components == other.components && at_points == other.at_points;
  }
  /// In words.
  [[nodiscard]] std::string form() const;
};

/// Domains of a uniform mesh whose cells are of one size.
struct LevelFacts {
  std::array<double, 3> spacing{}, lo{}, hi{};  ///< bounds of all domains
  int64_t cells = 0;
};

struct MeshFacts {
  Form form = Form::Uniform;
  int32_t axes = 0;        ///< of boxes; of others the coordinates of each point
  int32_t dimensions = 0;  ///< of unstructured cells
  std::string units;
  pillion_type coordinates = 0;              ///< their type, where they are arrays
  bool is_nested = false;                    ///< whether any domain has nesting sets
  std::vector<LevelFacts> levels;            ///< of a uniform mesh, the coarsest first
  std::array<std::vector<double>, 3> faces;  ///< of a rectilinear mesh, ascending
  bool has_index = true;              ///< whether all structured domains have a place in the mesh
  std::array<int64_t, 3> lo{}, hi{};  ///< of those places
  int64_t cells = 0;                  ///< of all domains that are boxes
  std::map<std::string, FieldFacts> fields;
};

struct Facts {
  std::map<Key, MeshFacts> meshes;
  std::set<std::string> scalars;  ///< by the names that the catalogue has
  std::set<Fault> faults;         ///< at most one for each mesh, and for each field
};

FieldFacts facts_of(const FieldValues& field);
Facts facts_of(const Description& description);
/// Adds the facts of other domains. What contradicts becomes a fault.
void merge(Facts& into, const Facts& from);
std::string to_text(const Facts& facts);
/// The opposite of to_text().
Facts read_facts(const std::string& text);

/// Whether two coordinates are the same, in a mesh with cells of this width.
inline bool is_same(double a, double b, double width) {
  const double distance = a > b ? a - b : b - a;
  return distance <= 1e-6 * width;
}
/// Whether two sizes of cells are the same.
bool is_same_spacing(const std::array<double, 3>& a, const std::array<double, 3>& b, int32_t axes);

}  // namespace pillion::catalyst
