// SPDX-License-Identifier: BSD-3-Clause
// From words of the command line to frames that can be played.
#include "replay/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "replay/hdf5.hpp"
#include "replay/npy.hpp"

namespace replay {
namespace {

namespace fs = std::filesystem;
using pillion::Error;
using pillion::ErrorCode;
using pillion::Field;

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorCode::File, why); }

bool is_npy(const fs::path& path) { return path.extension() == ".npy"; }
bool is_hdf5(const fs::path& path) {
  return path.extension() == ".h5" || path.extension() == ".hdf5";
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) fail(fmt::format("'{}' cannot be read", path.string()));
  return text.str();
}

/// Finds fields in files, looking only into files and at datasets that may hold one of them.
class Search {
 public:
  Search(const Names& names, const std::set<std::string>& used) : names_(names), used_(used) {}

  void look_into(const fs::path& path) {
    if (is_npy(path)) npy(path);
    else hdf5(path);
  }
  [[nodiscard]] const std::vector<Found>& found() const { return found_; }

 private:
  void npy(const fs::path& path) {
    const auto what = field_at_step(path.stem().string(), names_);
    if (what && used_.contains(what->field))
      found_.push_back({what->field, what->step, {}, look_into_npy(path.string())});
  }
  void hdf5(const fs::path& path) {
    const auto content = look_into_hdf5(path.string(), [&](const std::string& dataset) {
      return used_.contains(names_.field_of_dataset(dataset));
    });
    const int64_t step =
        content.step.value_or(last_number(path.stem().string()).value_or(int64_t{0}));
    for (const auto& stored : content.datasets)
      found_.push_back({names_.field_of_dataset(stored.dataset), step, content.time, stored});
  }

  const Names& names_;
  const std::set<std::string>& used_;
  std::vector<Found> found_;
};

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

std::vector<std::string> find_files(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const auto& word : words) {
    if (!fs::exists(word)) fail(fmt::format("'{}' is not there", word));
    if (!fs::is_directory(word)) {
      if (!is_npy(word) && !is_hdf5(word))
        fail(fmt::format("'{}' is neither .npy nor .h5 or .hdf5; convert it", word));
      out.push_back(word);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(word))
      if (is_npy(entry.path()) || is_hdf5(entry.path())) out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

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

std::vector<Frame> make_plan(const Options& options, const std::vector<Field>& fields) {
  std::set<std::string> known, used;
  for (const auto& field : fields) {
    known.insert(field.name);
    if (field.used) used.insert(field.name);
  }
  const Names names(known, options.names);
  const auto files = find_files(options.files);
  Search search(names, used);
  for (const auto& file : files) search.look_into(file);
  auto frames =
      make_frames(search.found(), used, names, gather_about(options), options.time_per_step);
  if (frames.empty())
    fail(
        fmt::format("none of the {} files holds a field that analyses use, such as '{}'; see "
                    "--name if files call it something else",
                    files.size(), used.empty() ? "" : *used.begin()));
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
