// SPDX-License-Identifier: BSD-3-Clause
// Which stages there are, and what one of them does, from the stages' own descriptions:
//   pillion-stages          all of them, one a line
//   pillion-stages NAME     one, with its parameters
//   pillion-stages --json   all of them with their parameters, for programs
#include <pillion/stages.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "json.hpp"

namespace {

using pillion::apps::json;
using pillion::apps::json_list;

constexpr const char* usage =
    "usage: pillion-stages [NAME] [--json]\n"
    "  NAME  of a stage: what it does, and its parameters; without it all stages are listed.\n"
    "  --json  for programs, with all parameters.\n"
    "Those in the folders of PILLION_STAGE_PATH come before Pillion's own.\n";

struct Asked {
  std::string name;  ///< empty: all
  bool as_json = false;
  std::vector<std::string> described;  ///< as JSON
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

void print_whole(const pillion_found_stage& stage) {
  const auto& table = *stage.table;
  std::printf("%s\n", table.name);
  print_wrapped(summary_of(table), 2, 92);
  for (int32_t p = 0; p < table.parameter_count; ++p) {
    const auto& parameter = table.parameters[p];
    const bool is_required = parameter.standard == nullptr;
    std::printf("\n  %s: %s (%s%s)\n", parameter.name, parameter.kind,
                is_required ? "required" : "default: ", is_required ? "" : parameter.standard);
    if (parameter.meaning != nullptr) print_wrapped(parameter.meaning, 6, 88);
  }
  std::printf("\n  from %s\n", stage.file);
}

std::string json_or_null(const char* text) { return text == nullptr ? "null" : json(text); }

std::string parameter_as_json(const pillion_parameter& parameter) {
  return "{\"name\": " + json(parameter.name) + ", \"kind\": " + json_or_null(parameter.kind) +
         ", \"standard\": " + json_or_null(parameter.standard) +
         ", \"meaning\": " + json_or_null(parameter.meaning) + "}";
}

std::string stage_as_json(const pillion_found_stage& stage) {
  const auto& table = *stage.table;
  std::vector<std::string> parameters;
  for (int32_t p = 0; p < table.parameter_count; ++p)
    parameters.push_back(parameter_as_json(table.parameters[p]));
  return "{\"name\": " + json(stage.name) + ", \"summary\": " + json(summary_of(table)) +
         ", \"file\": " + json(stage.file) + ",\n   \"parameters\": " + json_list(parameters, 3) +
         "}";
}

void tell(const pillion_found_stage* stage, void* context) {
  auto& asked = *static_cast<Asked*>(context);
  asked.known += (asked.known.empty() ? "" : ", ") + std::string(stage->name);
  if (!asked.name.empty() && asked.name != stage->name) return;
  asked.is_found = true;
  if (stage->table == nullptr) {
    ++asked.failures;
    std::fprintf(stderr, "pillion: %s\n", stage->failure);
  } else if (asked.as_json) {
    asked.described.push_back(stage_as_json(*stage));
  } else if (asked.name.empty()) {
    std::printf("%-16s %s\n", stage->name, summary_of(*stage->table));
  } else {
    print_whole(*stage);
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
  if (pillion_each_stage(tell, &asked) != PILLION_OK) {
    std::fprintf(stderr, "pillion: %s\n", pillion_error_message());
    return 1;
  }
  if (!asked.name.empty() && !asked.is_found) {
    std::fprintf(stderr, "pillion: there is no stage '%s'; there are %s\n", asked.name.c_str(),
                 asked.known.c_str());
    return 1;
  }
  if (asked.as_json) std::printf("%s\n", json_list(asked.described, 0).c_str());
  return asked.failures == 0 ? 0 : 1;
}
