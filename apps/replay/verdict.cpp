// SPDX-License-Identifier: BSD-3-Clause
// JSON is YAML, for which there is a reader.
#include "replay/verdict.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace replay {

std::vector<std::string> faults_in(const std::string& text) {
  std::vector<std::string> faults;
  for (const auto& analysis : YAML::Load(text)["analyses"]) {
    const auto name = analysis["name"].as<std::string>();
    if (const auto why = analysis["disabled"]; why && !why.IsNull())
      faults.push_back(fmt::format("analysis '{}' failed: {}", name, why.as<std::string>()));
    for (const char* gap : {"skipped", "coarsened", "dropped", "lost"})
      if (const auto count = analysis[gap].as<int64_t>(0); count > 0)
        faults.push_back(fmt::format("analysis '{}' lacks steps: {} {}", name, count, gap));
  }
  return faults;
}

}  // namespace replay
