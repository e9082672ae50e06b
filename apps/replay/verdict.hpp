// SPDX-License-Identifier: BSD-3-Clause
// Whether the products are all that they should be, as the run's report has it.
#pragma once

#include <string>
#include <vector>

namespace replay {

/// What is wrong: analyses that failed, or that lack publications. Empty if nothing is. `text` is
/// that of report.json.
std::vector<std::string> faults_in(const std::string& text);

}  // namespace replay
