// SPDX-License-Identifier: BSD-3-Clause
// Reports of checks as text.
#include "check_report.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <span>
#include <sstream>

namespace pillion::apps {

namespace {

template <class T>
std::span<const T> all(const T* first, int32_t count) {
  return {first, static_cast<size_t>(count)};
}

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
  // Bytes that begin a character, not those that go on with one, take a column.
  const auto columns = static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
  if (columns < width) text.append(width - columns, ' ');
  return text;
}

std::string listed(std::span<const char* const> words) {
  std::string out;
  for (const char* word : words) out += (out.empty() ? "" : ", ") + std::string(word);
  return out;
}

/// The line, without what would harm a terminal; a long one, or one far down a long file, is left
/// out.
std::string line_of(const pillion_remark& remark) {
  constexpr size_t longest_file = size_t{512} << 10, longest_line = 500;
  std::string text(longest_file, '\0');
  std::ifstream in(remark.file);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  std::istringstream lines(text);
  std::string line;
  for (int64_t n = 0; n < remark.line; ++n)
    if (!std::getline(lines, line)) return {};
  if (line.size() > longest_line) return {};
  const auto is_harmful = [](char c) {
    return std::iscntrl(static_cast<unsigned char>(c)) != 0 && c != '\t' && c != '\r';
  };
  std::replace_if(line.begin(), line.end(), is_harmful, '?');
  return line.find_first_not_of(" \t\r") == std::string::npos ? "" : line;
}

std::string sentence(const pillion_remark& remark) {
  const std::string line = remark.line > 0 ? ":" + std::to_string(remark.line) : "";
  return std::string(remark.file) + line + ": " + remark.message + "\n";
}

bool is_same_place(const pillion_remark& a, const pillion_remark& b) {
  return a.line == b.line && std::string(a.file) == b.file;
}

std::string with_line(const pillion_remark& remark) {
  const std::string line = line_of(remark);
  const auto number = std::to_string(remark.line);
  return sentence(remark) + (line.empty() ? "" : padded("", 6) + number + " | " + line + "\n");
}

std::string sidecars_of(const pillion_outlook& outlook) {
  if (outlook.sidecar_ranks == 0 && outlook.sidecars_per_node == 0) return "none";
  const bool separate = std::string(outlook.job) == "separate";
  const std::string how =
      outlook.sidecars_per_node == 0
          ? counted(outlook.sidecar_ranks, "rank") + " of the job, through the network"
          : counted(outlook.sidecars_per_node, separate ? "rank" : "rank of the job") +
                " on every node" + (separate ? ", in a job of their own" : "") +
                ", through its memory";
  return how + "; " + bytes_text(outlook.memory) +
         " on every node for what is under way, when full: " + outlook.when_full;
}

std::string place_of(const pillion_analysis_outlook& analysis) {
  const auto stages = all(analysis.stages, analysis.stage_count);
  const auto beside = std::count_if(stages.begin(), stages.end(),
                                    [](const auto& stage) { return stage.in_sidecars != 0; });
  if (beside == 0) return "in the simulation";
  const bool is_free = stages.back().in_sidecars == 2;
  const std::string rest =
      is_free ? "the simulation or the sidecars as the run finds better" : "the sidecars";
  return beside == analysis.stage_count ? "in " + rest : "in the simulation, then " + rest;
}

std::string chain_of(const pillion_analysis_outlook& analysis) {
  std::string out;
  int32_t before = -1;
  for (const auto& stage : all(analysis.stages, analysis.stage_count)) {
    if (before >= 0) out += before == stage.in_sidecars ? ", " : " | ";
    out += stage.name;
    before = stage.in_sidecars;
  }
  return out;
}

std::string describe(const pillion_analysis_outlook& analysis) {
  const std::string when = analysis.when;
  return "  " + std::string(analysis.name) + ": every " + analysis.every +
         (when.empty() ? "" : ", when " + when) + ", " + place_of(analysis) + "\n" +
         "      stages    " + chain_of(analysis) + "\n" + "      needs     " +
         listed(all(analysis.needs, analysis.need_count)) + "\n" + "      products  in " +
         analysis.folder + "\n";
}

std::string describe(const pillion_crossing& one, size_t width) {
  const bool per_item = one.mesh_kind != PILLION_UNIFORM;
  const std::string components =
      one.components > 1 ? " x " + std::to_string(one.components) : std::string();
  const std::string maker = one.made_by;
  return "  " + padded(one.field, width) + padded(one.type + components, 13) +
         padded(bytes_text(one.bytes), 10) + (per_item ? " for each of '" : " of mesh '") +
         one.mesh + "'" + (maker.empty() ? "" : ", made in analysis '" + maker + "'") + "\n";
}

std::string describe_crossing(const pillion_outlook& outlook) {
  const auto crossing = all(outlook.crossing, outlook.crossing_count);
  if (crossing.empty()) return {};
  size_t width = 0;
  std::map<std::string, int64_t> of_items;
  for (const auto& one : crossing) {
    width = std::max(width, std::string(one.field).size() + 2);
    const std::string item = one.mesh_kind == PILLION_PARTICLES ? "particle" : "element";
    if (one.mesh_kind != PILLION_UNIFORM) of_items[item + " of '" + one.mesh + "'"] += one.bytes;
  }
  std::string out = "\ncrosses to the sidecars, when all analyses are due\n";
  for (const auto& one : crossing) out += describe(one, width);
  for (const auto& [item, bytes] : of_items)
    out += "  " + bytes_text(bytes) + " for each " + item + "\n";
  if (outlook.bytes > 0)
    out +=
        "  " + bytes_text(outlook.bytes) + " of meshes in all" +
        (outlook.bytes_per_rank > 0 ? ", " + bytes_text(outlook.bytes_per_rank) + " from each of " +
                                          counted(outlook.simulating, "simulation rank")
                                    : "") +
        "; a node has room for " + bytes_text(outlook.memory) + "\n";
  return out;
}

std::string describe(const pillion_outlook& outlook) {
  std::string out = "\noutput    " + std::string(outlook.output) + ", of run '" + outlook.run + "'";
  if (*outlook.restart != '\0') out += ", which goes on from " + std::string(outlook.restart);
  out += "\nsidecars  " + sidecars_of(outlook) + "\n\nanalyses\n";
  for (const auto& analysis : all(outlook.analyses, outlook.analysis_count))
    out += describe(analysis);
  return out + describe_crossing(outlook);
}

}  // namespace

std::string report_for_people(const pillion_checked& checked, const std::string& file) {
  std::string out;
  const auto mistakes = all(checked.mistakes, checked.mistake_count);
  for (size_t m = 0; m < mistakes.size(); ++m)
    out += m + 1 < mistakes.size() && is_same_place(mistakes[m], mistakes[m + 1])
               ? sentence(mistakes[m])
               : with_line(mistakes[m]);
  out += file + ": " +
         (checked.mistake_count == 0 ? "no mistakes" : counted(checked.mistake_count, "mistake")) +
         "\n";
  if (checked.outlook != nullptr) out += describe(*checked.outlook);
  if (checked.note_count > 0) out += "\n";
  for (const auto& note : all(checked.notes, checked.note_count)) out += "note: " + sentence(note);
  return out;
}

}  // namespace pillion::apps
