// SPDX-License-Identifier: BSD-3-Clause
// A file of one step, with all attributes of openPMD 1.1.0, and room for values:
// https://github.com/openPMD/openPMD-standard/blob/1.1.0/STANDARD.md
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "records.hpp"

namespace pillion::stages::write_openpmd {

/// What files say beside values.
struct StepText {
  int64_t step = 0;
  double time = 0;
  double time_step = 0;  ///< the last one of the simulation
  std::string time_units;
  std::string pattern;  ///< of the names of files
  std::string origin, version;
};

/// Makes the file. Its values have their places, but are not there. Returns where each dataset
/// begins, in bytes, in the order of the parts and their datasets.
std::vector<int64_t> make_file(const std::filesystem::path& path, const StepText& text,
                               const std::vector<Part>& parts);

}  // namespace pillion::stages::write_openpmd
