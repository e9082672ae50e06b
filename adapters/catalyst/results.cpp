// SPDX-License-Identifier: BSD-3-Clause
// Tables are text: a head of lines that begin with '#', a line of names, and a line for each step.
#include "results.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <vector>

namespace pillion::catalyst {

using nlohmann::json;

namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream in(line);
  for (std::string word; std::getline(in, word, ',');) out.push_back(word);
  return out;
}

/// A number with a decimal point, in every locale of the program.
std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return {};
  return value;
}

/// The last line with text; only the end of the file is read.
std::string last_line(std::ifstream& in) {
  constexpr std::streamoff enough = 1 << 16;
  in.clear();
  in.seekg(0, std::ios::end);
  const std::streamoff size = in.tellg();
  in.seekg(std::max<std::streamoff>(0, size - enough));
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

/// Column by column; empty if the file is no table over time, or has no row yet.
json last_row(const std::filesystem::path& table) {
  std::ifstream in(table);
  std::string line;
  while (std::getline(in, line) && line.starts_with('#')) {}
  const auto names = split(line);
  if (names.empty() || names.front() != "step") return {};
  const std::string last = last_line(in);
  if (last == line) return {};
  const auto texts = split(last);
  if (texts.size() != names.size()) return {};
  json row = json::object();
  for (size_t c = 0; c < names.size(); ++c) {
    // JSON has no infinities; they go as the texts that they are.
    if (const auto value = number_in(texts[c])) row[names[c]] = fmt::format("{:.17g}", *value);
  }
  return row;
}

}  // namespace

std::string last_rows(const std::filesystem::path& report) {
  json out = json::object();
  std::error_code ignored;
  for (const auto& analysis : std::filesystem::directory_iterator(report.parent_path(), ignored)) {
    if (!analysis.is_directory(ignored)) continue;
    for (const auto& file : std::filesystem::directory_iterator(analysis.path(), ignored)) {
      if (file.path().extension() != ".csv") continue;
      auto row = last_row(file.path());
      if (!row.empty())
        out[analysis.path().filename().string()][file.path().stem().string()] = std::move(row);
    }
  }
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

void put_rows(const std::string& rows, const ConduitApi& api, RawNode* params) {
  const json tables = json::parse(rows);
  for (const auto& [analysis, of_analysis] : tables.items())
    for (const auto& [table, row] : of_analysis.items())
      for (const auto& [column, text] : row.items()) {
        const std::string path =
            fmt::format("catalyst/pillion/tables/{}/{}/{}", analysis, table, column);
        api.set_real(params, path.c_str(), number_in(text.get<std::string>()).value_or(0));
      }
}

void put_progress(const pillion_progress& progress, const ConduitApi& api, RawNode* params) {
  const auto integer = [&](const char* name, int64_t value) {
    api.set_integer(params, fmt::format("catalyst/pillion/progress/{}", name).c_str(), value);
  };
  const auto real = [&](const char* name, double value) {
    api.set_real(params, fmt::format("catalyst/pillion/progress/{}", name).c_str(), value);
  };
  integer("step", progress.step);
  real("time", progress.time);
  real("steps_per_second", progress.steps_per_second);
  integer("publications", progress.publications);
  integer("skipped", progress.skipped);
  integer("behind", progress.behind);
  real("stall_seconds", progress.stall_seconds);
  integer("disabled", progress.disabled);
}

}  // namespace pillion::catalyst
