// SPDX-License-Identifier: BSD-3-Clause
// Finds mistakes in a configuration without the simulation, and predicts the run:
//   pillion-check CONFIGURATION.yaml
//   pillion-check EXTRA.yaml --of RUN.yaml    analyses to add to a run
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "base/json.hpp"
#include "preflight/check.hpp"

namespace pillion::apps {

// The findings of a check, for people and for programs.

using base::Json;
using preflight::AnalysisDryRun;
using preflight::CutField;
using preflight::DryRun;
using preflight::Finding;

namespace {

std::string bytes_text(int64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) value /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

std::string counted(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string padded(std::string text, size_t width) {
  // Only bytes that begin a character take a column.
  const auto columns = static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
  if (columns < width) text.append(width - columns, ' ');
  return text;
}

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

/// The line, without what would harm a terminal; a long one, or one far down a long file, is left
/// out.
std::string line_of(const Finding& finding) {
  constexpr size_t longest_file = size_t{512} << 10, longest_line = 500;
  std::string text(longest_file, '\0');
  std::ifstream in(finding.file);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  std::istringstream lines(text);
  std::string line;
  for (int64_t n = 0; n < finding.line; ++n)
    if (!std::getline(lines, line)) return {};
  if (line.size() > longest_line) return {};
  const auto is_harmful = [](char c) {
    return std::iscntrl(static_cast<unsigned char>(c)) != 0 && c != '\t' && c != '\r';
  };
  std::replace_if(line.begin(), line.end(), is_harmful, '?');
  return line.find_first_not_of(" \t\r") == std::string::npos ? "" : line;
}

std::string sentence(const Finding& finding) {
  const std::string line = finding.line > 0 ? ":" + std::to_string(finding.line) : "";
  return finding.file + line + ": " + finding.message + "\n";
}

bool is_same_place(const Finding& a, const Finding& b) {
  return a.line == b.line && a.file == b.file;
}

std::string with_line(const Finding& finding) {
  const std::string line = line_of(finding);
  const auto number = std::to_string(finding.line);
  return sentence(finding) + (line.empty() ? "" : padded("", 6) + number + " | " + line + "\n");
}

std::string sidecars_of(const model::SidecarSpec& spec) {
  if (spec.ranks == 0 && spec.per_node == 0) return "none";
  const bool separate = spec.job == model::Job::Separate;
  const std::string how = spec.per_node == 0
                              ? counted(spec.ranks, "rank") + " of the job, through the network"
                              : counted(spec.per_node, separate ? "rank" : "rank of the job") +
                                    " on every node" + (separate ? ", in a job of their own" : "") +
                                    ", through its memory";
  const std::string memory =
      how + "; " + bytes_text(spec.memory) +
      " on every node for what is under way, when full: " + model::name_of(spec.when_full);
  if (spec.through_node()) return memory;
  return memory + "; " + bytes_text(spec.receive_limit()) +
         " to receive on every node with sidecars; sent while the program computes if it "
         "initialises MPI with MPI_THREAD_MULTIPLE, otherwise only within pillion_step, up to one "
         "step late";
}

std::string place_of(const model::AnalysisSpec& analysis) {
  const auto& stages = analysis.stages;
  const auto beside = std::count_if(stages.begin(), stages.end(), [](const auto& stage) {
    return stage.place != model::Place::Simulation;
  });
  if (beside == 0) return "in the simulation";
  const std::string rest = stages.back().place == model::Place::Auto
                               ? "the simulation or the sidecars as the run finds better"
                               : "the sidecars";
  return static_cast<size_t>(beside) == stages.size() ? "in " + rest
                                                      : "in the simulation, then " + rest;
}

std::string chain_of(const model::AnalysisSpec& analysis) {
  std::string out;
  const model::StageSpec* before = nullptr;
  for (const auto& stage : analysis.stages) {
    if (before != nullptr) out += before->place == stage.place ? ", " : " | ";
    out += stage.name;
    before = &stage;
  }
  return out;
}

std::string describe(const AnalysisDryRun& one) {
  const auto& analysis = *one.analysis;
  return "  " + analysis.name + ": every " + analysis.every.text() +
         (analysis.when ? ", when " + analysis.when->text() : "") + ", " + place_of(analysis) +
         "\n" + "      stages    " + chain_of(analysis) + "\n" + "      needs     " +
         listed(one.needs) + "\n" + "      products  in " + one.folder + "\n";
}

std::string describe(const CutField& one, size_t width) {
  const std::string components =
      one.field->components > 1 ? " x " + std::to_string(one.field->components) : "";
  return "  " + padded(one.name, width) + padded(model::name_of(one.field->type) + components, 13) +
         padded(bytes_text(one.bytes()), 10) +
         (one.is_per_item() ? " for each of '" : " of mesh '") + one.mesh->name + "'" +
         (one.made_by.empty() ? "" : ", made in analysis '" + one.made_by + "'") + "\n";
}

std::string item_of(const CutField& one) {
  if (!one.is_per_item()) return "mesh";
  return one.mesh->kind == model::MeshKind::Particles ? "particle" : "element";
}

std::string describe_cut(const DryRun& forecast) {
  if (forecast.cut_fields.empty()) return {};
  size_t width = 0;
  std::map<std::string, int64_t> of_items;
  for (const auto& one : forecast.cut_fields) {
    width = std::max(width, one.name.size() + 2);
    if (one.is_per_item()) of_items[item_of(one) + " of '" + one.mesh->name + "'"] += one.bytes();
  }
  std::string out = "\ncrosses to the sidecars, when all analyses are due\n";
  for (const auto& one : forecast.cut_fields) out += describe(one, width);
  for (const auto& [item, bytes] : of_items)
    out += "  " + bytes_text(bytes) + " for each " + item + "\n";
  if (forecast.bytes == 0) return out;
  const int64_t per_rank = forecast.bytes_per_rank();
  return out + "  " + bytes_text(forecast.bytes) + " of meshes in all" +
         (per_rank > 0 ? ", " + bytes_text(per_rank) + " from each of " +
                             counted(forecast.simulating, "simulation rank")
                       : "") +
         "; a node has room for " + bytes_text(forecast.configuration->sidecars.memory) + "\n";
}

std::string item_of(const model::Configuration& configuration, const std::string& mesh) {
  const auto kind = configuration.catalogue.mesh(mesh).kind;
  if (kind == model::MeshKind::Unstructured) return "cell";
  return kind == model::MeshKind::Particles ? "particle" : "element";
}

std::string describe_memory(const DryRun& forecast) {
  std::string out;
  for (const auto& node : forecast.memory) {
    if (node.uses.empty()) continue;
    const std::string which = forecast.nodes > 0 ? "a " + node.node : "one " + node.node;
    std::string ranks;
    if (node.simulation.on_node > 0 && forecast.simulating > 0)
      ranks = counted(node.simulation.on_node, "simulation rank");
    if (node.sidecars.on_node > 0)
      ranks += (ranks.empty() ? "" : ", ") + counted(node.sidecars.on_node, "sidecar");
    out += "\nmemory of " + which + " at most" + (ranks.empty() ? "" : " (" + ranks + ")") + "\n";
    for (const auto& use : node.uses) {
      out += "  " + padded((use.is_within ? "  of it " : "") + use.purpose, 24) +
             padded(bytes_text(use.bytes), 12) + use.origin + "\n";
      for (const auto& [mesh, bytes] : use.per_item)
        out += "  " + padded("", 24) + "and " + bytes_text(bytes) + " for each " +
               item_of(*forecast.configuration, mesh) + " of '" + mesh + "'\n";
    }
    if (node.uses.size() > 1) out += "  " + padded("in all", 24) + bytes_text(node.bytes()) + "\n";
  }
  return out;
}

std::string describe(const DryRun& forecast) {
  const auto& configuration = *forecast.configuration;
  std::string out = "\noutput    " + configuration.output + ", of run '" + configuration.run + "'";
  if (!configuration.restart.empty()) out += ", which resumes from " + configuration.restart;
  out += "\nsidecars  " + sidecars_of(configuration.sidecars) + "\n\nanalyses\n";
  for (const auto& analysis : forecast.analyses) out += describe(analysis);
  return out + describe_cut(forecast) + describe_memory(forecast);
}

Json json_of(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const auto& finding : findings)
    out.push_back({{"file", finding.file},
                   {"line", finding.line > 0 ? Json(finding.line) : Json()},
                   {"message", finding.message}});
  return out;
}

Json json_of(const AnalysisDryRun& one) {
  constexpr const char* places[] = {"simulation", "sidecar", "auto"};
  const auto& analysis = *one.analysis;
  Json stages = Json::array();
  for (const auto& stage : analysis.stages)
    stages.push_back({{"name", stage.name}, {"at", places[static_cast<size_t>(stage.place)]}});
  return {{"name", analysis.name},
          {"every", analysis.every.text()},
          {"when", analysis.when ? Json(analysis.when->text()) : Json()},
          {"products_every", analysis.products_every},
          {"folder", one.folder},
          {"stages", std::move(stages)},
          {"needs", one.needs}};
}

Json json_of(const CutField& one) {
  return {{"field", one.name},
          {"mesh", one.mesh->name},
          {"made_by", base::text_or_null(one.made_by)},
          {"type", model::name_of(one.field->type)},
          {"components", one.field->components},
          {"bytes", one.bytes()},
          {"per", item_of(one)}};
}

Json json_of(const preflight::NodeMemory& node) {
  Json uses = Json::array();
  for (const auto& use : node.uses)
    uses.push_back({{"purpose", use.purpose},
                    {"origin", use.origin},
                    {"bytes", use.bytes},
                    {"bytes_per_item", use.per_item},
                    {"is_within", use.is_within}});
  return {{"node", node.node}, {"bytes", node.bytes()}, {"uses", std::move(uses)}};
}

/// Null unless it is known, which is above 0.
Json known(int64_t number) { return number > 0 ? Json(number) : Json(); }

void add(Json& out, const DryRun& forecast) {
  const auto& configuration = *forecast.configuration;
  const auto& sidecars = configuration.sidecars;
  out["output"] = configuration.output;
  out["run"] = configuration.run;
  out["restart"] = base::text_or_null(configuration.restart);
  out["sidecars"] = {{"ranks", sidecars.ranks},
                     {"per_node", sidecars.per_node},
                     {"job", model::name_of(sidecars.job)},
                     {"when_full", model::name_of(sidecars.when_full)},
                     {"memory", sidecars.memory}};
  out["simulation_ranks"] = known(forecast.simulating);
  out["analyses"] = Json::array();
  for (const auto& analysis : forecast.analyses) out["analyses"].push_back(json_of(analysis));
  out["crossing"] = Json::array();
  for (const auto& field : forecast.cut_fields) out["crossing"].push_back(json_of(field));
  out["bytes"] = forecast.bytes;
  out["bytes_per_rank"] = known(forecast.bytes_per_rank());
  out["memory"] = Json::array();
  for (const auto& node : forecast.memory) out["memory"].push_back(json_of(node));
}

}  // namespace

/// Mistakes with the lines that they are on, or what will happen; notes at the end.
std::string report_for_people(const preflight::CheckResult& result, const std::string& file) {
  std::string out;
  const auto& mistakes = result.mistakes;
  for (size_t m = 0; m < mistakes.size(); ++m)
    out += m + 1 < mistakes.size() && is_same_place(mistakes[m], mistakes[m + 1])
               ? sentence(mistakes[m])
               : with_line(mistakes[m]);
  out += file + ": " +
         (mistakes.empty() ? "no mistakes"
                           : counted(static_cast<int64_t>(mistakes.size()), "mistake")) +
         "\n";
  if (result.forecast) out += describe(*result.forecast);
  if (!result.notes.empty()) out += "\n";
  for (const auto& note : result.notes) out += "note: " + sentence(note);
  return out;
}

/// The same as JSON; docs/configuration.md has its keys.
std::string report_as_json(const preflight::CheckResult& result, const std::string& file) {
  Json out = {
      {"file", file}, {"mistakes", json_of(result.mistakes)}, {"notes", json_of(result.notes)}};
  if (result.forecast) add(out, *result.forecast);
  return base::format_json(out, 2) + "\n";
}

}  // namespace pillion::apps

