// SPDX-License-Identifier: BSD-3-Clause
// Reports of checks as text and as JSON.
#include "check_report.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json.hpp"

namespace pillion::apps {

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
  return how + "; " + bytes_text(spec.memory) +
         " on every node for what is under way, when full: " + model::name_of(spec.when_full);
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

std::string describe(const DryRun& forecast) {
  const auto& configuration = *forecast.configuration;
  std::string out = "\noutput    " + configuration.output + ", of run '" + configuration.run + "'";
  if (!configuration.restart.empty()) out += ", which resumes from " + configuration.restart;
  out += "\nsidecars  " + sidecars_of(configuration.sidecars) + "\n\nanalyses\n";
  for (const auto& analysis : forecast.analyses) out += describe(analysis);
  return out + describe_cut(forecast);
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
}

}  // namespace

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

std::string report_as_json(const preflight::CheckResult& result, const std::string& file) {
  Json out = {
      {"file", file}, {"mistakes", json_of(result.mistakes)}, {"notes", json_of(result.notes)}};
  if (result.forecast) add(out, *result.forecast);
  return base::format_json(out, 2) + "\n";
}

}  // namespace pillion::apps
