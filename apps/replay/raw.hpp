// SPDX-License-Identifier: BSD-3-Clause
// What the stage `write` leaves with `format: raw`: blocks in a file of each rank, and YAML that
// says what is where.
#pragma once

#include "replay/distribute.hpp"
#include "replay/raw_index.hpp"
#include "replay/stored.hpp"

namespace replay {

constexpr const char* raw_ending = ".raw.yaml";

/// The fields that are wanted at the steps that are. Throws pillion::Error if a text makes
/// no sense, or if a file is missing, too short, or all blocks together are not the mesh.
std::vector<StoredStep> look_into_raw(const std::string& path, const Wanted& wanted);

/// Reads a part as values of a field's type, one after the other, [z, y, x, component].
void read_raw(const std::vector<RawBlock>& blocks, const Stored& stored, const Part& part,
              pillion_type type, std::byte* to);

}  // namespace replay
