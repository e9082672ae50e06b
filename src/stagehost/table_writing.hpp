// SPDX-License-Identifier: BSD-3-Clause
// Tables on their way from a stage to their files: whole, as rows that are added to those of
// earlier publications, or in parts of all peers. Of the latter every peer formats and writes its
// own rows, so that no peer needs memory for all of them.
#pragma once

#include <pillion/stage.h>

#include "stagehost/publication.hpp"

namespace pillion::stagehost {

/// Writes a table. Unless it is in parts, the first peer's is written, and other peers do nothing.
/// [collective over the peers if it is in parts]
void write_table(const pillion_table& table, const ExecutionContext& context);

/// Writes the file of a table in parts, whole or not at all; the first peer's head stands before
/// the rows. Throws on all peers if columns of peers differ in number or one of them cannot write.
/// [collective over the peers]
void write_in_parts(const pillion_table& table, const ExecutionContext& context);

}  // namespace pillion::stagehost
