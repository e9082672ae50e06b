// SPDX-License-Identifier: BSD-3-Clause
// Reading the heads of tables, and correcting the counts in them.
#include "products/table_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/folder.hpp"
#include "products/whole_file.hpp"

namespace pillion::products {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view head_of_count = "# publications: ";

/// The number of publications in the head of a table; nothing if the head has none.
std::optional<int64_t> publications_of(const fs::path& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line) && line.starts_with("# ");)
    if (line.starts_with(head_of_count)) return std::atoll(line.c_str() + head_of_count.size());
  return {};
}

/// Whether a table is one of many, one of each step; see table_path().
bool is_of_one_step(const fs::path& file) {
  const auto number = file.stem().extension().string();
  return number.size() == 10 && number.find_first_not_of("0123456789", 1) == std::string::npos;
}

bool is_series(const fs::path& file) {
  return file.extension() == ".csv" && !file.filename().string().starts_with('.') &&
         !is_of_one_step(file);
}

}  // namespace

Written publications_in(const fs::path& folder) {
  Written written;
  for (const auto& file : base::entries_of(folder)) {
    if (file.filename().string().starts_with('.')) continue;
    written.any = true;
    if (!is_series(file)) continue;
    if (const auto found = publications_of(file))
      written.in_series = std::min(*found, written.in_series.value_or(*found));
  }
  return written;
}

namespace {

/// A line of a head with another number. One that has room for larger numbers keeps its length.
std::string with_number(const std::string& line, std::string_view key, int64_t number) {
  auto text = fmt::format("{}{}", key, number);
  const bool has_room = line.ends_with(' ');
  if (has_room && text.size() < line.size()) text.resize(line.size(), ' ');
  return text;
}

void correct_head(const fs::path& file, const MissingCounts& counts) {
  const std::array<std::pair<std::string_view, int64_t>, 3> numbers{
      {{"# skipped: ", counts.skipped},
       {"# coarsened: ", counts.coarsened},
       {"# lost: ", counts.lost}}};
  const auto content = read_file(file);
  std::istringstream in(content);
  std::string head;
  size_t end = 0;
  for (std::string line; std::getline(in, line) && line.starts_with("# ");) {
    end += line.size() + 1;
    for (const auto& [key, number] : numbers)
      if (line.starts_with(key)) line = with_number(line, key, number);
    head += line + "\n";
  }
  if (end > content.size() || head == content.substr(0, end)) return;
  WholeFile whole(file);
  whole.write(head);
  whole.write(std::string_view(content).substr(end));
  whole.finish(false);
}

}  // namespace

// A stage that died between two products has written one table more than the others.
void correct_heads(const fs::path& folder, const MissingCounts& counts) {
  std::map<fs::path, MissingCounts> series;
  for (const auto& file : base::entries_of(folder)) {
    if (!is_series(file)) continue;
    const auto own = publications_of(file).value_or(0);
    if (own >= counts.published) continue;
    auto& missing = series[file] = counts;
    missing.lost = std::min(counts.lost, counts.published - own);
  }
  for (const auto& [file, missing] : series) correct_head(file, missing);
}

}  // namespace pillion::products
