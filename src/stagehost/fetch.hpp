// SPDX-License-Identifier: BSD-3-Clause
// Brings records that belong to keys from the peers that have them to peers that request them: what
// a stage keeps on cells follows them when their blocks change hands, or after a restart.
#pragma once

#include <pillion/stage.h>

#include <span>

#include "stagehost/execution_context.hpp"

namespace pillion::stagehost {

/// Writes the records of `wanted` behind one another. Throws if no peer has one of them.
/// [collective over the peers]
void fetch(const pillion_records& have, std::span<const int64_t> wanted, void* records,
           const ExecutionContext& context);

}  // namespace pillion::stagehost
