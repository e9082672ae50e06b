// SPDX-License-Identifier: BSD-3-Clause
// Particles on the move: who gets which, and how they are packed. Planning and packing are local
// and may fail; the exchange between them belongs to the caller.
#pragma once

#include <pillion/types.h>

#include <vector>

#include "base/bytes.hpp"
#include "layout/request.hpp"
#include "model/block.hpp"

namespace pillion::layout {

/// What each of `ranks` ranks is sent, by the key of each particle.
std::vector<base::Bytes> pack_by_key(const model::MeshBlocks& mine, const Request& request,
                                     int ranks);

/// What each of `ranks` ranks is sent, by place: a regular division of the domain, each part grown
/// by request.halo. A particle within the halo of several parts, or of a periodic image of one, is
/// sent to each, shifted; positions are wrapped into the domain.
std::vector<base::Bytes> pack_spatial(const model::MeshBlocks& mine, const Request& request,
                                      const pillion_domain& domain, int ranks);

/// One block made of what all ranks sent: owned particles first, then copies. ByKey: sorted by key.
model::MeshBlocks unpack(const std::vector<base::Bytes>& received, const Request& request,
                         const model::Catalogue& catalogue);

}  // namespace pillion::layout
