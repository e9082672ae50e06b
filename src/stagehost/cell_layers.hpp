// SPDX-License-Identifier: BSD-3-Clause
// Which ranks receive a cell of an unstructured mesh besides its owner: those whose own cells are
// its neighbours, in layers of cells that share a point.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "model/topology.hpp"
#include "stagehost/publication.hpp"

namespace pillion::stagehost {

/// What identifies a point in all blocks: its id, or else its coordinates, to the last bit.
using PointKey = std::array<int64_t, 3>;

struct PointKeyHash {
  size_t operator()(const PointKey& key) const;
};

/// The keys of the points of a block. -0 is 0.
std::vector<PointKey> keys_of(const model::Block& block, const std::string& mesh, bool by_ids);

/// The cells of one block and the rank that owns each, or -1 for cells to leave out.
struct OwnedCells {
  model::Topology topology;
  std::vector<PointKey> points;
  std::vector<int> owners;
};

/// By block and cell: the ranks that are not the owner and have a cell within `layers` of it. Cells
/// are neighbours if they share a point. [collective over the peers]
std::vector<std::vector<std::vector<int>>> ranks_near(std::span<const OwnedCells> blocks,
                                                      int64_t layers,
                                                      const ExecutionContext& context);

}  // namespace pillion::stagehost
