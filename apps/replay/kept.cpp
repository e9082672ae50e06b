// SPDX-License-Identifier: BSD-3-Clause
// Looking for stages that write, by their names in the configuration.
#include "replay/kept.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <pillion/error.hpp>

namespace replay {
namespace {

namespace fs = std::filesystem;

bool writes(const YAML::Node& analysis) {
  for (const auto& stage : analysis["stages"])
    if (stage.IsMap() && stage["write"]) return true;
  return false;
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

}  // namespace

void expect_kept(const std::vector<std::string>& files, const std::string& configuration,
                 const std::string& output) {
  for (const auto& entry : YAML::Load(configuration)["analyses"]) {
    const auto analysis = entry.first.as<std::string>();
    if (!writes(entry.second)) continue;
    const auto folder = fs::weakly_canonical(fs::path(output) / analysis);
    for (const auto& file : files)
      if (is_within(fs::weakly_canonical(file), folder))
        throw pillion::Error(
            pillion::ErrorCode::File,
            fmt::format("'{}' would be lost: analysis '{}' of the configuration writes to the same "
                        "folder; say --output with another one",
                        file, analysis));
  }
}

}  // namespace replay
