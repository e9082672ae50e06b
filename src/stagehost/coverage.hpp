// SPDX-License-Identifier: BSD-3-Clause
// Whether the boxes of a publication are a mesh, and which cells of blocks finer blocks cover:
// found where the data is, once for the boxes that all peers have, and again when any of them has
// others.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "redistribution/coverage.hpp"
#include "stagehost/publication.hpp"

namespace pillion::stagehost {

/// A byte for each cell of a block, packed with the first axis fastest, with bits as
/// pillion_block has them; null where no cell has any.
using Flags = std::shared_ptr<const base::Bytes>;

class Coverage {
 public:
  /// Flags of each block; good until the next call. The blocks are all that this peer has of a
  /// field. Throws ErrorCode::Sharing on every peer if the boxes are not a mesh. [collective over
  /// the peers]
  const std::vector<Flags>& of(const std::vector<model::Block>& blocks, const model::Mesh& mesh,
                               const std::string& field, const ExecutionContext& context);

 private:
  struct Entry {
    std::string mesh;
    std::array<int64_t, 3> cells{};
    std::vector<std::array<int64_t, 3>> ratios;
    std::vector<redistribution::MeshBox> here;
    std::vector<Flags> flags;
  };
  std::vector<std::unique_ptr<Entry>> kept_;  ///< in the same order on all peers
};

/// Checks that the boxes of the program's fields are meshes, in a publication as it arrived. Throws
/// ErrorCode::Sharing on every peer if not. [collective over the peers]
void check_coverage(const Publication& publication, const std::set<std::string>& fields,
                    const ExecutionContext& context);

}  // namespace pillion::stagehost
