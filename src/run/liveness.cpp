// SPDX-License-Identifier: BSD-3-Clause
// Looking at a process, and watching files.
#include "run/liveness.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/folder.hpp"
#include "base/process.hpp"
#include "base/value.hpp"
#include "products/whole_file.hpp"
#include "run/run_marker.hpp"

namespace pillion::run {

namespace fs = std::filesystem;

Liveness liveness_of(const RunMarker& mark) {
  if (!mark.ended.empty()) return Liveness::Ended;
  if (mark.process == 0 || mark.host != base::host_name() || mark.boot != node::boot_id() ||
      mark.pid_namespace != node::pid_namespace())
    return Liveness::Unknown;
  return node::is_alive(mark.process) ? Liveness::Active : Liveness::Ended;
}

namespace {

/// A file of progress whose writer says that it is active.
struct Renewed {
  fs::path path;
  std::string text;
  double heartbeat = 0;  ///< seconds
};

/// Nothing if the file cannot be read: it may be in the middle of being replaced.
std::string text_of(const fs::path& path) {
  try {
    return products::read_file(path);
  } catch (const std::exception&) {
    return {};
  }
}

std::optional<Renewed> renewed(const fs::path& path) {
  Renewed file{path, text_of(path)};
  try {
    base::Diagnostics ignored;
    const auto root = base::parse_yaml(file.text, path.string(), {}, &ignored);
    const auto *state = root.find("state"), *heartbeat = root.find("heartbeat_seconds");
    if (state == nullptr || state->text != "running" || heartbeat == nullptr) return {};
    file.heartbeat = heartbeat->as_real();
  } catch (const std::exception&) {
    return {};
  }
  return file;
}

}  // namespace

bool has_heartbeat(const fs::path& folder) {
  constexpr double longest = 30;
  std::vector<Renewed> files;
  double patience = 0;
  for (const auto& entry : base::entries_of(folder)) {
    const std::string name = entry.filename().string();
    if (!name.starts_with("progress") || !name.ends_with(".json")) continue;
    if (auto file = renewed(entry)) {
      patience = std::max(patience, std::min(2 * file->heartbeat + 1, longest));
      files.push_back(std::move(*file));
    }
  }
  const auto has_changed = [](const Renewed& file) {
    const std::string text = text_of(file.path);
    return !text.empty() && text != file.text;
  };
  // This rank alone waits; the others of its run are in a collective call until the folder is
  // taken. The run that is waited for knows nothing of it.
  return !files.empty() &&
         base::wait_until([&] { return std::any_of(files.begin(), files.end(), has_changed); },
                          base::monotonic_seconds() + patience, {0.05, 0.25});
}

}  // namespace pillion::run
