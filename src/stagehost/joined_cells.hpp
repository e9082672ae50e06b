// SPDX-License-Identifier: BSD-3-Clause
// Makes one block of several of an unstructured mesh, in which cells that share a point name the
// same one.
#pragma once

#include <vector>

#include "model/topology.hpp"
#include "stagehost/publication.hpp"

namespace pillion::stagehost {

/// Points of several parts, each once.
struct JoinedPoints {
  std::vector<std::vector<int64_t>> numbers;  ///< by part and point
  std::vector<std::vector<int64_t>> first;    ///< by part: its points that no part before has
};

/// Points are the same if their ids are, or, without `by_ids`, their coordinates.
JoinedPoints points_of(const std::vector<model::Block>& parts, const std::string& mesh,
                       bool by_ids);

/// The cells of `parts`, one part after the other, and their points, each once. Parts from number
/// `own` on are marked as copies. Ids, parents and patches of cells remain if every part has them.
/// `out` keeps their memory.
model::Block joined(const std::vector<model::Block>& parts, size_t own, const std::string& mesh,
                    const JoinedPoints& points, model::MeshBlocks& out);

/// The values of a field of all parts: at `points`, of the first part that has each, or, without
/// these, at cells.
model::Array joined_array(const std::vector<model::Block>& parts, const std::string& field,
                          const JoinedPoints* points, model::MeshBlocks& out);

}  // namespace pillion::stagehost
