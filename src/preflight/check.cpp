// SPDX-License-Identifier: BSD-3-Clause
// Looking for lint.
#include "preflight/check.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "base/text.hpp"
#include "preflight/dry_run.hpp"
#include "products/whole_file.hpp"
#include "run/run_folder.hpp"
#include "stagehost/plugin.hpp"
#include "stagehost/setup.hpp"

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
  for (const auto& name : catalogue.field_names()) {
    const auto& parts = catalogue.field(name).parts;
    if (used.contains(name)) used.insert(parts.begin(), parts.end());
  }
  for (const auto& name : catalogue.mesh_names()) {
    const auto& mesh = catalogue.mesh(name);
    used.insert({mesh.coordinates, mesh.mask, mesh.weight});
    if (const auto* coordinates = catalogue.find_field(mesh.coordinates))
      used.insert(coordinates->parts.begin(), coordinates->parts.end());
  }
  const Value* fields = root.find("fields");
  if (fields == nullptr) return;
  for (const auto& [name, value] : fields->entries)
    if (!used.contains(name))
      out.push_back(at_key(value, fmt::format("no analysis needs field '{}'", name)));
}

// As many due steps as any run will see are tried for conditions on the step alone.
bool may_come_true(const model::AnalysisSpec& analysis) {
  const auto& when = *analysis.when;
  if (!when.quantities().empty() || !when.scalars().empty() || analysis.every.in_time())
    return true;
  if (when.text().find("time") != std::string::npos) return true;
  constexpr int64_t tries = 100'000;
  for (int64_t n = 0; n < tries; ++n)
    if (when.holds({{}, n * analysis.every.steps, 0, {}})) return true;
  return false;
}

/// Positions in other units than their mesh: lengths would be labelled with those of the mesh.
void units_of_positions(const DryRun& forecast, const Value& root, std::vector<std::string>& out) {
  const auto& catalogue = forecast.configuration->catalogue;
  const Value* fields = root.find("fields");
  for (const auto& name : catalogue.field_names()) {
    const auto& field = catalogue.field(name);
    const auto& mesh = catalogue.mesh(field.mesh);
    const bool is_place =
        name == mesh.coordinates || (mesh.kind == model::MeshKind::Particles && name == "position");
    if (!is_place || field.units.empty() || mesh.units.empty() || field.units == mesh.units)
      continue;
    const std::string sentence = fmt::format(
        "field '{}' is in {}, and its mesh '{}' in {}; distances have the units of the mesh, so "
        "give both the same",
        name, field.units, mesh.name, mesh.units);
    const Value* place = fields == nullptr ? nullptr : fields->find(name);
    out.push_back(place == nullptr ? sentence : at_key(*place, sentence));
  }
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

void sizes_of_meshes(const DryRun& forecast, std::vector<std::string>& out) {
  const auto& catalogue = forecast.configuration->catalogue;
  for (const auto& name : catalogue.mesh_names()) {
    const auto& mesh = catalogue.mesh(name);
    const int64_t cells = mesh.cells[0] * mesh.cells[1] * mesh.cells[2];
    if (model::has_boxes(mesh.kind) && mesh.level_of.empty() && cells < forecast.simulating)
      out.push_back(
          fmt::format("mesh '{}' has {} cells for {} simulation ranks, so some of them have none",
                      name, cells, forecast.simulating));
    if (mesh.levels() > 1)
      out.push_back(fmt::format(
          "mesh '{}' has {} levels; sizes of its fields count the cells of the coarsest alone, for "
          "nothing is known of finer boxes",
          name, mesh.levels()));
  }
}

}  // namespace

std::vector<std::string> lint(const DryRun& forecast, const Value& root) {
  std::vector<std::string> out;
  unused_fields(forecast, root, out);
  units_of_positions(forecast, root, out);
  never_due(forecast, out);
  idle_sidecars(forecast, root, out);
  no_choice(forecast, out);
  not_coarse(forecast, out);
  sizes_of_meshes(forecast, out);
  const auto lacking = lacking_here(*forecast.configuration);
  out.insert(out.end(), lacking.begin(), lacking.end());
  return out;
}

