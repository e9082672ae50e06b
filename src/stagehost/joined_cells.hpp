// SPDX-License-Identifier: BSD-3-Clause
// Makes one block of several of an unstructured mesh, in which cells that share a point name the
// same one.
#pragma once

#include <vector>

#include "model/topology.hpp"
#include "stagehost/publication.hpp"

namespace pillion::stagehost {

/// The cells of `parts`, one part after the other, and their points, each once. Points are the same
/// if their ids are, or, without `by_ids`, their coordinates. A value at a point is that of the
/// first part that has it. Parts from number `own` on are marked as copies. Ids,
/// parents and patches of cells remain if every part has them. Values are those of all arrays of
/// the first part; `out` keeps their memory.
model::Block joined(const std::vector<model::Block>& parts, size_t own, const std::string& mesh,
                    bool by_ids, model::MeshBlocks& out);

}  // namespace pillion::stagehost
