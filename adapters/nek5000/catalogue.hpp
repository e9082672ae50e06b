// SPDX-License-Identifier: BSD-3-Clause
// What a Nek5000 case offers to Pillion: its meshes and fields, as YAML. A case with solid elements
// has two meshes: `fluid`, and `thermal`, which has the solid elements too.
#pragma once

#include <string>
#include <vector>

namespace pillion::nek5000 {

/// What the catalogue follows from.
struct Case {
  int order = 1;       ///< of the elements
  int dimensions = 3;  ///< 2 or 3
  bool has_flow = true;
  bool is_axisymmetric = false;  ///< in two dimensions, of which the first is the axis
  bool has_magnetic_field = false;
  bool has_solid = false;        ///< elements in which nothing flows
  bool is_moving = false;        ///< points of elements move
  bool has_temperature = false;  ///< as a field that is computed
  /// Of the temperature, and then of each passive scalar, whether solid elements have it. There are
  /// one more of them than passive scalars.
  std::vector<bool> is_on_thermal = {false};
  std::vector<std::string> added;  ///< fields of the case's own
};

/// YAML with `meshes:`, `fields:` and `scalars:`, for pillion_options_set_catalogue. Names of
/// fields are those that `pillion replay` gives to Nek's field files.
std::string catalogue_text(const Case& of);

}  // namespace pillion::nek5000
