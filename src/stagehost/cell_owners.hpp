// SPDX-License-Identifier: BSD-3-Clause
// Which rank each cell of an unstructured mesh goes to: by place, or by key.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/topology.hpp"
#include "stagehost/publication.hpp"

namespace pillion::stagehost {

/// A box that is divided among ranks, in parts as near to cubes as can be.
class SpaceDivision {
 public:
  /// Extents may be 0: the mesh may be a surface or a line along axes.
  SpaceDivision(const std::array<double, 3>& lo, const std::array<double, 3>& hi, int ranks);
  /// The rank of a place in the box; a place between two parts is in the upper one.
  [[nodiscard]] int rank_of(const std::array<double, 3>& place) const;
  [[nodiscard]] const std::array<int, 3>& parts() const { return parts_; }

 private:
  std::array<double, 3> lo_, hi_;
  std::array<int, 3> parts_;
};

/// By block and cell.
using CellOwners = std::vector<std::vector<int>>;
using CellKeys = std::vector<std::vector<int64_t>>;

/// The rank in whose part of the box around all centres a cell's centre lies, the mean of its
/// points. [collective over the peers]
CellOwners owners_by_place(const std::vector<model::Block>& blocks, const model::Mesh& mesh,
                           const std::vector<model::Topology>& topologies,
                           const ExecutionContext& context);

/// The values of an integer field.
CellKeys keys_from_field(const std::vector<model::Block>& blocks, const model::Mesh& mesh,
                         const std::string& field);
/// The ids of cells. Throws if a block has cells without ids.
CellKeys keys_from_ids(const std::vector<model::Block>& blocks, const model::Mesh& mesh,
                       const std::vector<model::Topology>& topologies);
/// Cells of one key have one owner, the same as particles with that key.
CellOwners owners_by_key(const CellKeys& keys, int ranks);

}  // namespace pillion::stagehost