namespace {

constexpr const char* usage =
    "usage: pillion-check CONFIGURATION.yaml [--set NAME=VALUE]... [--override KEY=YAML]...\n"
    "                     [--ranks N] [--nodes N] [--sidecars N] [--catalogue FILE]\n"
    "                     [--restart FOLDER] [--of RUN.yaml] [--json]\n"
    "  --set        value of a parameter $NAME\n"
    "  --override   what goes before the file's own: a key such as sidecars.memory, and its value\n"
    "  --ranks      of the whole job, sidecars included\n"
    "  --nodes      that the ranks are on, evenly\n"
    "  --sidecars   the number of ranks that are started as sidecars\n"
    "  --catalogue  a YAML file with the meshes and fields that the program offers by itself\n"
    "  --restart    the checkpoint to resume from\n"
    "  --of         the run's configuration, to check analyses to add to that run\n"
    "  --json       for programs\n";

using pillion::preflight::CheckRequest;

struct Arguments {
  CheckRequest request;
  bool as_json = false;
  bool wants_help = false;
  std::string wrong;
};

void read_pair(const std::string& word, std::map<std::string, std::string>& to, Arguments& out) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) out.wrong = "'" + word + "' is not a NAME=VALUE";
  else to[word.substr(0, equals)] = word.substr(equals + 1);
}

