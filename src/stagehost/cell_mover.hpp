// SPDX-License-Identifier: BSD-3-Clause
// Moves cells of any shape among the peers, in the layouts by place and by key.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "model/topology.hpp"
#include "stagehost/cell_owners.hpp"
#include "stagehost/joined_cells.hpp"
#include "stagehost/publication.hpp"

namespace pillion::stagehost {

/// The versions of cells that were checked, by block.
using CheckedCells = std::map<int64_t, std::pair<int64_t, int64_t>>;

/// Of a block: the cells that go to each rank as its own, and as copies.
struct CellMoves {
  std::map<int, std::vector<int64_t>> own, copies;
};

/// Which cells and points of a block another has, by their numbers in it.
struct CellOrder {
  std::vector<int64_t> cells, points;
};

/// Brings the cells of an unstructured mesh to the ranks that own them in the layouts by place and
/// by key, with the request's fields, their points, ids and flags.
///
/// By place, there is one block for each shared block that has cells for this rank. By key, there
/// is one block of all, in which cells are in the order of their keys, and, if all have ids, of
/// these. With a halo there is one block, too, in which copies of as many layers of cells around
/// them follow. Where there is one block, cells that the program flags as copies are left out.
///
/// While no rank's points, cells or keys change, only values move, and the blocks keep their
/// versions. Constant fields move with the points and cells, or when a rank has others.
class CellMover {
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
  /// What has arrived from all ranks, besides values.
  struct Arrived {
    size_t own = 0;             ///< parts before the copies
    std::vector<int64_t> keys;  ///< of the cells of these parts, by key
  };

  [[nodiscard]] bool has_keys(const CellKeys& keys) const;
  void plan(const std::vector<model::Block>& blocks, const layout::Request& request,
            const model::Mesh& mesh, bool by_ids, const ExecutionContext& context);
  Arrived move_geometry(const std::vector<model::Block>& blocks,
                        const std::vector<model::Topology>& topologies,
                        std::vector<CellMoves> moves, const std::string& mesh,
                        const ExecutionContext& context);
  void put_in_order(const std::vector<int64_t>& keys, const std::string& mesh);
  /// All of them, or those of fields that are not constant.
  void move_values(const std::vector<model::Block>& blocks, const layout::Request& request,
                   const model::Mesh& mesh, bool all, const ExecutionContext& context);

  CheckedCells checked_;
  bool is_planned_ = false;                      ///< and the versions are known
  int peers_ = 0;                                ///< for as many
  std::vector<Version> versions_;                ///< of the blocks that the plan is for
  CellKeys keys_;                                ///< of these, from a field, if they have any
  int64_t version_ = 0;                          ///< of the plan, and of points and cells
  std::map<int, std::vector<Part>> sent_;        ///< by peer
  model::MeshBlocks parts_;                      ///< points and cells as they have arrived
  std::map<int, std::vector<size_t>> places_;    ///< by peer: its parts among these
  std::optional<JoinedPoints> points_;           ///< of one block of all parts
  std::optional<CellOrder> order_;               ///< by key: of its cells
  std::vector<model::Block> geometry_, blocks_;  ///< without values, and with them
  model::MeshBlocks values_, constants_;         ///< keep their memory
  std::vector<int64_t> constant_versions_;       ///< of the values that the blocks have
};

}  // namespace pillion::stagehost
