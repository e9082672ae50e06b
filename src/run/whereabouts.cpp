// SPDX-License-Identifier: BSD-3-Clause
// Reading progress files.
#include "run/whereabouts.hpp"

#include <fmt/format.h>

#include <exception>

#include "base/folder.hpp"
#include "base/value.hpp"
#include "products/whole_file.hpp"

namespace pillion::run {

namespace fs = std::filesystem;

namespace {

std::string text_at(const base::Value& map, const char* key) {
  const auto* found = map.find(key);
  return found == nullptr || !found->is_scalar() ? std::string() : found->text;
}

/// Adds the run of an output folder, if one says that it is active there.
void look(const fs::path& folder, std::vector<Whereabouts>& found) {
  const fs::path path = folder / "progress.json";
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return;
  try {
    base::Diagnostics ignored;
    const auto root = base::parse_yaml(products::read_file(path), path.string(), {}, &ignored);
    if (text_at(root, "state") != "running") return;
    Whereabouts run{folder, text_at(root, "run"), text_at(root, "id"), text_at(root, "host"), {}};
    if (const auto* job = root.find("batch_job"); job != nullptr && job->is_map())
      run.batch_job = {text_at(*job, "system"), text_at(*job, "id"), text_at(*job, "nodes")};
    found.push_back(std::move(run));
  } catch (const std::exception&) {
    // It is being replaced, or is another program's.
  }
}

}  // namespace

std::vector<Whereabouts> whereabouts(const fs::path& folder, const std::string& run) {
  constexpr size_t most = 2000;
  constexpr int depth = 2;  // such as ID/results of an ensemble
  std::vector<Whereabouts> all, found;
  std::error_code error;
  size_t looked = 0;
  std::vector<fs::path> level{folder};
  for (int d = 0; d <= depth; ++d) {
    std::vector<fs::path> below;
    for (const auto& inner : level) {
      look(inner, all);
      if (d == depth) continue;
      for (const auto& entry : base::entries_of(inner))
        if (looked < most && fs::is_directory(entry, error)) {
          below.push_back(entry);
          ++looked;
        }
    }
    level = std::move(below);
  }
  for (const auto& one : all)
    if (run.empty() || one.name == run || one.id == run ||
        fs::equivalent(one.folder, folder / run, error))
      found.push_back(one);
  return found;
}

namespace {

std::string description(const Whereabouts& run) {
  return fmt::format("run '{}' (id {}), which writes to '{}',", run.name, run.id,
                     run.folder.lexically_normal().string());
}

}  // namespace

std::string no_sign_of_life(const Whereabouts& run) {
  return fmt::format("{} was on node {}, and has shown no sign of life for some seconds",
                     description(run), run.host);
}

std::string directions(const Whereabouts& run) {
  const auto& job = run.batch_job;
  std::string where = fmt::format("{} is on node {}", description(run), run.host);
  if (!job.id.empty())
    where += fmt::format(", in {} job {}{}", job.system == "slurm" ? "Slurm" : "batch", job.id,
                         job.nodes.empty() ? "" : " on " + job.nodes);
  return where + "; attach on its nodes: `pillion runs` prints the command";
}

}  // namespace pillion::run
