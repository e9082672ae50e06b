// SPDX-License-Identifier: BSD-3-Clause
// Looking ahead, and around.
#include "preflight/dry_run.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/text.hpp"
#include "node/room.hpp"
#include "node/shared_file.hpp"
#include "products/whole_file.hpp"
#include "run/attached_job.hpp"
#include "run/locations.hpp"
#include "run/saved_state.hpp"
#include "topology/place.hpp"

namespace pillion::preflight {

namespace fs = std::filesystem;

namespace {

/// In whole units, rounded up, so that a request for it is enough.
std::string at_least(int64_t bytes) {
  static constexpr const char* names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 10'000 && unit + 1 < std::size(names)) bytes = divide_up(bytes, 1024), ++unit;
  return fmt::format("{} {}", bytes, names[unit]);
}

}  // namespace

int64_t LaunchSize::simulating(const model::SidecarSpec& spec) const {
  if (ranks == 0 || spec.job == model::Job::Separate) return ranks;
  const int64_t beside =
      spec.per_node > 0 ? spec.per_node * std::max<int64_t>(nodes, 1) : spec.ranks;
  return std::max<int64_t>(ranks - beside, 1);
}

int64_t CutField::bytes() const {
  const auto one =
      static_cast<int64_t>(model::size_of(field->type)) * model::values_of(*mesh, *field);
  return is_per_item() ? one : one * mesh->cells[0] * mesh->cells[1] * mesh->cells[2];
}

int64_t DryRun::bytes_per_rank() const {
  return simulating == 0 ? 0 : divide_up(bytes, simulating);
}

namespace {

/// What is known of a field that a chain in the simulation makes or that is shared.
CutField crosser(const std::string& name, const model::AnalysisSpec& analysis,
                 const model::Catalogue& shared, stagehost::Chain* maker) {
  const bool is_shared = shared.find_field(name) != nullptr;
  const auto& catalogue = is_shared || maker == nullptr ? shared : maker->catalogue();
  const auto& field = catalogue.field(name);
  return {name, is_shared ? "" : analysis.name, &field, &catalogue.mesh(field.mesh)};
}

void add_once(std::vector<CutField>& all, const CutField& one) {
  const bool is_new = std::none_of(all.begin(), all.end(), [&](const CutField& c) {
    return c.name == one.name && c.made_by == one.made_by;
  });
  if (is_new) all.push_back(one);
}

int64_t bytes_on_meshes(const std::vector<CutField>& cut_fields, bool made_too) {
  int64_t bytes = 0;
  for (const auto& one : cut_fields)
    if (!one.is_per_item() && (made_too || one.made_by.empty())) bytes += one.bytes();
  return bytes;
}

/// Of fields that stages make: only the program's own can be in memory that sidecars see.
int64_t bytes_of_made(const std::vector<CutField>& cut_fields) {
  return bytes_on_meshes(cut_fields, true) - bytes_on_meshes(cut_fields, false);
}

std::vector<std::string> shared_needs(const model::AnalysisSpec& analysis,
                                      const model::Catalogue& catalogue,
                                      const stagehost::Chain* first,
                                      const stagehost::Chain* second) {
  std::set<std::string> names;
  for (const auto* chain : {first, second})
    if (chain != nullptr)
      for (const auto& name : chain->needed()) names.insert(name);
  if (analysis.when)
    for (const auto& quantity : analysis.when->quantities()) names.insert(quantity.field);
  std::erase_if(names, [&](const auto& name) {
    return catalogue.find_field(name) == nullptr || model::is_geometry(name);
  });
  return {names.begin(), names.end()};
}

}  // namespace

DryRun dry_run(const model::Configuration& configuration, const run::Chains& in_simulation,
               const run::Chains& in_sidecars, const LaunchSize& start) {
  DryRun forecast{.configuration = &configuration,
                  .analyses = {},
                  .cut_fields = {},
                  .simulating = start.simulating(configuration.sidecars),
                  .nodes = start.nodes};
  for (size_t a = 0; a < configuration.analyses.size(); ++a) {
    const auto& analysis = configuration.analyses[a];
    auto* first = in_simulation[a].get();
    auto* second = in_sidecars[a].get();
    forecast.analyses.push_back(
        {&analysis, (std::filesystem::path(configuration.output) / analysis.name).string(),
         shared_needs(analysis, configuration.catalogue, first, second),
         second != nullptr ? second->whole_for() : ""});
    std::vector<CutField> own;
    if (second != nullptr)
      for (const auto& name : second->needed())
        if (!model::is_geometry(name))
          own.push_back(crosser(name, analysis, configuration.catalogue, first));
    for (const auto& one : own) add_once(forecast.cut_fields, one);
    forecast.largest = std::max(forecast.largest, bytes_on_meshes(own, true));
    forecast.copied = std::max(forecast.copied, bytes_of_made(own));
  }
  forecast.bytes = bytes_on_meshes(forecast.cut_fields, true);
  // A run refuses to begin if all that is shared has no room together.
  forecast.largest = std::max(forecast.largest, bytes_on_meshes(forecast.cut_fields, false));
  if (!configuration.sidecars.through_node()) forecast.copied = forecast.largest;
  forecast.memory =
      node_memory(configuration, in_simulation, in_sidecars, forecast.simulating, start.nodes);
  return forecast;
}

namespace {

/// On as many nodes as can be, where that is not known.
LaunchSize spread_out(LaunchSize start, const model::SidecarSpec& spec) {
  const bool beside = spec.per_node > 0 && spec.job == model::Job::Same;
  if (start.nodes == 0) start.nodes = start.ranks / (beside ? spec.per_node + 1 : 1);
  return start;
}

}  // namespace

std::string judge_memory(const DryRun& forecast, const LaunchSize& start) {
  const auto& spec = forecast.configuration->sidecars;
  if (forecast.largest == 0) return {};
  const bool may_be_coarse =
      spec.when_full == model::WhenFull::Coarsen &&
      std::all_of(forecast.analyses.begin(), forecast.analyses.end(),
                  [](const AnalysisDryRun& one) { return one.whole_for.empty(); });
  const bool may_shrink = may_be_coarse || spec.when_full == model::WhenFull::Spill;
  const bool knows_nodes = start.nodes > 0 && forecast.simulating > 0;
  const LaunchSize mapping = spread_out(start, spec);
  const int64_t ranks = std::max<int64_t>(mapping.simulating(spec), 1);
  const int64_t most_nodes = std::clamp<int64_t>(mapping.nodes, 1, ranks);
  // Ranks of a node share its budget; the fewer they are, the more each of them has.
  const int64_t on_fullest = divide_up(ranks, most_nodes);
  const auto wanted_for = [&](int64_t bytes) { return divide_up(bytes, ranks) * on_fullest; };
  const int64_t wanted = wanted_for(forecast.largest);
  if (forecast.simulating > 0 && wanted_for(forecast.copied) > spec.memory && !may_shrink)
    base::fail(ErrorCode::Configuration,
               "a publication takes {} on every node even if {} simulation ranks are on {} nodes, "
               "more than 'sidecars: {{memory: {}}}'; raise that to {} at least, or set "
               "'when_full: {}'",
               base::format_bytes(wanted), ranks, most_nodes, base::format_bytes(spec.memory),
               at_least(wanted),
               spec.when_full == model::WhenFull::Coarsen ? "spill" : "coarsen' or 'spill");
  if (forecast.simulating > 0 && wanted > spec.memory && !may_shrink)
    return fmt::format(
        "a publication takes {} on a node, more than 'sidecars: {{memory: {}}}'; the run begins "
        "only if the program computes in memory of the session (pillion_allocate), which needs no "
        "copy, or with {} of memory",
        base::format_bytes(wanted), base::format_bytes(spec.memory), at_least(wanted));
  if (forecast.largest <= spec.memory || knows_nodes) return {};
  const int64_t nodes = divide_up(forecast.largest, std::max<int64_t>(spec.memory, 1));
  return fmt::format(
      "a publication takes {} in all, more than 'sidecars: {{memory: {}}}' of one node{}",
      base::format_bytes(forecast.largest), base::format_bytes(spec.memory),
      may_shrink
          ? fmt::format("; on fewer than {} nodes it is always made to fit ('when_full: {}')",
                        nodes, model::name_of(spec.when_full))
          : fmt::format("; the run needs {} nodes at least, or more memory on each", nodes));
}

// Sidecars take in one publication at least; on average, each has the same part of it.
std::string judge_receive(const DryRun& forecast, const LaunchSize& start) {
  const auto& spec = forecast.configuration->sidecars;
  if (forecast.largest == 0 || spec.through_node() || !spec.any()) return {};
  const int64_t sidecars = spec.ranks;
  const int64_t most_nodes = start.nodes > 0 ? std::min(start.nodes, sidecars) : sidecars;
  const int64_t on_fullest = divide_up(sidecars, most_nodes);
  const int64_t wanted = divide_up(forecast.largest, sidecars) * on_fullest;
  const std::string limit =
      spec.receive > 0
          ? fmt::format("'sidecars: {{receive: {}}}'", base::format_bytes(spec.receive))
          : fmt::format("the {} that sidecars may receive (four times 'memory')",
                        base::format_bytes(spec.receive_limit()));
  const bool may_be_coarse = spec.when_full == model::WhenFull::Coarsen;
  if (wanted > spec.receive_limit() && !may_be_coarse)
    base::fail(ErrorCode::Configuration,
               "a publication takes {} on every node with sidecars even if the {} sidecars are on "
               "{} nodes, more than {}; set 'receive: {}' at least, or more sidecars",
               base::format_bytes(wanted), sidecars, most_nodes, limit, at_least(wanted));
  if (forecast.largest <= spec.receive_limit() || start.nodes > 0) return {};
  return fmt::format(
      "a publication takes {} in all, more than {} on one node; spread the sidecars over {} nodes "
      "at least, or set 'receive'",
      base::format_bytes(forecast.largest), limit,
      divide_up(forecast.largest, spec.receive_limit()));
}

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
  const auto place = run::find_checkpoint(folder);
  const auto manifest = manifest_in(place);
  std::vector<std::string> missing;
  std::set<std::string> restored;
  for (const auto& analysis : configuration.analyses) {
    const fs::path saved = place / analysis.name;
    std::error_code error;
    if (!manifest.analyses.contains(analysis.name) || !fs::is_directory(saved, error))
      missing.push_back(analysis.name);
    else check_stages(saved, analysis), restored.insert(analysis.name);
  }
  run::check_meshes(manifest, configuration.catalogue, restored);
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

std::vector<std::string> lacking_here(const model::Configuration& configuration) {
  const auto& spec = configuration.sidecars;
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
  // The folder of the results is made when the run begins.
  const auto spill =
      node::spill_folder(spec.spill_folder, std::getenv("TMPDIR"), configuration.output);
  if (spec.when_full == model::WhenFull::Spill && spill != configuration.output)
    look([&] {
      try {
        (void)node::SharedFile::make(spill, 0);
      } catch (const Error& e) {
        base::fail(ErrorCode::File, "nothing can be spilled to '{}': {}", spill, e.what());
      }
    });
  return lacking;
}

}  // namespace pillion::preflight
