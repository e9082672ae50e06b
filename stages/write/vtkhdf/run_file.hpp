// SPDX-License-Identifier: BSD-3-Clause
// A file of VTKHDF that has all steps of a run, as views of the files that have one each (HDF5's
// virtual datasets). It holds no values, so it is written again when steps are added or taken back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "content.hpp"

namespace pillion::stages::write_vtkhdf {

/// What is in the file of one step, but for values.
struct StepShape {
  struct Rows {
    pillion_type element = PILLION_FLOAT64;
    std::vector<int64_t> extents;  ///< rows first
  };
  std::string type;                      ///< VTK's
  std::map<std::string, Rows> numbers;   ///< datasets by their path in the group VTKHDF
  std::map<std::string, int64_t> texts;  ///< lengths of datasets of texts, by path
};

struct StepFile {
  std::string name;  ///< from the folder of the run's file
  double time = 0;
  StepShape shape;
};

/// Throws if the file cannot be read.
StepShape read_shape(const std::filesystem::path& path);

/// Writes the file `folder/name` with these steps. There is none, and what was there is removed, if
/// there are no steps, if their images are not of one size, or if they have different numbers of
/// levels. Throws if it cannot be written.
void write_run_file(const std::filesystem::path& folder, const std::string& name,
                    const std::vector<StepFile>& steps, bool durable);

}  // namespace pillion::stages::write_vtkhdf
