// SPDX-License-Identifier: BSD-3-Clause
// Who gets which particles: by key, or by place with those of neighbouring parts within a halo.
#pragma once

#include "layout/cell.hpp"
#include "layout/request.hpp"
#include "layout/shares.hpp"
#include "model/block.hpp"

namespace pillion::layout {

/// Shares that are not empty, by rank.
std::vector<Share> deal_by_key(const model::MeshBlocks& mine, const Request& request, int ranks);
std::vector<Share> deal_spatial(const model::MeshBlocks& mine, const Request& request,
                                const Cell& cell, int ranks);

/// The part of a domain that is a rank's, in units of the domain's edges: from lo to hi.
struct DomainPart {
  Vector lo, hi;
};
DomainPart spatial_part(const pillion_domain& domain, int rank, int ranks);

}  // namespace pillion::layout
