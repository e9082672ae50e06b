// SPDX-License-Identifier: BSD-3-Clause
// From a request for a division of a uniform mesh (blocks, slabs, pencils, powers of two) to the
// boxes that every rank shall have, grown by ghost cells, and to what has to go where: each rank
// computes it from its own boxes alone.
#pragma once

#include <string>

#include "layout/request.hpp"
#include "layout/tiling.hpp"
#include "model/catalogue.hpp"

namespace pillion::layout {

/// The boxes that ranks are to have.
struct Wanted {
  Tiling tiling;
  Index3 ghosts{0, 0, 0};          ///< cells added on each side, per axis
  std::array<bool, 3> periodic{};  ///< ghost cells beyond the domain are those of the other end

  /// A box as it is wanted: beyond the domain only where it is periodic.
  [[nodiscard]] Box grown(const Box& box) const;
};

/// A part of a box here that is part of a box there.
struct Move {
  int32_t from = 0;  ///< which of the boxes here
  int32_t to = 0;    ///< number of the box there
  Box region;        ///< its cells, as they are counted there
  Index3 shift{};    ///< there minus here: other than 0 for cells of a periodic image
  friend bool operator==(const Move&, const Move&) = default;
};

/// All that goes to one rank, in the order in which it is packed.
struct Moves {
  int rank = 0;
  std::vector<Move> moves;
  int64_t cells = 0;
};

/// What goes to each rank that gets anything, by rank. The boxes here must not overlap each other
/// or those of other ranks.
std::vector<Moves> plan_moves(const std::vector<Box>& here, const Wanted& wanted);

/// The mesh of a request.
std::string mesh_of(const Request& request, const model::Catalogue& catalogue);

/// Why the mesh cannot be divided like that, and what could be asked for; empty if it can.
std::string fault_of(const Request& request, const model::Mesh& mesh);

/// Whether the sides of its boxes follow from the blocks that ranks have.
bool has_open_sides(const Request& request);
/// The same with the sides that they have, given the most cells of any block along each axis.
Request with_sides(Request request, const std::array<int64_t, 3>& longest, const model::Mesh& mesh);

/// The boxes, for a request without fault and open sides. The mesh may also be a coarser one.
Wanted wanted_of(const Request& request, const model::Mesh& mesh, int ranks);

/// Throws unless as many cells have come to a rank, or will, as are in its boxes.
void check_coverage(const std::string& field, const std::string& mesh, int64_t cells, int64_t came);

}  // namespace pillion::layout
