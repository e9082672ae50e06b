// SPDX-License-Identifier: BSD-3-Clause
// Meshes of each kind as VTK has them: what a file of one step holds.
#pragma once

#include <algorithm>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../fields.hpp"
#include "content.hpp"

namespace pillion::stages::write_vtkhdf {

/// What is written, and how.
struct Wanted {
  std::vector<std::string> names;
  std::vector<pillion_field_description> fields;
  int32_t input = 0;
  int32_t places = -1;  ///< number of the array that holds positions of particles, or coordinates
                        ///< of elements
  pillion_type place_type = PILLION_FLOAT64;  ///< of that array
  bool in_middle = false;                     ///< values of images are at points in cells
  bool is_split = false;                      ///< spectral elements become linear hexahedra

  [[nodiscard]] const pillion_field_description& mesh() const { return fields.front(); }
  /// Whether some values are at points.
  [[nodiscard]] bool has_points() const {
    return std::any_of(fields.begin(), fields.end(),
                       [](const auto& field) { return field.centering == PILLION_POINT; });
  }
};

/// Of a mesh of boxes that are divided in slabs along its last axis: ImageData, or RectilinearGrid.
Content structured_content(const stage::Step& step, const Wanted& wanted);
/// Of a mesh with levels or missing cells: OverlappingAMR. [peers]
Content levels_content(const stage::Step& step, const Wanted& wanted);
/// Of all other meshes: UnstructuredGrid. [peers]
Content grid_content(const stage::Step& step, const Wanted& wanted);

/// The attributes that VTK's readers begin with. Older readers refuse files of later versions, so
/// each type has the version that introduced it.
inline void put_head(Content& content, const std::string& type, int64_t major, int64_t minor) {
  content.attributes.push_back({"/VTKHDF", "Version", std::vector<int64_t>{major, minor}});
  content.attributes.push_back({"/VTKHDF", "Type", type});
}

/// A dataset for a field, whose values are one row for each cell or point.
inline Dataset dataset_of(const std::string& path, const pillion_field_description& field) {
  Dataset out{.path = path, .element = field.type, .units = field.units};
  if (field.components > 1) out.row = {field.components};
  return out;
}

/// The values of a box within a block, the first axis fastest and components interleaved.
Source box_values(const stage::Block& block, int32_t field, const int64_t* lo, const int64_t* hi);

}  // namespace pillion::stages::write_vtkhdf
