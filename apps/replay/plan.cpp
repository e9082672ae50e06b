// SPDX-License-Identifier: BSD-3-Clause
// From words of the command line to frames that can be played.
#include "replay/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "replay/search.hpp"

namespace replay {
namespace {

namespace fs = std::filesystem;
using pillion::Error;
using pillion::ErrorCode;
using pillion::Field;

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorCode::File, why); }

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) fail(fmt::format("'{}' cannot be read", path.string()));
  return text.str();
}

void check_meshes(const std::vector<Field>& fields) {
  for (const auto& field : fields)
    if (field.used && field.mesh_kind == PILLION_SPECTRAL)
      fail(
          fmt::format("field '{}' is on the spectral mesh '{}'; fields of uniform meshes and of "
                      "particles can be replayed, those of spectral meshes cannot yet",
                      field.name, field.mesh));
}

/// Fields of one mesh have as many particles.
void check_counts(const Frame& frame, const std::vector<Field>& fields) {
  std::map<std::string, std::pair<std::string, int64_t>> first;
  for (const auto& field : fields) {
    if (!field.used || field.mesh_kind != PILLION_PARTICLES) continue;
    const int64_t count = frame.fields.at(field.name).shape.front();
    const auto [at, is_new] = first.try_emplace(field.mesh, field.name, count);
    if (!is_new && at->second.second != count)
      fail(fmt::format("{} holds {} particles, but {} holds {}",
                       frame.fields.at(field.name).place(), count,
                       frame.fields.at(at->second.first).place(), at->second.second));
  }
}

void check_domains(const Frame& frame, const std::vector<Field>& fields) {
  for (const auto& field : fields)
    if (field.used && field.mesh_kind == PILLION_PARTICLES && !frame.domains.contains(field.mesh))
      fail(
          fmt::format("mesh '{}' has no domain at step {}; say --domain {}=LX,LY,LZ, or add it "
                      "under 'domains' in {} beside the files",
                      field.mesh, frame.step, field.mesh, about_name));
}

/// What files say of themselves goes before what is said beside them.
void set_domains(std::vector<Frame>& frames, const std::vector<Field>& fields) {
  for (auto& frame : frames)
    for (const auto& field : fields)
      if (field.used && field.mesh_kind == PILLION_PARTICLES)
        if (const auto& told = frame.fields.at(field.name).domain)
          frame.domains[field.mesh] = *told;
}

bool has_times(const std::vector<Found>& found, const About& about, const Options& options) {
  return options.time_per_step ||
         std::any_of(found.begin(), found.end(),
                     [](const Found& f) { return f.time.has_value(); }) ||
         std::any_of(about.steps.begin(), about.steps.end(),
                     [](const auto& step) { return step.second.time.has_value(); });
}

/// What the command line says goes before what files say.
void override_domains(std::vector<Frame>& frames, const Options& options,
                      const std::vector<Field>& fields) {
  for (const auto& [mesh, domain] : options.domains) {
    const bool known = std::any_of(fields.begin(), fields.end(), [&](const Field& f) {
      return f.mesh == mesh && f.mesh_kind == PILLION_PARTICLES;
    });
    if (!known)
      fail(fmt::format("--domain {}=...: the configuration has no particles on a mesh '{}'", mesh,
                       mesh));
    for (auto& frame : frames) frame.domains[mesh] = domain;
  }
}

}  // namespace

About gather_about(const Options& options) {
  if (!options.about.empty()) return parse_about(read_text(options.about), options.about);
  std::set<fs::path> folders;
  for (const auto& word : options.files)
    folders.insert(fs::is_directory(word) ? fs::path(word) : fs::path(word).parent_path());
  About about;
  for (const auto& folder : folders)
    if (const auto file = folder / about_name; fs::exists(file))
      add(about, parse_about(read_text(file), file.string()), file.string());
  return about;
}

std::vector<Frame> make_plan(const Options& options, const std::vector<Field>& fields,
                             const std::function<void(const std::string&)>& warn) {
  check_meshes(fields);
  std::set<std::string> known, used;
  for (const auto& field : fields) {
    known.insert(field.name);
    if (field.used) used.insert(field.name);
  }
  const Names names(known, options.names);
  const auto files = find_files(options.files);
  Search search(names, used, options.steps);
  for (const auto& file : files) search.look_into(file);
  for (const auto& warning : search.warnings()) warn(warning);
  const About about = gather_about(options);
  auto frames = make_frames(search.found(), used, names, about, options.time_per_step);
  if (frames.empty())
    fail(
        fmt::format("none of the {} files holds a field that analyses use, such as '{}'{}; see "
                    "--name if files call it something else",
                    files.size(), used.empty() ? "" : *used.begin(),
                    options.steps.empty() ? "" : ", at these steps"));
  const auto& first = frames.front().fields.begin()->second;
  if (first.format == Format::Idx && !has_times(search.found(), about, options))
    warn(
        fmt::format("'{}' does not say the times of its steps; the time of a step is its number "
                    "here (see --time-per-step)",
                    first.path));
  set_domains(frames, fields);
  override_domains(frames, options, fields);
  for (const auto& frame : frames) {
    for (const auto& field : fields)
      if (field.used) (void)arrange(frame.fields.at(field.name), field, options.indices);
    check_counts(frame, fields);
    check_domains(frame, fields);
  }
  return frames;
}

}  // namespace replay
