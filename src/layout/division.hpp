// SPDX-License-Identifier: BSD-3-Clause
// From a request for a division of a uniform mesh (blocks, slabs, pencils, powers of two) to the
// boxes that every rank shall have.
#pragma once

#include "layout/moves.hpp"
#include "layout/request.hpp"
#include "model/catalogue.hpp"

namespace pillion::layout {

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
