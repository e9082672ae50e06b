// SPDX-License-Identifier: BSD-3-Clause
// Finding runs: files without a name that processes of this user hold open in /dev/shm, and whose
// header says that they are a run's. There is no list that could be out of date or left behind.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>

#include "base/folder.hpp"
#include "node/segment.hpp"

namespace pillion::node {
namespace {

namespace fs = std::filesystem;

std::optional<int> number_in(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

bool is_nameless_shared_file(const fs::path& link) {
  std::error_code error;
  const std::string target = fs::read_symlink(link, error).string();
  return !error && target.starts_with(std::string(memory_folder) + "/#") &&
         target.ends_with(" (deleted)");
}

void look_at(int number, int descriptor, std::vector<Found>& found) {
  try {
    if (const auto one = look_at_run(number, descriptor)) found.push_back(*one);
  } catch (const Error&) {
    // Another user's file, or a process that has just ended.
  }
}

void look_at_process(int number, const fs::path& folder, std::vector<Found>& found) {
  for (const auto& file : base::entries_of(folder / "fd")) {
    const auto descriptor = number_in(file.filename().string());
    if (descriptor && is_nameless_shared_file(file)) look_at(number, *descriptor, found);
  }
}

}  // namespace

std::vector<Found> find_runs() {
  std::vector<Found> found;
  for (const auto& entry : base::entries_of("/proc"))
    if (const auto number = number_in(entry.filename().string()))
      look_at_process(*number, entry, found);
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::pair(a.identity.run, a.identity.node) < std::pair(b.identity.run, b.identity.node);
  });
  found.erase(std::unique(found.begin(), found.end(),
                          [](const Found& a, const Found& b) {
                            return a.identity.run == b.identity.run &&
                                   a.identity.node == b.identity.node;
                          }),
              found.end());
  return found;
}

}  // namespace pillion::node
