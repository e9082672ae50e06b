// SPDX-License-Identifier: BSD-3-Clause
// What a case of code_saturne offers to Pillion: its meshes and the fields of its registry, as
// YAML, and the units of the fields that code_saturne itself defines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pillion::code_saturne {

/// A field of the registry, or its values at the step before.
struct RegistryField {
  std::string name;
  int32_t location = 0;  ///< PILLION_SATURNE_CELLS and so on
  int32_t components = 1;
  bool is_previous = false;
  bool is_constant = false;  ///< throughout the run
};

/// What the catalogue follows from.
struct Case {
  std::vector<RegistryField> fields;
  std::vector<std::string> zones;  ///< of the boundary
  bool is_celsius = false;
};

/// Name of the mesh that has the values of a location; nullptr if none has.
const char* mesh_of(int32_t location);

/// Names of the fields in Pillion, one for each: letters, digits and '_', and no name twice.
std::vector<std::string> names_of(const std::vector<RegistryField>& fields);

/// In SI units; "" if they are not known.
std::string units_of(const std::string& field, bool is_celsius);

/// A text in double quotes, as YAML that Pillion reads.
std::string quoted(const std::string& text);

/// YAML with `meshes:`, `fields:` and `scalars:`, for pillion_offer_catalogue.
std::string catalogue_text(const Case& of);

}  // namespace pillion::code_saturne