void read_count(const std::string& word, int64_t least, int64_t& count, Arguments& out) {
  constexpr int64_t most = 100'000'000;
  char* end = nullptr;
  count = std::strtoll(word.c_str(), &end, 10);
  if (word.empty() || *end != '\0' || count < 0 || count > most)
    out.wrong = "'" + word + "' is not a number of ranks or nodes";
  else if (count == 0 && least > 0) out.wrong = "a job has at least one rank, on one node; found 0";
}

void read_option(const std::string& name, const std::string& value, Arguments& out) {
  if (name == "--set") read_pair(value, out.request.parameters, out);
  else if (name == "--override") read_pair(value, out.request.overrides, out);
  else if (name == "--ranks") read_count(value, 1, out.request.start.ranks, out);
  else if (name == "--nodes") read_count(value, 1, out.request.start.nodes, out);
  else if (name == "--sidecars") read_count(value, 0, out.request.start.sidecars, out);
  else if (name == "--catalogue") out.request.catalogue_file = value;
  else if (name == "--restart") out.request.restart = value;
  else if (name == "--of") out.request.of = value;
  else out.wrong = "there is no option '" + name + "'";
}

Arguments read_arguments(int count, char** words) {
  Arguments out;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--help" || word == "-h") out.wants_help = true;
    else if (word == "--json") out.as_json = true;
    else if (word.starts_with("-") && i + 1 < count) read_option(word, words[++i], out);
    else if (word.starts_with("-"))
      out.wrong = "'" + word + "' is not an option, or lacks its value";
    else if (out.request.file.empty()) out.request.file = word;
    else out.wrong = "'" + word + "' is one file too many";
  }
  if (out.request.file.empty() && out.wrong.empty()) out.wrong = "which configuration?";
  return out;
}

