// SPDX-License-Identifier: BSD-3-Clause
// Finding and loading stage plug-ins. Nothing in a plug-in's table is believed before its ABI
// version and size have been checked.
#pragma once

#include <pillion/stage.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/value.hpp"

namespace pillion::stagehost {

/// Folders that are searched: PILLION_STAGE_PATH, then those beside the library.
std::vector<std::filesystem::path> stage_folders();

/// Names of all stages in the folders, sorted.
std::vector<std::string> stage_names(const std::vector<std::filesystem::path>& folders);

/// The file of a stage in the first of the folders that has it; "" if none has.
std::string find_stage_file(const std::string& name,
                            const std::vector<std::filesystem::path>& folders);

class Plugin {
 public:
  /// Loads the stage called `name` from `file`, or from where this process finds it if that is ""
  /// or not there. Throws an error at `place` if there is no such stage, or ErrorCode::Plugin if it
  /// cannot be loaded.
  Plugin(const std::string& name, const base::Value& place, const std::string& file = {});
  [[nodiscard]] const pillion_stage_table& table() const { return *table_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::shared_ptr<void> library_;
  const pillion_stage_table* table_ = nullptr;
};

/// The table of functions through which plug-ins reach the host.
const pillion_stage_host& host_table();

}  // namespace pillion::stagehost
