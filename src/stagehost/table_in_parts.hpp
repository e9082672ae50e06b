// SPDX-License-Identifier: BSD-3-Clause
// A table whose rows are spread over the peers: the rows of all, in their order, in one file. Every
// peer formats and writes its own rows, so that no peer needs memory for all of them.
#pragma once

#include <pillion/stage.h>

#include "stagehost/publication.hpp"

namespace pillion::stagehost {

/// Writes the file, whole or not at all; the first peer's head stands before the rows. Throws on
/// all peers if columns of peers differ in number or one of them cannot write. [collective over the
/// peers]
void write_in_parts(const pillion_table& table, const ExecutionContext& context);

}  // namespace pillion::stagehost
