// SPDX-License-Identifier: BSD-3-Clause
// Whether the cells of a block lie in space as cells of its mesh do.
#pragma once

#include <string>

#include "model/block.hpp"

namespace pillion::model {

/// What is wrong with the cells of a block, with the first cell for which it is: a weight is not 0
/// to 1; of an unstructured or curvilinear mesh, a cell that counts has a volume below zero, or
/// cells count but none has the dimensions of the mesh. "" if nothing is, or if the block lacks
/// geometry. Shapes whose volume is not known are not looked at.
std::string fault_of_volumes(const Mesh& mesh, const Block& block);

}  // namespace pillion::model
