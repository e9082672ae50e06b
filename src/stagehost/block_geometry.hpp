// SPDX-License-Identifier: BSD-3-Clause
// Where the cells of blocks are, as stages see it: coordinates of points, which points cells have,
// and the flags of cells.
#pragma once

#include <pillion/stage.h>

#include <string>
#include <vector>

#include "stagehost/work.hpp"

namespace pillion::stagehost {

/// An array in the form that a plug-in sees. Its components lie together.
pillion_array describe(const model::Array& array, pillion_centering centering);

/// The array of a block that holds geometry_fields() of its mesh; throws if it has not come.
const model::Array& geometry_of(const model::Block& block, const std::string& field);

/// Adds to an input as shared, whose blocks are described already, the points and cells of a mesh
/// that has them. Throws ErrorCode::Sharing if cells cannot be these.
void add_geometry(const std::vector<model::Block>& blocks, const model::Mesh& mesh,
                  CheckedCells& checked, Input& input);

}  // namespace pillion::stagehost
