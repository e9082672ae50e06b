// SPDX-License-Identifier: BSD-3-Clause
// Moves cells of any shape among the peers, so that each peer has the cells of one part of space.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "model/topology.hpp"
#include "stagehost/joined_cells.hpp"
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

/// A topology of `cells` of another, in their order, with the points and faces that these use.
/// `points` receives, for each of its points, the number in the other.
base::Bytes subset_of(const model::Topology& whole, const std::vector<int64_t>& cells,
                      std::vector<int64_t>& points);

/// The versions of cells that were checked, by block.
using CheckedCells = std::map<int64_t, std::pair<int64_t, int64_t>>;

/// Brings the cells whose centres, the means of their points, lie in this rank's part of the box
/// around all centres. There is one block for each block that has such cells. Arrays of the
/// request's fields, points, ids and flags come with them. With a halo there is one block of them
/// all, in which copies of as many layers of cells around them follow. While no rank's points or
/// cells have a new version, only values move, and the blocks keep their versions.
class CellsByPlace {
 public:
  /// Of a block: its id, its number of cells, and the versions of cells, points and ids.
  using Version = std::array<int64_t, 5>;

  /// `blocks` have all that moves. Good until the next call. [collective over the peers]
  const std::vector<model::Block>& bring(const std::vector<model::Block>& blocks,
                                         const layout::Request& request, const model::Mesh& mesh,
                                         const ExecutionContext& context);

 private:
  /// What goes from one block to one rank.
  struct Part {
    size_t block;
    std::vector<int64_t> cells, points;
  };

  void plan(const std::vector<model::Block>& blocks, const layout::Request& request,
            const model::Mesh& mesh, const ExecutionContext& context);
  void move_values(const std::vector<model::Block>& blocks, const layout::Request& request,
                   const model::Mesh& mesh, const ExecutionContext& context);

  CheckedCells checked_;
  bool is_planned_ = false;                      ///< and the versions are known
  int peers_ = 0;                                ///< for as many
  std::vector<Version> versions_;                ///< of the blocks that the plan is for
  int64_t version_ = 0;                          ///< of the plan, and of points and cells
  std::map<int, std::vector<Part>> sent_;        ///< by peer
  model::MeshBlocks parts_;                      ///< points and cells as they have arrived
  std::map<int, std::vector<size_t>> places_;    ///< by peer: its parts among these
  std::optional<JoinedPoints> points_;           ///< with a halo, if this rank has cells
  std::vector<model::Block> geometry_, blocks_;  ///< without values, and with them
  model::MeshBlocks values_;                     ///< keeps their memory
};

}  // namespace pillion::stagehost
