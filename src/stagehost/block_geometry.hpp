// SPDX-License-Identifier: BSD-3-Clause
// Where the cells of blocks are, as stages see it: coordinates of points, which points cells have,
// and the flags of cells.
#pragma once

#include <pillion/stage.h>

#include <string>
#include <vector>

#include "model/topology.hpp"
#include "stagehost/work.hpp"

namespace pillion::stagehost {

/// An array in the form that a plug-in sees. Its components lie together.
pillion_array describe(const model::Array& array, pillion_centering centering);

/// The array of a block that holds geometry_fields() of its mesh; throws if it has not come.
const model::Array& geometry_of(const model::Block& block, const std::string& field);

/// The cells of blocks of an unstructured mesh. They may have come from another process, so they
/// are checked, but each version of them once. Throws ErrorCode::Sharing if they cannot be cells.
std::vector<model::Topology> checked_topologies(const std::vector<model::Block>& blocks,
                                                const model::Mesh& mesh, CheckedCells& checked);

/// Adds to an input, whose blocks are described already and have the flags of covered cells, those
/// of cells that a mask leaves out.
void add_mask(const std::vector<model::Block>& blocks, const model::Mesh& mesh, Input& input);
/// Adds the parts of their volumes that cells have.
void add_weight(const std::vector<model::Block>& blocks, const model::Mesh& mesh, Input& input);

/// Adds to an input, whose blocks are described already, the points and cells of a mesh
/// that has them. Throws ErrorCode::Sharing if cells cannot be these.
void add_geometry(const std::vector<model::Block>& blocks, const model::Mesh& mesh,
                  CheckedCells& checked, Input& input);

}  // namespace pillion::stagehost
