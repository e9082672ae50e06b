// SPDX-License-Identifier: BSD-3-Clause
// Looking for lint.
#include "preflight/lint.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "preflight/environment.hpp"

namespace pillion::preflight {

using base::Value;

namespace {

std::string at_key(const Value& value, const std::string& sentence) {
  return fmt::format("{}:{}: {}", *value.file, value.key_line, sentence);
}

void unused_fields(const DryRun& forecast, const Value& root, std::vector<std::string>& out) {
  std::set<std::string> used;
  for (const auto& analysis : forecast.analyses)
    used.insert(analysis.needs.begin(), analysis.needs.end());
  if (forecast.configuration->sidecars.when_full == model::WhenFull::Coarsen) used.insert("id");
  const auto& catalogue = forecast.configuration->catalogue;
  for (const auto& name : catalogue.mesh_names()) used.insert(catalogue.mesh(name).coordinates);
  const Value* fields = root.find("fields");
  if (fields == nullptr) return;
  for (const auto& [name, value] : fields->entries)
    if (!used.contains(name))
      out.push_back(at_key(value, fmt::format("no analysis needs field '{}'", name)));
}

// As many due steps as any run will see are tried for conditions on the step alone.
bool may_come_true(const model::AnalysisSpec& analysis) {
  if (!analysis.when->quantities().empty() || analysis.every.in_time()) return true;
  if (analysis.when->text().find("time") != std::string::npos) return true;
  constexpr int64_t tries = 100'000;
  for (int64_t n = 0; n < tries; ++n)
    if (analysis.when->holds({}, n * analysis.every.steps, 0)) return true;
  return false;
}

void never_due(const DryRun& forecast, std::vector<std::string>& out) {
  for (const auto& [analysis, folder, needs, whole_for] : forecast.analyses)
    if (analysis->when && !may_come_true(*analysis))
      out.push_back(at_key(
          analysis->place,
          fmt::format("analysis '{}' is hardly ever due, for 'when: {}' holds at none of the first "
                      "100000 steps that 'every: {}' names",
                      analysis->name, analysis->when->text(), analysis->every.text())));
}

void idle_sidecars(const DryRun& forecast, const Value& root, std::vector<std::string>& out) {
  const auto& configuration = *forecast.configuration;
  const bool idle = std::none_of(configuration.analyses.begin(), configuration.analyses.end(),
                                 [](const auto& a) { return a.in_sidecars(); });
  if (!configuration.sidecars.any() || !idle) return;
  const std::string sentence = "there are sidecars, but no stage runs in them";
  const Value* sidecars = root.find("sidecars");
  out.push_back(sidecars == nullptr ? sentence : at_key(*sidecars, sentence));
}

void no_choice(const DryRun& forecast, std::vector<std::string>& out) {
  for (const auto& [analysis, folder, needs, whole_for] : forecast.analyses)
    if (analysis->wants_choice && !analysis->is_movable())
      out.push_back(at_key(analysis->place,
                           fmt::format("analysis '{}' says 'at: auto', but there are no sidecars, "
                                       "so all of it runs in the simulation",
                                       analysis->name)));
}

void not_coarse(const DryRun& forecast, std::vector<std::string>& out) {
  if (forecast.configuration->sidecars.when_full != model::WhenFull::Coarsen) return;
  for (const auto& one : forecast.analyses)
    if (!one.whole_for.empty())
      out.push_back(at_key(one.analysis->place,
                           fmt::format("stage '{}' cannot use coarsened publications, so analysis "
                                       "'{}' skips them; to have every step set 'when_full: wait' "
                                       "or run it 'at: simulation'",
                                       one.whole_for, one.analysis->name)));
}

void few_cells(const DryRun& forecast, std::vector<std::string>& out) {
  const auto& catalogue = forecast.configuration->catalogue;
  for (const auto& name : catalogue.mesh_names()) {
    const auto& mesh = catalogue.mesh(name);
    const int64_t cells = mesh.cells[0] * mesh.cells[1] * mesh.cells[2];
    if (mesh.kind == model::MeshKind::Uniform && cells < forecast.simulating)
      out.push_back(
          fmt::format("mesh '{}' has {} cells for {} simulation ranks, so some of them have none",
                      name, cells, forecast.simulating));
  }
}

}  // namespace

std::vector<std::string> lint(const DryRun& forecast, const Value& root) {
  std::vector<std::string> out;
  unused_fields(forecast, root, out);
  never_due(forecast, out);
  idle_sidecars(forecast, root, out);
  no_choice(forecast, out);
  not_coarse(forecast, out);
  few_cells(forecast, out);
  const auto lacking = lacking_here(forecast.configuration->sidecars);
  out.insert(out.end(), lacking.begin(), lacking.end());
  return out;
}

}  // namespace pillion::preflight