using base::Diagnostics;
using base::Value;

namespace {

bool names_place(const std::string& text, size_t end) {
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1])) != 0) --begin;
  return begin < end && begin > 1 && text[begin - 1] == ':';
}

/// "FILE:LINE: MESSAGE" in its parts.
Finding parts_of(const std::string& text, const CheckRequest& question) {
  const size_t end = text.find(": ");
  if (end == std::string::npos || !names_place(text, end)) return {question.file, 0, text};
  const size_t colon = text.rfind(':', end - 1);
  Finding remark{text.substr(0, colon), std::stoi(text.substr(colon + 1)), text.substr(end + 2)};
  if (remark.file == "the program's catalogue" && !question.catalogue_file.empty())
    remark.file = question.catalogue_file;
  return remark;
}

std::string text_of(const std::string& file) {
  try {
    return products::read_yaml_file(file);
  } catch (const Error& e) {
    throw Error(ErrorCode::Configuration,
                fmt::format("the configuration cannot be opened: {}", e.what()));
  }
}

model::Configuration read(const CheckRequest& question, Diagnostics& mistakes) {
  const std::string& file = question.of.empty() ? question.file : question.of;
  auto configuration =
      model::read_configuration(text_of(file), file, question.parameters, question.catalogue,
                                question.start.sidecars, question.overrides, &mistakes);
  if (!question.restart.empty()) configuration.restart = question.restart;
  if (question.of.empty()) return configuration;
  std::set<std::string> taken;
  for (const auto& analysis : configuration.analyses) taken.insert(analysis.name);
  configuration.analyses =
      model::read_attached_job_analyses(text_of(question.file), question.file, question.parameters,
                                        configuration.catalogue, taken, &mistakes);
  return configuration;
}

/// What went wrong in a stage, at the stage's place if it says none itself.
Error placed(const Error& failure, const Value& parameters) {
  const std::string text = failure.what();
  const bool is_placed = parameters.file && text.starts_with(*parameters.file + ":");
  if (is_placed) return failure;
  return {failure.code(),
          fmt::format("{}:{}: {}", *parameters.file, parameters.key_line, failure.what())};
}

void check_stage(const model::StageSpec& spec, bool knows_all_fields, model::Catalogue& catalogue,
                 std::vector<stagehost::DeclaredProduct>& products, Diagnostics& mistakes) {
  const stagehost::Plugin plugin(spec.name, spec.parameters);
  const size_t before = mistakes.found.size();
  (void)stagehost::complete_parameters(spec, plugin.table(), &mistakes);
  if (mistakes.found.size() != before) return;
  try {
    const stagehost::StageInstance stage(spec, catalogue, products);
  } catch (const Error& e) {
    const bool may_follow = !knows_all_fields &&
                            std::string_view(e.what()).find("unknown field '") != std::string::npos;
    if (!may_follow) throw placed(e, spec.parameters);
  }
}

/// Where fields are made: "'magnitude' on line 29 of analysis 'a'", by name.
using Makers = std::map<std::string, std::string>;

void note_makers(const model::Catalogue& before, const model::Catalogue& after,
                 const model::StageSpec& spec, const std::string& analysis, Makers& makers) {
  for (const auto& name : after.field_names())
    if (before.find_field(name) == nullptr)
      makers.try_emplace(name, fmt::format("stage '{}' on line {} of analysis '{}'", spec.name,
                                           spec.parameters.key_line, analysis));
}

/// Stages one by one; where one cannot be made, the fields that it would make are not known.
Makers check_stages(const model::Configuration& configuration, Diagnostics& mistakes) {
  Makers makers;
  for (const auto& analysis : configuration.analyses) {
    auto catalogue = configuration.catalogue;
    bool knows_all_fields = analysis.is_whole;
    std::vector<stagehost::DeclaredProduct> products;
    for (const auto& spec : analysis.stages) {
      const auto before = catalogue;
      knows_all_fields &= base::attempt(
          &mistakes, [&] { check_stage(spec, knows_all_fields, catalogue, products, mistakes); });
      note_makers(before, catalogue, spec, analysis.name, makers);
    }
  }
  return makers;
}

