// SPDX-License-Identifier: BSD-3-Clause
// What is allowed in a configuration and yet may not be what was meant.
#pragma once

#include <string>
#include <vector>

#include "preflight/dry_run.hpp"

namespace pillion::preflight {

/// Sentences, with "file:line: " before those that have a place. `root` is the file.
std::vector<std::string> lint(const DryRun& forecast, const base::Value& root);

}  // namespace pillion::preflight
