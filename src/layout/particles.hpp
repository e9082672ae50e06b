// SPDX-License-Identifier: BSD-3-Clause
// Particles on the move, on the side that receives them. Who carries the messages between the two
// sides is up to the caller.
#pragma once

#include <span>
#include <vector>

#include "layout/key_order.hpp"
#include "layout/particle_moves.hpp"

namespace pillion::layout {

/// One block made of what all ranks sent: owned particles first, then copies. ByKey: sorted by key.
model::MeshBlocks unpack(const std::vector<std::span<const std::byte>>& received,
                         const Request& request, const model::Catalogue& catalogue);

/// Memory for what is unpacked time after time.
struct UnpackingRoom {
  std::vector<base::ScratchBuffer> fields;
  KeyOrder order;
};

/// The same; the block stays in that room, and is good until the room is used again.
model::MeshBlocks unpack(const std::vector<std::span<const std::byte>>& received,
                         const Request& request, const model::Catalogue& catalogue,
                         UnpackingRoom& room);

}  // namespace pillion::layout