/// A field that is not known where it is used, and made elsewhere in the file.
void name_makers(const Makers& makers, Diagnostics& mistakes) {
  for (auto& mistake : mistakes.found) {
    const std::string text = mistake.what();
    for (const auto& [field, maker] : makers) {
      const std::string unknown = fmt::format("unknown field '{}'", field);
      const auto at = text.find(unknown);
      if (at == std::string::npos) continue;
      const bool in_condition = text.find("cannot read the condition") != std::string::npos;
      mistake =
          Error(mistake.code(),
                fmt::format("{}field '{}' is not known here: {} makes it; {}", text.substr(0, at),
                            field, maker,
                            in_condition ? "conditions see fields of the program alone"
                                         : "put that stage into this analysis, before this one"));
      break;
    }
  }
}

/// Throws at a key of the file, or of the file as a whole if the value is not from there.
template <class Deed>
void at_key(const Value& root, std::initializer_list<const char*> path, Deed&& deed) {
  const Value* at = &root;
  for (const char* key : path)
    if (const Value* next = at->find(key)) at = next;
  try {
    deed();
  } catch (const Error& e) {
    if (std::string_view(e.what()).starts_with((root.file ? *root.file : "") + ":")) throw;
    if (at == &root) throw;
    at->fail_at_key(e.what());
  }
}

void check_surroundings(const CheckRequest& question, const Value& root, CheckResult& checked,
                        Diagnostics& mistakes) {
  const auto& configuration = checked.configuration;
  const auto check = [&](std::initializer_list<const char*> path, auto&& deed) {
    base::attempt(&mistakes, [&] { at_key(root, path, deed); });
  };
  check({"output"}, [&] { check_output(configuration.output); });
  if (question.of.empty())
    check({"output"}, [&] {
      const auto note = run::judge_folder(configuration);
      if (!note.empty()) checked.notes.push_back({question.file, 0, note});
    });
  check({"sidecars"}, [&] { check_ranks(configuration.sidecars, question.start); });
  if (configuration.restart.empty()) return;
  check({"restart"}, [&] {
    for (const auto& name : check_restart(configuration.restart, configuration))
      checked.notes.push_back(
          {question.file, 0,
           fmt::format("analysis '{}' is not in the checkpoint '{}' and starts from scratch", name,
                       configuration.restart)});
  });
}

/// Those of the file's own that it gives a value and never names.
std::vector<std::string> unused_parameters(const Value& root, const Diagnostics& mistakes) {
  std::vector<std::string> out;
  if (const Value* own = root.find("parameters"))
    for (const auto& entry : own->entries)
      if (!mistakes.used_parameters.contains(entry.first)) out.push_back(entry.first);
  return out;
}

void check_parameters(const CheckRequest& question, const Value& root, const Diagnostics& mistakes,
                      std::vector<Finding>& found, std::vector<Finding>& notes) {
  std::set<std::string> known = mistakes.used_parameters;
  if (const Value* own = root.find("parameters"))
    for (const auto& entry : own->entries) known.insert(entry.first);
  for (const auto& name : unused_parameters(root, mistakes)) {
    const Value& own = *root.find("parameters")->find(name);
    notes.push_back({question.of.empty() ? question.file : question.of, own.key_line,
                     fmt::format("nothing in the file uses parameter '{}'", name)});
  }
  for (const auto& [name, value] : question.parameters)
    if (!known.contains(name))
      found.push_back(
          {question.file, 0,
           fmt::format("'--set {}={}' sets a parameter that the file does not use{}", name, value,
                       base::suggestion(name, {known.begin(), known.end()}))});
}

