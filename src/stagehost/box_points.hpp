// SPDX-License-Identifier: BSD-3-Clause
// Brings the points of a curvilinear mesh to boxes of its cells: each box gets the points at the
// corners of all its cells, so boxes on either side of a border both get those on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/scratch_buffer.hpp"
#include "redistribution/exchange.hpp"
#include "stagehost/publication.hpp"

namespace pillion::stagehost {

class BoxPoints {
 public:
  /// Adds the coordinates of a mesh to blocks with the cells, ghost cells included, that this rank
  /// has got. `mine` is what it has of the mesh; `field` is one that lies on each cell once. Throws
  /// ErrorCode::Sharing if a point of the boxes has not come. [collective over the peers]
  void bring(const model::Mesh& mesh, const model::MeshBlocks& mine, const std::string& field,
             std::vector<model::Block>& blocks, const ExecutionContext& context);

 private:
  std::optional<redistribution::Redistribution>
      plan_;                        ///< kept while all ranks have the same boxes
  std::vector<model::Box> wanted_;  ///< points of the blocks
  base::ScratchBuffer room_;
};

}  // namespace pillion::stagehost
