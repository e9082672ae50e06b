// SPDX-License-Identifier: BSD-3-Clause
// Whether what is read will still be there when it is read: the stage `write` takes away what an
// earlier run left in its place, and replaying a run with its own configuration would be such.
#pragma once

#include <string>
#include <vector>

namespace replay {

/// Throws if one of the files is among an earlier run's results in the output folder, where they
/// would be moved. `output` is what the command line says, or "". Before the session opens.
void expect_elsewhere(const std::vector<std::string>& files, const std::string& configuration,
                      const std::string& output);

/// Throws pillion::Error if an analysis of the configuration, whose text this is, writes datasets
/// where one of the files is. `output` is the folder that products go to.
void expect_kept(const std::vector<std::string>& files, const std::string& configuration,
                 const std::string& output);

}  // namespace replay
