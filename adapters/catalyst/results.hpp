// SPDX-License-Identifier: BSD-3-Clause
// What a simulation gets back through catalyst_results: how the run is doing, and the last row of
// each table over time.
#pragma once

#include <pillion/pillion.h>

#include <filesystem>
#include <string>

#include "conduit.hpp"

namespace pillion::catalyst {

/// The last rows of the tables beside a run's report, as JSON: analysis, table, column, value.
/// Tables that cannot be read are left out.
std::string last_rows(const std::filesystem::path& report);

/// Puts such rows below "catalyst/pillion/tables".
void put_rows(const std::string& rows, const ConduitApi& api, RawNode* params);
/// Puts the numbers of pillion_progress below "catalyst/pillion/progress".
void put_progress(const pillion_progress& progress, const ConduitApi& api, RawNode* params);

}  // namespace pillion::catalyst
