// SPDX-License-Identifier: BSD-3-Clause
// What a run is to do, and what crosses the cut.
#include "run/run_spec.hpp"

#include <charconv>
#include <filesystem>
#include <sstream>

#include "run/run.hpp"
#include "run/run_folder.hpp"
#include "transport/publication_header.hpp"

namespace pillion::run {

namespace {

/// Without "." and a "/" at the end. A ".." stays, for it may follow a symbolic link.
std::string absolute(const std::filesystem::path& path, const std::filesystem::path& folder) {
  std::filesystem::path out;
  for (const auto& part : folder / path)
    if (part != "." && !part.empty()) out /= part;
  return out.string();
}

}  // namespace

model::Configuration RunSpec::configuration(int64_t sidecars_wanted) const {
  auto configuration =
      model::read_configuration(text, file, parameters, catalogue, sidecars_wanted, overrides);
  if (!restart.empty()) configuration.restart = restart;
  for (auto* path :
       {&configuration.output, &configuration.restart, &configuration.sidecars.spill_folder})
    if (!path->empty()) *path = absolute(*path, folder);
  return configuration;
}

model::SidecarSpec RunSpec::sidecars(int64_t sidecars_wanted) const {
  auto spec = model::read_sidecars_alone(text, file, parameters, sidecars_wanted, overrides);
  if (!spec.spill_folder.empty()) spec.spill_folder = absolute(spec.spill_folder, folder);
  return spec;
}

std::map<std::string, std::string> read_settings(const std::string& lines, const char* variable,
                                                 const char* like) {
  std::map<std::string, std::string> settings;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto equals = line.find('=');
    if (equals == std::string::npos || equals == 0)
      base::fail(ErrorCode::Configuration, "the environment's {} has the line '{}'; it must be {}",
                 variable, line, like);
    settings[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return settings;
}

uint64_t choose_id(const RunSpec& spec, const std::string& name, const std::string& marked) {
  const auto given = spec.given_ids.find(name);
  if (given == spec.given_ids.end() || given->second == marked) return spec.run;
  const std::string& text = given->second;
  uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, 16);
  if (error != std::errc() || end != text.data() + text.size() || id_of(id) != text)
    base::fail(ErrorCode::Configuration,
               "the environment's PILLION_RUN_ID has the id '{}'; it must be 16 hexadecimal digits",
               text);
  return id;
}

// Sidecars add the lost and dropped publications of the checkpoint themselves.
transport::Due due_of(const Run& run, size_t analysis) {
  const auto counts = run.counts(analysis);
  return {.analysis = static_cast<int32_t>(analysis),
          .skipped = counts.skipped,
          .coarsened = counts.coarsened,
          .lost = run.accounts[analysis].withdrawn};
}

layout::Routes routes_for(const LayoutRequests& layout_requests,
                          const transport::PublicationHeader& head,
                          const model::Catalogue& catalogue) {
  std::vector<const layout::LayoutRequest*> due;
  for (const auto& d : head.due)
    for (const auto& request : layout_requests.at(static_cast<size_t>(d.analysis)))
      due.push_back(&request);
  return layout::routes_for(due, catalogue);
}

}  // namespace pillion::run
