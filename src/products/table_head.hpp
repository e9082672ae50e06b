// SPDX-License-Identifier: BSD-3-Clause
// The heads of tables that are on disk: how many publications a table has, and how many it lacks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace pillion::products {

/// What the folder of an analysis holds.
struct Written {
  bool any = false;  ///< some product
  /// Publications in tables over the run, as their heads say: the least of all; nothing if there is
  /// no such table.
  std::optional<int64_t> in_series;
};
Written publications_in(const std::filesystem::path& folder);

/// What a head says of publications that the rows lack, or have as a subsample only.
struct MissingCounts {
  int64_t published = 0;  ///< by the simulation; a table with this number lacks none of them
  int64_t skipped = 0;
  int64_t coarsened = 0;
  int64_t lost = 0;
};

/// Corrects the heads of the tables over the run in the folder of an analysis, where the stages
/// that wrote them can do so no more. Rows stay as they are, and so does a table that is complete:
/// one of a stage in the simulation. Throws ErrorCode::File.
void correct_heads(const std::filesystem::path& folder, const MissingCounts& counts);

}  // namespace pillion::products
