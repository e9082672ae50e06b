// SPDX-License-Identifier: BSD-3-Clause
// From what all ranks know of the meshes of a run to Pillion's catalogue, and where each part lies
// in its mesh. All of it follows from the facts alone, so every rank comes to the same.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "facts.hpp"

namespace pillion::catalyst {

struct PlannedField {
  std::string name;  ///< in the catalogue
  FieldFacts facts;
};

struct PlannedMesh {
  std::string name;
  pillion_mesh_kind kind = 0;
  Form form = Form::Uniform;
  int32_t axes = 0;        ///< of boxes; of points the coordinates of each
  int32_t dimensions = 0;  ///< of unstructured cells, or of a curvilinear mesh's points
  std::string units;
  std::string positions;  ///< the field of coordinates of a curvilinear mesh, or of particles
  pillion_type type_of_positions = PILLION_FLOAT64;
  std::array<int64_t, 3> cells{1, 1, 1};  ///< of level 0
  std::array<double, 3> origin{}, length{};
  std::vector<std::array<double, 3>> spacings;  ///< of each level
  std::vector<std::array<int64_t, 3>> ratios;   ///< of each level but the first to the one before
  std::array<std::vector<double>, 3> faces;
  std::array<int64_t, 3> first{};  ///< the index that the first cell of a curvilinear mesh has
  bool is_whole = true;
  std::map<std::string, PlannedField> fields;  ///< by the simulation's names
};

/// The name in the catalogue of what the simulation calls `name`: one that conditions, YAML and
/// files can have.
std::string plain(std::string name);

struct Plan {
  std::map<Key, PlannedMesh> meshes;
  std::set<std::string> scalars;
  std::vector<std::string> warnings;  ///< a sentence for each thing that is left out
  [[nodiscard]] bool is_empty() const { return meshes.empty(); }
};

/// Meshes with nesting sets get room for `levels` levels, if that is more than they have.
Plan plan_of(const Facts& facts, int64_t levels = 1);

/// Meshes, fields and scalars as pillion_offer_catalogue takes them.
std::string catalogue_of(const Plan& plan);

/// Where a part that is a box lies: cells of a level, without its ghosts.
struct Place {
  int32_t level = 0;
  std::array<int64_t, 3> lo{}, hi{};
};
/// Throws Error if it does not lie in the mesh.
Place place_of(const Part& part, const PlannedMesh& mesh);

}  // namespace pillion::catalyst
