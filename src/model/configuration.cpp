// SPDX-License-Identifier: BSD-3-Clause
// Reading the configuration of a run.
#include "model/configuration.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace pillion::model {

using base::Reader;
using base::Value;

const char* name_of(WhenFull policy) { return policy == WhenFull::Skip ? "skip" : "wait"; }

size_t AnalysisSpec::cut() const {
  const auto first = std::find_if(stages.begin(), stages.end(),
                                  [](const StageSpec& s) { return s.place == Place::Sidecar; });
  return static_cast<size_t>(first - stages.begin());
}

namespace {

WhenFull read_policy(const Value& value) {
  const std::string& text = value.as_text();
  if (text == "skip") return WhenFull::Skip;
  if (text == "wait") return WhenFull::Wait;
  if (text == "coarsen" || text == "spill")
    value.fail(
        fmt::format("'when_full: {}' is reserved for a later version; use skip or wait", text));
  value.fail(fmt::format("unknown policy '{}'{}", text, base::suggestion(text, {"skip", "wait"})));
}

SidecarSpec read_sidecars(const Value& value) {
  SidecarSpec spec;
  Reader reader(value, "'sidecars'");
  for (const char* later : {"per_node", "nodes", "job"})
    if (const Value* found = reader.find(later))
      found->fail(
          fmt::format("'sidecars: {{{}: ...}}' is reserved for a later version; use "
                      "'ranks: N'",
                      later));
  if (const Value* ranks = reader.find("ranks")) {
    spec.ranks = ranks->as_integer();
    if (spec.ranks < 0)
      ranks->fail(fmt::format("the number of sidecar ranks cannot be {}", spec.ranks));
  }
  if (const Value* memory = reader.find("memory")) spec.memory = memory->as_bytes();
  if (const Value* policy = reader.find("when_full")) spec.when_full = read_policy(*policy);
  if (const Value* deadline = reader.find("deadline")) spec.deadline = deadline->as_seconds();
  reader.finish();
  return spec;
}

Place read_place(const Value& value) {
  const std::string& text = value.as_text();
  if (text == "simulation") return Place::Simulation;
  if (text == "sidecar") return Place::Sidecar;
  value.fail(
      fmt::format("unknown place '{}'{}", text, base::suggestion(text, {"simulation", "sidecar"})));
}

StageSpec read_stage(const Value& entry, Place standard) {
  if (!entry.is_map() || entry.entries.size() != 1)
    entry.fail("a stage is written '- name: {parameter: value, ...}'");
  const auto& [name, value] = entry.entries.front();
  StageSpec stage{.name = name, .place = standard, .parameters = value};
  if (value.is_null()) stage.parameters.kind = Value::Kind::Map;
  if (!stage.parameters.is_map())
    value.fail(fmt::format("the parameters of stage '{}' must be a map", name));
  auto& entries = stage.parameters.entries;
  const auto at =
      std::find_if(entries.begin(), entries.end(), [](const auto& e) { return e.first == "at"; });
  if (at != entries.end()) {
    stage.place = read_place(at->second);
    entries.erase(at);
  }
  return stage;
}

void read_stages(const Value& list, Place standard, bool sidecars, AnalysisSpec& analysis) {
  if (!list.is_list() || list.entries.empty())
    list.fail(fmt::format("analysis '{}' needs a list of at least one stage", analysis.name));
  for (const auto& [key, entry] : list.entries) {
    StageSpec stage = read_stage(entry, standard);
    if (stage.place == Place::Sidecar && !sidecars)
      entry.fail(fmt::format(
          "stage '{}' of analysis '{}' wants a sidecar, but there are none; set 'sidecars: "
          "{{ranks: N}}' or 'at: simulation'",
          stage.name, analysis.name));
    if (stage.place == Place::Simulation && analysis.in_sidecars() && !analysis.stages.empty())
      entry.fail(fmt::format(
          "stage '{}' of analysis '{}' would run in the simulation after a stage that runs in a "
          "sidecar; stages in the simulation come first",
          stage.name, analysis.name));
    analysis.stages.push_back(std::move(stage));
  }
}

bool is_file_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos;
}

AnalysisSpec read_analysis(const std::string& name, const Value& value, bool sidecars,
                           const Catalogue& catalogue) {
  AnalysisSpec analysis{.name = name, .every = {}, .when = {}, .stages = {}, .place = value};
  analysis.place.entries.clear();
  if (!is_file_name(name))
    value.fail(
        fmt::format("'{}' cannot name an analysis, for its products go to a folder of that "
                    "name",
                    name));
  Reader reader(value, "analysis '" + name + "'");
  if (const Value* every = reader.find("every")) analysis.every = read_schedule(*every);
  if (const Value* when = reader.find("when")) analysis.when.emplace(*when, catalogue);
  if (const Value* products = reader.find("products_every")) {
    analysis.products_every = products->as_integer();
    if (analysis.products_every < 0)
      products->fail("'products_every' counts publications; 0 means at the end only");
  }
  const Value& stages = reader.require("stages");
  reader.finish();
  read_stages(stages, sidecars ? Place::Sidecar : Place::Simulation, sidecars, analysis);
  return analysis;
}

void check_parameters(const Value* parameters) {
  if (parameters == nullptr) return;
  if (!parameters->is_map()) parameters->fail("'parameters' must be a map from names to values");
}

}  // namespace

Configuration read_configuration(const std::string& text, const std::string& file,
                                 const base::Parameters& parameters,
                                 const std::string& catalogue_text, int64_t sidecars_wanted) {
  Configuration configuration;
  configuration.text = text;
  configuration.file = file;
  configuration.parameters = parameters;
  if (!catalogue_text.empty()) {
    const Value offered = base::parse_yaml(catalogue_text, "the program's catalogue", parameters);
    configuration.catalogue.read(offered.find("meshes"), offered.find("fields"));
  }
  const Value root = base::parse_yaml(text, file, parameters);
  Reader reader(root, "the configuration");
  check_parameters(reader.find("parameters"));
  if (const Value* output = reader.find("output")) configuration.output = output->as_text();
  if (const Value* restart = reader.find("restart")) configuration.restart = restart->as_text();
  if (const Value* units = reader.find("units")) {
    Reader inner(*units, "'units'");
    if (const Value* time = inner.find("time")) configuration.time_units = time->as_text();
    inner.finish();
  }
  if (const Value* sidecars = reader.find("sidecars"))
    configuration.sidecars = read_sidecars(*sidecars);
  const Value* meshes = reader.find("meshes");
  const Value* fields = reader.find("fields");
  const Value& analyses = reader.require("analyses");
  reader.finish();
  configuration.catalogue.read(meshes, fields);

  auto& sidecars = configuration.sidecars;
  if (sidecars.ranks == 0) sidecars.ranks = sidecars_wanted;
  if (sidecars_wanted != 0 && sidecars.ranks != sidecars_wanted)
    root.fail(fmt::format(
        "{} ranks were started as sidecars, but the file says 'sidecars: {{ranks: {}}}'",
        sidecars_wanted, sidecars.ranks));
  if (!analyses.is_map()) analyses.fail("'analyses' must be a map from names to analyses");
  for (const auto& [name, value] : analyses.entries)
    configuration.analyses.push_back(
        read_analysis(name, value, sidecars.ranks > 0, configuration.catalogue));
  return configuration;
}

}  // namespace pillion::model
