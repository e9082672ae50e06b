// SPDX-License-Identifier: BSD-3-Clause
// Particles on the move, on the side that receives them. Who carries the messages between the two
// sides is up to the caller.
#pragma once

#include <span>
#include <vector>

#include "base/room.hpp"
#include "layout/particle_moves.hpp"

namespace pillion::layout {

/// One block made of what all ranks sent: owned particles first, then copies. ByKey: sorted by key.
model::MeshBlocks unpack(const std::vector<std::span<const std::byte>>& received,
                         const Request& request, const model::Catalogue& catalogue);

/// The same in memory of the caller, one room per field, which the block stays in.
model::MeshBlocks unpack(const std::vector<std::span<const std::byte>>& received,
                         const Request& request, const model::Catalogue& catalogue,
                         std::vector<base::Room>& rooms);

}  // namespace pillion::layout
