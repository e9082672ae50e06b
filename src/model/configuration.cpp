// SPDX-License-Identifier: BSD-3-Clause
// Reading the configuration of a run.
#include "model/configuration.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/text.hpp"
#include "model/names.hpp"

namespace pillion::model {

using base::Reader;
using base::Value;

size_t AnalysisSpec::cut() const {
  const auto first = std::find_if(stages.begin(), stages.end(),
                                  [](const StageSpec& s) { return s.place != Place::Simulation; });
  return static_cast<size_t>(first - stages.begin());
}

namespace {

/// Which stages an analysis may have: in the simulation only, on both sides, on both sides with the
/// sidecars in a separate job, in an attached job only.
enum class Sides { Simulation, Both, Apart, AttachedJob };

Place read_place(const Value& value) {
  const std::string& text = value.as_text();
  if (text == "simulation") return Place::Simulation;
  if (text == "sidecar") return Place::Sidecar;
  if (text == "auto") return Place::Auto;
  value.fail(fmt::format("unknown place '{}'{}", text,
                         base::suggestion(text, {"simulation", "sidecar", "auto"})));
}

StageSpec read_stage(const Value& entry, Place standard) {
  if (!entry.is_map() || entry.entries.size() != 1)
    entry.fail(fmt::format(
        "a stage is written '- name: {{parameter: value, ...}}', found {}{}", base::to_flow(entry),
        entry.entries.size() > 1 ? "; are its parameters indented further than its name?" : ""));
  const auto& [name, value] = entry.entries.front();
  StageSpec stage{.name = name, .place = standard, .parameters = value};
  if (value.is_null()) stage.parameters.kind = Value::Kind::Map;
  if (!stage.parameters.is_map())
    value.fail(
        fmt::format("the parameters of stage '{}' must be a map '{{parameter: value}}', "
                    "found {}",
                    name, base::to_flow(value)));
  auto& entries = stage.parameters.entries;
  const auto at =
      std::find_if(entries.begin(), entries.end(), [](const auto& e) { return e.first == "at"; });
  if (at != entries.end()) {
    stage.place = read_place(at->second);
    entries.erase(at);
  }
  return stage;
}

/// Stages that say `auto` move together, so nothing stands behind them that stays.
void check_choice(const StageSpec& stage, Sides sides, const AnalysisSpec& analysis,
                  const Value& entry) {
  if (stage.place == Place::Auto && sides == Sides::AttachedJob)
    entry.fail(fmt::format(
        "stage '{}' of analysis '{}' says 'at: auto', but the stages of an attached job run in "
        "the attached job; leave out 'at'",
        stage.name, analysis.name));
  if (stage.place == Place::Auto && sides == Sides::Apart)
    entry.fail(
        fmt::format("stage '{}' of analysis '{}' says 'at: auto', but the sidecars are in a job of "
                    "their own, which may come and go; set 'at: simulation' or 'at: sidecar', or "
                    "leave out 'job: separate'",
                    stage.name, analysis.name));
  if (!analysis.in_sidecars() || stage.place == Place::Simulation) return;
  if ((stage.place == Place::Auto) != analysis.is_movable())
    entry.fail(fmt::format(
        "stage '{}' of analysis '{}' has 'at: {}' after a stage with 'at: {}'; stages with "
        "'auto' move together, so set it for all last stages or for none",
        stage.name, analysis.name, stage.place == Place::Auto ? "auto" : "sidecar",
        stage.place == Place::Auto ? "sidecar" : "auto"));
}

void check_place(const StageSpec& stage, Sides sides, const AnalysisSpec& analysis,
                 const Value& entry) {
  if (stage.place == Place::Sidecar && sides == Sides::Simulation)
    entry.fail(fmt::format(
        "stage '{}' of analysis '{}' wants a sidecar, but there are none; set 'sidecars: "
        "{{per_node: 1}}' or 'at: simulation'",
        stage.name, analysis.name));
  if (stage.place == Place::Simulation && sides == Sides::AttachedJob)
    entry.fail(fmt::format(
        "stage '{}' of analysis '{}' says 'at: simulation', but the stages of an attached job "
        "run in the attached job; leave out 'at'",
        stage.name, analysis.name));
  if (stage.place == Place::Simulation && analysis.in_sidecars())
    entry.fail(fmt::format(
        "stage '{}' of analysis '{}' would run in the simulation after a stage that runs in a "
        "sidecar{}; stages in the simulation come first",
        stage.name, analysis.name, analysis.is_movable() ? " if that is better" : ""));
}

void read_stages(const Value& list, Sides sides, AnalysisSpec& analysis,
                 base::Diagnostics* mistakes) {
  if (!list.is_list() || list.entries.empty())
    list.fail_at_key(
        fmt::format("analysis '{}' needs a list of at least one stage, each written '- name: "
                    "{{parameter: value}}'",
                    analysis.name));
  const Place standard = sides == Sides::Simulation ? Place::Simulation : Place::Sidecar;
  for (const auto& item : list.entries)
    analysis.is_whole &= attempt(mistakes, [&, &entry = item.second] {
      StageSpec stage = read_stage(entry, standard);
      check_choice(stage, sides, analysis, entry);
      analysis.wants_choice |= stage.place == Place::Auto;
      // Where there is nothing to choose from, `auto` counts as left out.
      if (stage.place == Place::Auto && sides == Sides::Simulation) stage.place = standard;
      check_place(stage, sides, analysis, entry);
      stage.in_separate_job =
          sides == Sides::AttachedJob || (sides == Sides::Apart && stage.place == Place::Sidecar);
      analysis.stages.push_back(std::move(stage));
    });
}

int64_t read_products_every(const Value& value) {
  const int64_t products_every = value.as_integer();
  if (products_every < 0)
    value.fail(
        fmt::format("'products_every' counts publications, 0 meaning at the end only; it "
                    "cannot be {}",
                    products_every));
  return products_every;
}

int64_t read_disable_after(const Value& value) {
  const int64_t disable_after = value.as_integer();
  if (disable_after < 1)
    value.fail(fmt::format("'disable_after' counts failures in a row, from 1 on; it cannot be {}",
                           disable_after));
  return disable_after;
}

AnalysisSpec read_analysis(const std::string& name, const Value& value, Sides sides,
                           const Catalogue& catalogue, base::Diagnostics* mistakes) {
  AnalysisSpec analysis{.name = name, .every = {}, .when = {}, .stages = {}, .place = value};
  analysis.place.entries.clear();
  const auto read = [&](auto&& part) { return attempt(mistakes, part); };
  read([&] {
    if (const auto fault = fault_of_analysis_name(name); !fault.empty())
      value.fail_at_key(
          fmt::format("'{}' cannot name an analysis, for its products go to a folder of that name; "
                      "{}",
                      shown(name), fault));
  });
  Reader reader(value, "analysis '" + name + "'");
  read([&] {
    if (const Value* every = reader.find("every")) analysis.every = read_schedule(*every);
  });
  read([&] {
    const Value* when = reader.find("when");
    if (when == nullptr) return;
    analysis.when.emplace(*when, catalogue);
    if (!analysis.when->compares())
      when->fail(
          fmt::format("the condition '{}' compares nothing, so it would hold at every step or at "
                      "none; compare with a number, as in 'max(u) > 0.5'",
                      when->text));
  });
  read([&] {
    if (const Value* products = reader.find("products_every"))
      analysis.products_every = read_products_every(*products);
  });
  read([&] {
    if (const Value* failures = reader.find("disable_after"))
      analysis.disable_after = read_disable_after(*failures);
  });
  const Value* stages = nullptr;
  read([&] { stages = &reader.require("stages"); });
  reader.finish(mistakes);
  if (stages != nullptr) read([&] { read_stages(*stages, sides, analysis, mistakes); });
  return analysis;
}

std::deque<AnalysisSpec> read_analyses(const Value& value, Sides sides, const Catalogue& catalogue,
                                       base::Diagnostics* mistakes) {
  std::deque<AnalysisSpec> analyses;
  if (!value.is_map())
    value.fail_at_key(fmt::format("'analyses' must be a map from names to analyses, found {}",
                                  base::to_flow(value)));
  for (const auto& entry : value.entries)
    attempt(mistakes, [&] {
      analyses.push_back(read_analysis(entry.first, entry.second, sides, catalogue, mistakes));
    });
  return analyses;
}

constexpr size_t longest_run_name = 60;

bool may_name_run(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

// A leading '-' would look like an option of `pillion attach`.
bool may_begin_run(char c) { return may_name_run(c) && c != '-' && c != '.'; }

std::string read_run(const Value& value) {
  const std::string& name = value.as_text();
  if (name.empty() || name.size() > longest_run_name || !may_begin_run(name[0]) ||
      !std::all_of(name.begin(), name.end(), may_name_run))
    value.fail(
        fmt::format("'{}' cannot name a run; use at most {} letters, digits, '.', '_' and '-', "
                    "beginning with a letter, a digit or '_'",
                    name, longest_run_name));
  return name;
}

std::string run_named_after(const std::string& output) {
  auto folder = std::filesystem::path(output).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  std::string name = folder.filename().string().substr(0, longest_run_name);
  if (name.empty() || name == "." || name == "..") return "run";
  std::replace_if(name.begin(), name.end(), std::not_fn(may_name_run), '_');
  if (!may_begin_run(name[0])) name[0] = '_';
  return name;
}

IfExists read_if_exists(const Value& value) {
  const std::string& text = value.as_text();
  if (text == "keep_aside") return IfExists::KeepAside;
  if (text == "overwrite") return IfExists::Overwrite;
  if (text == "refuse") return IfExists::Refuse;
  value.fail(fmt::format("'if_exists' must be 'keep_aside', 'overwrite' or 'refuse', found '{}'{}",
                         text, base::suggestion(text, {"keep_aside", "overwrite", "refuse"})));
}

void read_output(const Value& value, Configuration& configuration, base::Diagnostics* mistakes) {
  if (!value.is_map()) {
    configuration.output = read_path(value);
    return;
  }
  Reader reader(value, "'output'");
  attempt(mistakes, [&] {
    if (const Value* path = reader.find("path")) configuration.output = read_path(*path);
  });
  attempt(mistakes, [&] {
    if (const Value* if_exists = reader.find("if_exists"))
      configuration.if_exists = read_if_exists(*if_exists);
  });
  reader.finish(mistakes);
}

void check_parameters(const Value* parameters) {
  if (parameters == nullptr) return;
  if (!parameters->is_map()) parameters->fail("'parameters' must be a map from names to values");
}

/// `output: PATH` as the map that it stands for.
void write_out_output(Value& root) {
  for (auto& [key, value] : root.entries) {
    if (key != "output" || !value.is_scalar()) continue;
    Value path = value;
    value.kind = Value::Kind::Map;
    value.text.clear();
    value.entries.emplace_back("path", std::move(path));
  }
}

/// Values of parameters are in the tree by now.
void override_entry(Value& root, const std::string& key, const std::string& yaml) {
  if (key == "parameters" || key.starts_with("parameters."))
    base::fail(ErrorCode::Configuration,
               "'{}' cannot be overridden; set the parameter to a value instead", key);
  Value value = base::parse_yaml(yaml, "what overrides '" + key + "'", {});
  const bool is_path = key == "output" && value.is_scalar();
  if (is_path || key.starts_with("output.")) write_out_output(root);
  base::set_entry(root, is_path ? "output.path" : key, std::move(value));
}

std::string read_time_units(const Value& value) {
  Reader reader(value, "'units'");
  const Value* time = reader.find("time");
  reader.finish();
  return time == nullptr ? "" : time->as_text();
}

void read_offered(const std::string& text, const base::Parameters& parameters, Catalogue& catalogue,
                  base::Diagnostics* mistakes) {
  if (text.empty()) return;
  const Value offered = base::parse_yaml(text, "the program's catalogue", parameters, mistakes);
  catalogue.read(offered.find("meshes"), offered.find("fields"), mistakes);
  catalogue.read_scalars(offered.find("scalars"), mistakes);
}

Sides sides_of(const SidecarSpec& sidecars, bool knows_sidecars) {
  if (!knows_sidecars) return Sides::Both;
  if (!sidecars.any()) return Sides::Simulation;
  return sidecars.job == Job::Separate ? Sides::Apart : Sides::Both;
}

/// The analyses, if any, after the rest has been read; says whether the sidecars are known.
const Value* read_all_but_analyses(const Value& root, Configuration& configuration,
                                   bool& knows_sidecars, base::Diagnostics* mistakes) {
  const auto read = [&](auto&& part) { return attempt(mistakes, part); };
  Reader reader(root, "the configuration");
  read([&] { check_parameters(reader.find("parameters")); });
  read([&] {
    if (const Value* output = reader.find("output")) read_output(*output, configuration, mistakes);
  });
  read([&] {
    const Value* run = reader.find("run");
    configuration.run = run != nullptr ? read_run(*run) : run_named_after(configuration.output);
  });
  read([&] {
    if (const Value* restart = reader.find("restart")) configuration.restart = read_path(*restart);
  });
  read([&] {
    if (const Value* units = reader.find("units"))
      configuration.time_units = read_time_units(*units);
  });
  knows_sidecars = read([&] {
    if (const Value* sidecars = reader.find("sidecars"))
      configuration.sidecars = read_sidecars(*sidecars, mistakes);
  });
  const Value* meshes = reader.find("meshes");
  const Value* fields = reader.find("fields");
  const Value* scalars = reader.find("scalars");
  const Value* analyses = nullptr;
  read([&] { analyses = &reader.require("analyses"); });
  reader.finish(mistakes);
  configuration.catalogue.read(meshes, fields, mistakes);
  configuration.catalogue.read_scalars(scalars, mistakes);
  configuration.catalogue.settle_fields(mistakes);
  return analyses;
}

}  // namespace

Configuration read_configuration(const std::string& text, const std::string& file,
                                 const base::Parameters& parameters,
                                 const std::string& catalogue_text, int64_t sidecars_wanted,
                                 const base::Overrides& overrides, base::Diagnostics* mistakes) {
  Configuration configuration;
  configuration.text = text;
  configuration.file = file;
  configuration.parameters = parameters;
  const auto read = [&](auto&& part) { return attempt(mistakes, part); };
  read([&] { read_offered(catalogue_text, parameters, configuration.catalogue, mistakes); });
  read([&] {
    Value root = base::parse_yaml(text, file, parameters, mistakes);
    for (const auto& [key, yaml] : overrides) override_entry(root, key, yaml);
    if (mistakes != nullptr && root.is_map())
      base::mend_keys(root, "the configuration",
                      {"output", "run", "restart", "parameters", "units", "sidecars", "meshes",
                       "fields", "scalars", "analyses"},
                      *mistakes);
    bool knows_sidecars = true;
    const Value* analyses = read_all_but_analyses(root, configuration, knows_sidecars, mistakes);
    if (knows_sidecars)
      knows_sidecars =
          read([&] { settle_sidecars(configuration.sidecars, sidecars_wanted, root); });
    if (analyses != nullptr)
      configuration.analyses =
          read_analyses(*analyses, sides_of(configuration.sidecars, knows_sidecars),
                        configuration.catalogue, mistakes);
  });
  return configuration;
}

namespace {

void expect_values(const Value& value, const base::Diagnostics& mistakes) {
  if (value.is_scalar() && mistakes.meaningless.contains(value.place()) &&
      value.text.find('$') != std::string::npos)
    value.fail(fmt::format(
        "'sidecars:' needs the value of '{}' when the session is opened, because it determines the "
        "ranks that become sidecars; give it to the options, with --set or under 'parameters:'",
        value.text));
  for (const auto& [key, entry] : value.entries) expect_values(entry, mistakes);
}

}  // namespace

SidecarSpec read_sidecars_alone(const std::string& text, const std::string& file,
                                const base::Parameters& parameters, int64_t sidecars_wanted,
                                const base::Overrides& overrides) {
  base::Diagnostics mistakes;  // of the rest of the file
  Value root = base::parse_yaml(text, file, parameters, &mistakes);
  for (const auto& [key, yaml] : overrides)
    if (key == "sidecars" || key.starts_with("sidecars.")) override_entry(root, key, yaml);
  SidecarSpec spec;
  if (const Value* sidecars = root.find("sidecars")) {
    expect_values(*sidecars, mistakes);
    spec = read_sidecars(*sidecars);
  }
  settle_sidecars(spec, sidecars_wanted, root);
  return spec;
}

std::deque<AnalysisSpec> read_attached_job_analyses(
    const std::string& text, const std::string& file, const base::Parameters& parameters,
    const Catalogue& catalogue, const std::set<std::string>& taken, base::Diagnostics* mistakes) {
  const Value root = base::parse_yaml(text, file, parameters, mistakes);
  const auto read = [&](auto&& part) { return attempt(mistakes, part); };
  Reader reader(root, "the attached job's configuration");
  for (const char* key :
       {"output", "run", "restart", "units", "sidecars", "meshes", "fields", "scalars"})
    read([&] {
      (void)reader.find(key);
      if (const Value* found = root.find(key))
        found->fail_at_key(fmt::format(
            "'{}' is the run's to say; an attached job's file has only 'analyses' and 'parameters'",
            key));
    });
  read([&] { check_parameters(reader.find("parameters")); });
  const Value& analyses = reader.require("analyses");
  reader.finish(mistakes);
  auto added = read_analyses(analyses, Sides::AttachedJob, catalogue, mistakes);
  read([&] {
    if (analyses.entries.empty()) analyses.fail("an attached job needs at least one analysis");
  });
  for (const auto& analysis : added)
    read([&] {
      if (taken.contains(analysis.name))
        analysis.place.fail_at_key(fmt::format(
            "the run has an analysis '{}' already; give the attached job's another name",
            analysis.name));
    });
  return added;
}

}  // namespace pillion::model
