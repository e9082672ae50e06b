// SPDX-License-Identifier: BSD-3-Clause
// Which stages there are, and what one of them does, from the stages' own descriptions:
//   pillion-stages          all of them, one a line
//   pillion-stages NAME     one, with its parameters
//   pillion-stages --json   all of them with their parameters, for programs
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "stagehost/plugin.hpp"

namespace {

using pillion::base::Json;
using pillion::stagehost::Plugin;

constexpr const char* usage =
    "usage: pillion-stages [NAME] [--json]\n"
    "  NAME  of a stage: what it does, and its parameters; without it all stages are listed.\n"
    "  --json  for programs, with all parameters.\n"
    "Those in the folders of PILLION_STAGE_PATH come before Pillion's own.\n";

struct Asked {
  std::string name;  ///< empty: all
  bool as_json = false;
  Json described = Json::array();
  bool is_found = false;
  int failures = 0;
  std::string known;
};

/// Prints words in lines of at most `width` characters, each after `margin` spaces.
void print_wrapped(const std::string& text, int margin, size_t width) {
  std::string line;
  const auto put = [&] { std::printf("%*s%s\n", margin, "", line.c_str()); };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      put();
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  if (!line.empty()) put();
}

const char* summary_of(const pillion_stage_table& table) {
  return table.summary == nullptr ? "" : table.summary;
}

void print_whole(const Plugin& plugin) {
  const auto& table = plugin.table();
  std::printf("%s\n", table.name);
  print_wrapped(summary_of(table), 2, 92);
  for (int32_t p = 0; p < table.parameter_count; ++p) {
    const auto& parameter = table.parameters[p];
    const bool is_required = parameter.standard == nullptr;
    std::printf("\n  %s: %s (%s%s)\n", parameter.name, parameter.kind,
                is_required ? "required" : "default: ", is_required ? "" : parameter.standard);
    if (parameter.meaning != nullptr) print_wrapped(parameter.meaning, 6, 88);
  }
  std::printf("\n  from %s\n", plugin.path().c_str());
}

Json text_or_null(const char* text) { return text == nullptr ? Json() : Json(text); }

Json json_of(const std::string& name, const Plugin& plugin) {
  const auto& table = plugin.table();
  Json parameters = Json::array();
  for (int32_t p = 0; p < table.parameter_count; ++p) {
    const auto& parameter = table.parameters[p];
    parameters.push_back({{"name", parameter.name},
                          {"kind", text_or_null(parameter.kind)},
                          {"standard", text_or_null(parameter.standard)},
                          {"meaning", text_or_null(parameter.meaning)}});
  }
  return {{"name", name},
          {"summary", summary_of(table)},
          {"file", plugin.path().string()},
          {"parameters", std::move(parameters)}};
}

void show(const std::string& name, Asked& asked) {
  asked.known += (asked.known.empty() ? "" : ", ") + name;
  if (!asked.name.empty() && asked.name != name) return;
  asked.is_found = true;
  try {
    const Plugin plugin(name, {});
    if (asked.as_json) asked.described.push_back(json_of(name, plugin));
    else if (asked.name.empty())
      std::printf("%-16s %s\n", name.c_str(), summary_of(plugin.table()));
    else print_whole(plugin);
  } catch (const pillion::Error& e) {  // the others are listed nevertheless
    ++asked.failures;
    std::fprintf(stderr, "pillion: %s\n", e.what());
  }
}

}  // namespace

int main(int count, char** words) {
  Asked asked;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool wants_help = word == "--help" || word == "-h";
    if (word == "--json") asked.as_json = true;
    else if (word.empty() || word[0] == '-' || !asked.name.empty()) {
      std::fputs(usage, wants_help ? stdout : stderr);
      return wants_help ? 0 : 2;
    } else asked.name = word;
  }
  for (const auto& name : pillion::stagehost::stage_names(pillion::stagehost::stage_folders()))
    show(name, asked);
  if (!asked.name.empty() && !asked.is_found) {
    std::fprintf(stderr, "pillion: there is no stage '%s'; there are %s\n", asked.name.c_str(),
                 asked.known.c_str());
    return 1;
  }
  if (asked.as_json) std::printf("%s\n", pillion::base::format_json(asked.described, 1).c_str());
  return asked.failures == 0 ? 0 : 1;
}
