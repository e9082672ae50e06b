// SPDX-License-Identifier: BSD-3-Clause
// Markers as text, a line for each thing said, so that others can add lines; and telling a run's
// entries from files of others, by the marker or by what the files say of themselves.
#include "run/run_marker.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/folder.hpp"
#include "base/value.hpp"
#include "model/names.hpp"
#include "products/whole_file.hpp"

namespace pillion::run {

namespace fs = std::filesystem;

namespace {

constexpr const char* head = "pillion: run 1";

}  // namespace

std::string format_mark(const RunMarker& mark) {
  std::string text = fmt::format(
      "# The results in this folder are those of a run of Pillion, which reads this file.\n{}\n"
      "id: {}\n",
      head, mark.id);
  for (const auto& id : mark.continues) text += fmt::format("continues: {}\n", id);
  text += fmt::format("host: {}\nboot: {}\nprocess: {}\npid_namespace: {}\nstarted: {}\n",
                      mark.host, mark.boot, mark.process, mark.pid_namespace, mark.started);
  for (const auto& folder : mark.folders) text += fmt::format("folder: {}\n", folder);
  if (!mark.ended.empty()) text += fmt::format("ended: {}\n", mark.ended);
  return text;
}

std::optional<RunMarker> parse_mark(const std::string& text) {
  if (text.find(head) == std::string::npos) return {};
  RunMarker mark;
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, colon), value = line.substr(colon + 2);
    if (key == "id") mark.id = value;
    else if (key == "continues") mark.continues.push_back(value);
    else if (key == "host") mark.host = value;
    else if (key == "boot") mark.boot = value;
    else if (key == "process") mark.process = std::strtoull(value.c_str(), nullptr, 10);
    else if (key == "pid_namespace") mark.pid_namespace = std::strtoull(value.c_str(), nullptr, 10);
    else if (key == "started") mark.started = value;
    else if (key == "ended") mark.ended = value;
    else if (key == "folder" && model::fault_of_analysis_name(value).empty())
      mark.folders.push_back(value);
  }
  return mark;
}

// In the output folder itself there may be files of other programs, and checkpoints.
bool is_leftover(const std::string& name) {
  constexpr std::array beginnings{".sidecars-", ".moving-",         ".report",
                                  ".progress",  ".catalogue.yaml.", "..pillion-run."};
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const char* text) { return name.starts_with(text); });
}

bool is_unfinished_product(const std::string& name) {
  return name.starts_with('.') && (name.ends_with(".partial") || name.ends_with(".part"));
}

bool begins_with(const fs::path& path, std::string_view text) {
  std::array<char, 512> first{};
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  const auto size = read(file, first.data(), first.size());
  close(file);
  return size > 0 &&
         std::string_view(first.data(), static_cast<size_t>(size)).find(text) != std::string::npos;
}

bool has_something(const fs::path& path) {
  std::error_code error;
  return !fs::is_directory(path, error) || !base::entries_of(path).empty();
}

namespace {

/// Whether a folder holds timelines that runs have written.
bool has_timelines(const fs::path& folder) {
  const auto entries = base::entries_of(folder);
  return std::any_of(entries.begin(), entries.end(), [](const auto& file) {
    return begins_with(file, "{\"displayTimeUnit\":\"ms\",");
  });
}

/// Whether an entry of an output folder is one of the files that runs leave beside the folders of
/// their analyses. A file that merely has such a name is not the run's.
bool is_account(const fs::path& path) {
  const std::string name = path.filename().string();
  const auto is_called = [&](const std::string& stem) {
    return name == stem + ".json" || (name.starts_with(stem + "-") && name.ends_with(".json"));
  };
  return (is_called("report") && begins_with(path, "\"pillion\": \"report ")) ||
         (is_called("progress") && begins_with(path, "\"pillion\": \"progress ")) ||
         (name == catalogue_name && begins_with(path, catalogue_head)) ||
         (name == "timeline" && has_timelines(path)) ||
         (name == "report.html" && begins_with(path, "Pillion run report"));
}

/// Names of analyses in a report or a progress file; none if it cannot be read.
std::vector<std::string> analyses_in(const fs::path& path) {
  std::vector<std::string> names;
  try {
    base::Diagnostics ignored;
    const auto root = base::parse_yaml(products::read_file(path), path.string(), {}, &ignored);
    const auto* analyses = root.find("analyses");
    if (analyses == nullptr) return {};
    for (const auto& [key, analysis] : analyses->entries)
      if (const auto* name = analysis.find("name"))
        if (model::fault_of_analysis_name(name->text).empty()) names.push_back(name->text);
  } catch (const Error&) {}
  return names;
}

}  // namespace

FolderState folder_state(const fs::path& folder, const std::string& marker) {
  FolderState state;
  state.mark = parse_mark(marker);
  std::vector<fs::path> accounts;
  std::error_code error;
  for (const auto& entry : base::entries_of(folder))
    if (is_account(entry)) accounts.push_back(entry.filename());
  if (!state.mark && !accounts.empty()) {
    // A copy without hidden files.
    state.mark.emplace();
    for (const auto& account : accounts)
      if (account.extension() == ".json") {
        const auto names = analyses_in(folder / account);
        state.mark->folders.insert(state.mark->folders.end(), names.begin(), names.end());
      }
  }
  state.entries = accounts;
  for (const auto& account : accounts)
    state.has_results |= !account.string().starts_with("progress") && account != catalogue_name;
  if (!state.mark) return state;
  auto& folders = state.mark->folders;
  std::sort(folders.begin(), folders.end());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  for (const auto& name : folders)
    if (fs::is_directory(folder / name, error)) {
      state.entries.emplace_back(name);
      state.has_results |= has_something(folder / name);
    }
  return state;
}

}  // namespace pillion::run
