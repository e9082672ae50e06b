// SPDX-License-Identifier: BSD-3-Clause
// Looking around.
#include "preflight/environment.hpp"

#include <unistd.h>

#include <cstring>
#include <map>

#include "base/text.hpp"
#include "node/shared_file.hpp"
#include "products/whole_file.hpp"
#include "run/attached_job.hpp"
#include "run/locations.hpp"
#include "run/saved_state.hpp"
#include "topology/place.hpp"

namespace pillion::preflight {

namespace fs = std::filesystem;

void check_output(const std::string& output) {
  if (output.empty())
    base::fail(ErrorCode::Configuration, "'output' is empty; name a folder for the products");
  std::error_code error;
  fs::path there = fs::absolute(output, error).lexically_normal();
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error))
    base::fail(ErrorCode::Configuration,
               "'output: {}' cannot be a folder, for '{}' is a file; name another", output,
               there.string());
  if (access(there.c_str(), W_OK | X_OK) != 0)
    base::fail(ErrorCode::Configuration,
               "'output: {}' cannot be written: {}: {}; name a folder of yours", output,
               there.string(), std::strerror(errno));
}

namespace {

run::SavedState manifest_in(const std::string& folder) {
  const fs::path file = fs::path(folder) / run::manifest_name;
  std::error_code error;
  if (!fs::is_directory(folder, error))
    base::fail(ErrorCode::Configuration,
               "'restart: {}': there is no such folder; name one that pillion_checkpoint wrote, or "
               "leave 'restart' out for a new run",
               folder);
  if (!fs::exists(file, error))
    base::fail(ErrorCode::Configuration,
               "'restart: {}': the folder holds no checkpoint, for it has no {}; name one that "
               "pillion_checkpoint wrote",
               folder, run::manifest_name);
  try {
    return run::read_manifest(folder);
  } catch (const Error& e) {
    throw Error(ErrorCode::Configuration,
                fmt::format("'restart: {}': the checkpoint cannot be read: {}", folder, e.what()));
  }
}

/// The state of stages is in folders with their number and name.
void check_stages(const fs::path& folder, const model::AnalysisSpec& analysis) {
  for (size_t s = 0; s < analysis.stages.size(); ++s) {
    const auto name = stagehost::state_name(s, analysis.stages[s].name);
    std::error_code error;
    if (!fs::is_directory(folder / name, error))
      analysis.place.fail_at_key(
          fmt::format("analysis '{}' had other stages when the checkpoint {} was written, which "
                      "does not hold '{}'; give the analysis another name to begin from scratch",
                      analysis.name, folder.parent_path().string(), name));
  }
}

}  // namespace

std::vector<std::string> check_restart(const std::string& folder,
                                       const model::Configuration& configuration) {
  const auto manifest = manifest_in(folder);
  std::vector<std::string> missing;
  for (const auto& analysis : configuration.analyses) {
    const fs::path saved = fs::path(folder) / analysis.name;
    std::error_code error;
    if (!manifest.analyses.contains(analysis.name) || !fs::is_directory(saved, error))
      missing.push_back(analysis.name);
    else check_stages(saved, analysis);
  }
  return missing;
}

void check_ranks(const model::SidecarSpec& spec, const LaunchSize& start) {
  if (start.ranks == 0) return;
  std::vector<topology::Role> wanted(static_cast<size_t>(start.ranks), topology::Role::Any);
  const int64_t sidecars = std::min(start.sidecars, start.ranks);
  std::fill(wanted.end() - sidecars, wanted.end(), topology::Role::Sidecar);
  if (spec.per_node == 0 || spec.job != model::Job::Same) {
    (void)topology::missing(wanted, spec.ranks);
    return;
  }
  std::map<int, std::vector<topology::Role>> on_node;
  const int ranks = static_cast<int>(start.ranks);
  for (int r = 0; r < ranks; ++r)
    on_node[run::overridden_node(r, ranks, std::max(static_cast<int>(start.nodes), 1))].push_back(
        wanted[static_cast<size_t>(r)]);
  for (const auto& [node, roles] : on_node)
    (void)topology::missing_on_node(roles, spec.per_node, node);
}

std::vector<std::string> lacking_here(const model::SidecarSpec& spec) {
  std::vector<std::string> lacking;
  const auto look = [&](auto&& deed) {
    try {
      deed();
    } catch (const Error& e) {
      lacking.push_back(fmt::format("on this machine, {}", e.what()));
    }
  };
  if (spec.through_node())
    look([&] {
      node::check_room(node::find_room(), spec.memory,
                       fmt::format("'sidecars: {{memory: {}}}'", base::format_bytes(spec.memory)));
    });
  if (spec.job == model::Job::Separate) look([] { (void)run::attach_program(); });
  if (spec.when_full == model::WhenFull::Spill && !spec.spill_folder.empty())
    look([&] {
      if (access(spec.spill_folder.c_str(), W_OK | X_OK) != 0)
        base::fail(ErrorCode::File, "nothing can be spilled to '{}': {}", spec.spill_folder,
                   std::strerror(errno));
    });
  return lacking;
}

}  // namespace pillion::preflight
