// SPDX-License-Identifier: BSD-3-Clause
// Reports of checks as JSON; docs/configuration.md says what is in it.
#include "check_report.hpp"
#include "json.hpp"

namespace pillion::apps {

namespace {

template <class T, class Make>
std::string list(const T* first, int32_t count, int margin, Make&& make) {
  std::vector<std::string> entries;
  for (int32_t i = 0; i < count; ++i) entries.push_back(make(first[i]));
  return json_list(entries, margin);
}

std::string remark_text(const pillion_remark& remark) {
  return "{\"file\": " + json(remark.file) +
         ", \"line\": " + (remark.line > 0 ? std::to_string(remark.line) : "null") +
         ", \"message\": " + json(remark.message) + "}";
}

std::string stage_text(const pillion_stage_outlook& stage) {
  static constexpr const char* places[] = {"simulation", "sidecar", "auto"};
  return "{\"name\": " + json(stage.name) + ", \"at\": " + json(places[stage.in_sidecars]) + "}";
}

std::string analysis_text(const pillion_analysis_outlook& analysis) {
  return "{\"name\": " + json(analysis.name) + ", \"every\": " + json(analysis.every) +
         ", \"when\": " + (*analysis.when != '\0' ? json(analysis.when) : "null") +
         ", \"products_every\": " + std::to_string(analysis.products_every) +
         ", \"folder\": " + json(analysis.folder) +
         ",\n     \"stages\": " + list(analysis.stages, analysis.stage_count, 5, stage_text) +
         ",\n     \"needs\": " +
         list(analysis.needs, analysis.need_count, 5, [](const char* name) { return json(name); }) +
         "}";
}

std::string crossing_text(const pillion_crossing& one) {
  const char* const per = one.mesh_kind == PILLION_UNIFORM     ? "mesh"
                          : one.mesh_kind == PILLION_PARTICLES ? "particle"
                                                               : "element";
  return "{\"field\": " + json(one.field) + ", \"mesh\": " + json(one.mesh) +
         ", \"made_by\": " + (*one.made_by != '\0' ? json(one.made_by) : "null") +
         ", \"type\": " + json(one.type) + ", \"components\": " + std::to_string(one.components) +
         ", \"bytes\": " + std::to_string(one.bytes) + ", \"per\": " + json(per) + "}";
}

std::string number_or_null(int64_t number) { return number > 0 ? std::to_string(number) : "null"; }

std::string outlook_text(const pillion_outlook& outlook) {
  return ",\n  \"output\": " + json(outlook.output) + ",\n  \"run\": " + json(outlook.run) +
         ",\n  \"restart\": " + (*outlook.restart != '\0' ? json(outlook.restart) : "null") +
         ",\n  \"sidecars\": {\"ranks\": " + std::to_string(outlook.sidecar_ranks) +
         ", \"per_node\": " + std::to_string(outlook.sidecars_per_node) +
         ", \"job\": " + json(outlook.job) + ", \"when_full\": " + json(outlook.when_full) +
         ", \"memory\": " + std::to_string(outlook.memory) + "}" +
         ",\n  \"simulation_ranks\": " + number_or_null(outlook.simulating) +
         ",\n  \"analyses\": " + list(outlook.analyses, outlook.analysis_count, 2, analysis_text) +
         ",\n  \"crossing\": " + list(outlook.crossing, outlook.crossing_count, 2, crossing_text) +
         ",\n  \"bytes\": " + std::to_string(outlook.bytes) +
         ",\n  \"bytes_per_rank\": " + number_or_null(outlook.bytes_per_rank);
}

}  // namespace

std::string report_as_json(const pillion_checked& checked, const std::string& file) {
  return "{\n  \"file\": " + json(file) +
         ",\n  \"mistakes\": " + list(checked.mistakes, checked.mistake_count, 2, remark_text) +
         ",\n  \"notes\": " + list(checked.notes, checked.note_count, 2, remark_text) +
         (checked.outlook != nullptr ? outlook_text(*checked.outlook) : "") + "\n}\n";
}

}  // namespace pillion::apps
