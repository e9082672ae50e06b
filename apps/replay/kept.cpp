// SPDX-License-Identifier: BSD-3-Clause
// Looking for stages that write, by their names in the configuration.
#include "replay/kept.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <pillion/error.hpp>
#include <string_view>

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

/// The output folder as the file names it; "" if that takes parameters, or if the session will
/// refuse the file.
std::string output_of(const std::string& configuration) {
  try {
    const YAML::Node root = YAML::Load(configuration);
    const YAML::Node said = root.IsMap() ? root["output"] : YAML::Node(YAML::NodeType::Undefined);
    const YAML::Node path = said && said.IsMap() ? said["path"] : said;
    const auto name = path && path.IsScalar() ? path.as<std::string>() : std::string("results");
    return name.find('$') == std::string::npos ? name : "";
  } catch (const YAML::Exception&) {
    return "";
  }
}

/// Folders of analyses that the run's marker lists, whole.
std::vector<fs::path> folders_of_run(const fs::path& output) {
  std::vector<fs::path> out;
  std::ifstream marker(output / ".pillion-run");
  constexpr std::string_view key = "folder: ";
  for (std::string line; std::getline(marker, line);)
    if (line.starts_with(key))
      out.push_back(fs::weakly_canonical(output / line.substr(key.size())));
  return out;
}

}  // namespace

void expect_elsewhere(const std::vector<std::string>& files, const std::string& configuration,
                      const std::string& output) {
  const auto named = output.empty() ? output_of(configuration) : output;
  if (named.empty()) return;
  for (const auto& folder : folders_of_run(named))
    for (const auto& file : files)
      if (is_within(fs::weakly_canonical(file), folder))
        throw pillion::Error(
            pillion::ErrorCode::File,
            fmt::format("'{}' is among the results of the run in '{}', which are moved aside when "
                        "another run writes there; name another folder with --output",
                        file, named));
}

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