/// Reads no more than the library needs to refuse a file that is too long.
bool read_file(const std::string& path, std::string& text) {
  std::ifstream in(path);
  text.resize(size_t{1} << 20);
  const bool is_open = in.is_open();
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  return is_open && !in.bad();
}

int fail(const std::string& why) {
  std::fprintf(stderr, "pillion check: %s\n", why.c_str());
  return 1;
}

int check(Arguments& arguments) {
  auto& request = arguments.request;
  if (const auto& file = request.catalogue_file; !file.empty()) {
    if (!read_file(file, request.catalogue))
      return fail("the catalogue '" + file + "' cannot be read");
    if (request.catalogue.find('\0') != std::string::npos)
      return fail("the catalogue '" + file +
                  "' contains the character U+0000; save the file as UTF-8");
  }
  const auto result = pillion::preflight::check(request);
  std::cout << (arguments.as_json ? pillion::apps::report_as_json(*result, request.file)
                                  : pillion::apps::report_for_people(*result, request.file));
  return result->mistakes.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  auto arguments = read_arguments(count, words);
  if (arguments.wants_help) return std::fputs(usage, stdout) < 0 ? 1 : 0;
  try {
    if (arguments.wrong.empty()) return check(arguments);
  } catch (const std::exception& e) {
    return fail(e.what());
  }
  std::fprintf(stderr, "pillion check: %s\n%s", arguments.wrong.c_str(), usage);
  return 2;
}
