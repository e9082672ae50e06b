// SPDX-License-Identifier: BSD-3-Clause
// Moves what a stage has computed itself from one division of a box of cells to another, such as
// between two directions of a Fourier transform. It goes the way of all fields.
#pragma once

#include <pillion/stage.h>

#include "stagehost/execution_context.hpp"

namespace pillion::stagehost {

/// The box of a division that this peer has; some may have none. Throws for layouts in which a peer
/// may have several.
model::Box part_of(const pillion_division& division, const comm::Communicator& peers);

/// Moves cells of `bytes_per_cell` bytes, packed in the box of one division, to that of another of
/// as many cells. [collective over the peers]
void regroup(const pillion_division& from, const pillion_division& to, int64_t bytes_per_cell,
             const void* source, void* target, const ExecutionContext& context);

}  // namespace pillion::stagehost
