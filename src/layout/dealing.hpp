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

}  // namespace pillion::layout