void dry_run(const CheckRequest& question, const Value& root, CheckResult& checked,
             Diagnostics& mistakes) {
  run::Run run;
  run.configuration = checked.configuration;
  checked.in_simulation = run::make_chains(run, topology::Role::Simulation, {});
  run.declared = run::declared_by(checked.in_simulation);
  checked.in_sidecars =
      run::make_chains(run, topology::Role::Sidecar, run::produced_by(checked.in_simulation));
  checked.forecast =
      dry_run(checked.configuration, checked.in_simulation, checked.in_sidecars, question.start);
  if (!question.of.empty()) return;
  const bool fits = base::attempt(&mistakes, [&] {
    at_key(root, {"sidecars", "memory"}, [&] {
      const auto note = judge_memory(*checked.forecast, question.start);
      if (!note.empty()) checked.notes.push_back({question.file, 0, note});
    });
  });
  // Without 'receive', what sidecars may receive follows from 'memory', whose mistake is enough.
  if (fits || checked.configuration.sidecars.receive > 0) {
    base::attempt(&mistakes, [&] {
      at_key(root, {"sidecars", "receive"}, [&] {
        const auto note = judge_receive(*checked.forecast, question.start);
        if (!note.empty()) checked.notes.push_back({question.file, 0, note});
      });
    });
  }
  for (const auto& odd : lint(*checked.forecast, root))
    checked.notes.push_back(parts_of(odd, question));
}

/// Fields that the file does not have may be the program's, or those of a run that it adds to.
void advise_on_fields(const CheckRequest& question, const Diagnostics& mistakes,
                      std::vector<Finding>& notes) {
  if (!question.catalogue.empty()) return;
  const auto is_elsewhere = [](const Error& mistake) {
    const std::string_view text = mistake.what();
    return text.find("unknown field '") != text.npos && text.find("did you mean") == text.npos;
  };
  if (std::none_of(mistakes.found.begin(), mistakes.found.end(), is_elsewhere)) return;
  notes.push_back(
      {question.file, 0,
       "the file has no such field; if the program offers fields of its own, as LAMMPS "
       "does, name a file with them: --catalogue FILE; a run of the program leaves it as "
       "catalogue.yaml in its output folder. For codes with an adapter, --catalogue lammps, "
       "nek5000 "
       "or saturne has what they offer usually"});
  if (question.of.empty())
    notes.back().message +=
        "; if a run shall be extended by this file, name that run's: --of RUN.yaml";
}

void check_all(const CheckRequest& question, CheckResult& checked, Diagnostics& mistakes) {
  checked.configuration = read(question, mistakes);
  Diagnostics known_already;
  const std::string& file = question.of.empty() ? question.file : question.of;
  const Value root = base::parse_yaml(text_of(file), file, question.parameters, &known_already);
  name_makers(check_stages(checked.configuration, mistakes), mistakes);
  check_surroundings(question, root, checked, mistakes);
  check_parameters(question, root, mistakes, checked.mistakes, checked.notes);
  advise_on_fields(question, mistakes, checked.notes);
  if (mistakes.found.empty() && checked.mistakes.empty())
    dry_run(question, root, checked, mistakes);
}

}  // namespace

std::unique_ptr<CheckResult> check(const CheckRequest& question) {
  auto checked = std::make_unique<CheckResult>();
  Diagnostics mistakes;
  try {
    base::attempt(&mistakes, [&] { check_all(question, *checked, mistakes); });
  } catch (const base::TooManyMistakes&) {
    checked->notes.push_back(
        {question.file, 0, "there are more mistakes; correct these and check again"});
  }
  for (const auto& mistake : mistakes.found)
    checked->mistakes.push_back(parts_of(mistake.what(), question));
  std::stable_sort(checked->mistakes.begin(), checked->mistakes.end(),
                   [](const Finding& a, const Finding& b) {
                     return std::tie(a.file, a.line) < std::tie(b.file, b.line);
                   });
  if (!checked->mistakes.empty()) checked->forecast.reset();
  return checked;
}

}  // namespace pillion::preflight
