// SPDX-License-Identifier: BSD-3-Clause
// Who sends what to whom: regions of boxes as layout::Moves, lists of particles as
// layout::ParticleMoves. Publications and exchanges among peers have the same plans. Where the
// receivers' boxes follow from a request, layout::plan_moves computes them without a message. Where
// neither side knows who has what, each part of the domain has a rank that learns which boxes of
// both sides lie there and tells the owners what to send. No rank ever knows all boxes.
#pragma once

#include <pillion/types.h>

#include "comm/communicator.hpp"
#include "layout/division.hpp"
#include "layout/particle_moves.hpp"
#include "redistribution/message_part.hpp"

namespace pillion::redistribution {

/// Boxes that this rank wants, ghost cells included. They may overlap each other; cells beyond the
/// domain are those of the other end where it is periodic, and come from nowhere elsewhere.
struct WantedBoxes {
  std::vector<layout::Box> boxes;
  layout::Box domain;
  std::array<bool, 3> periodic{};
};

/// What this rank sends to each rank of the communicator, itself included. A failure of one rank is
/// thrown on all. [collective]
std::vector<layout::Moves> plan_wanted_boxes(const comm::Communicator& ranks,
                                             const std::vector<layout::Box>& here,
                                             const WantedBoxes& wanted);

/// The particles that this rank sends to each of `ranks` ranks, by key or by place as requested;
/// only the latter needs the domain. The values of `mine` must stay.
layout::ParticleMoves plan_particles(const model::MeshBlocks& mine, const layout::Request& request,
                                     const pillion_domain& domain, int ranks);

}  // namespace pillion::redistribution
