// SPDX-License-Identifier: BSD-3-Clause
// The note is a line for each step. One that was cut off, or is not the next, ends it.
#include "step_list.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <locale>
#include <pillion/error.hpp>
#include <sstream>

namespace pillion::stages::write {
namespace {

namespace fs = std::filesystem;

constexpr const char* note = ".steps";

std::string line_of(const StoredStep& of) {
  char text[128];
  std::snprintf(text, sizeof text, "%lld %.17g %lld %lld\n", static_cast<long long>(of.step),
                of.time, static_cast<long long>(of.coarsening), static_cast<long long>(of.count));
  return text;
}

/// Adds text to the note, or to a new one that takes the place of whatever is there. No link is
/// followed.
void put(const fs::path& path, const std::string& text, bool is_new) {
  std::error_code ignored;
  if (is_new) fs::remove(path, ignored);
  const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (is_new ? O_EXCL : O_APPEND);
  const int file = ::open(path.c_str(), flags, 0666);
  const off_t size = file >= 0 ? ::lseek(file, 0, SEEK_END) : 0;
  const bool is_written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  // A part of a line would hide the lines that are added when there is room again.
  if (file >= 0 && !is_written && ::ftruncate(file, size) != 0) ::unlink(path.c_str());
  if (file >= 0) ::close(file);
  if (!is_written)
    throw Error(ErrorCode::File, "cannot write " + path.string() + ": " + std::strerror(error));
}

std::vector<StoredStep> steps_in(const std::string& text) {
  std::vector<StoredStep> out;
  std::istringstream in(text.substr(0, text.rfind('\n') + 1));
  in.imbue(std::locale::classic());  // a program may have given streams another
  for (StoredStep of; in >> of.step >> of.time >> of.coarsening >> of.count;) {
    while (!out.empty() && out.back().step >= of.step) out.pop_back();
    out.push_back(of);
  }
  return out;
}

/// If it is not where most fields of such a mesh are.
std::string where_it_is(const pillion_field_description& field) {
  if (field.mesh_kind == PILLION_SPECTRAL)
    return field.centering == PILLION_CELL ? " for each element" : "";
  return field.centering == PILLION_POINT ? " at points" : "";
}

/// Whether there is no such folder. [peers]
bool is_gone(const stage::Step& step, const fs::path& folder) {
  std::error_code error;
  int64_t gone = step.peer() == 0 && !fs::is_directory(folder, error) ? 1 : 0;
  step.max(std::span(&gone, 1));
  return gone != 0;
}

std::string contents_of(const WrittenFields& fields) {
  const auto& mesh = fields.mesh();
  std::string out = "mesh " + std::string(mesh.mesh);
  const bool has_cells = has_boxes(mesh) || is_curvilinear(mesh);
  for (int32_t d = 0; has_cells && d < mesh.axes; ++d) out += " " + std::to_string(mesh.cells[d]);
  if (mesh.mesh_kind == PILLION_SPECTRAL) out += " of order " + std::to_string(mesh.order);
  for (size_t f = 0; f < fields.names.size(); ++f)
    out += ", " + fields.names[f] + " of type " + std::to_string(fields.fields[f].type) + " x " +
           std::to_string(fields.fields[f].components) + where_it_is(fields.fields[f]);
  return out;
}

}  // namespace

StepList::StepList(std::string contents, std::string name, std::string face, std::string folder)
    : name_(std::move(name)),
      face_(std::move(face)),
      folder_(std::move(folder)),
      contents_(std::move(contents)) {}

StepList::StepList(const WrittenFields& fields, std::string name, std::string face,
                   std::string folder)
    : StepList(contents_of(fields), std::move(name), std::move(face), std::move(folder)) {}

bool StepList::begin(const stage::Step& step) {
  const fs::path products = step.product_folder();
  std::vector<StoredStep> found;
  if (is_resumed_) found = steps_in(text_on_disk(step, products / folder_ / note));
  if (!found.empty()) steps_ = std::move(found);
  // The run was moved, or resumes without its results: the dataset begins with this step.
  else if (is_resumed_ && is_gone(step, products / folder_)) steps_.clear();
  const bool forgets = !steps_.empty() && steps_.back().step >= step.index();
  forget_from(step.index());
  if (step.peer() == 0) {
    std::error_code error;
    if (!is_resumed_) {
      fs::remove(products / face_, error);
      fs::remove_all(products / folder_, error);
    }
    fs::create_directories(products / folder_, error);
    std::string text;
    for (const auto& of : steps_) text += line_of(of);
    put(products / folder_ / note, text, true);
  }
  int64_t none_writes_before = 0;
  step.max(std::span(&none_writes_before, 1));
  return forgets;
}

void StepList::add(const stage::Step& step, const StoredStep& stored) {
  forget_from(stored.step);
  steps_.push_back(stored);
  if (step.peer() == 0)
    put(fs::path(step.product_folder()) / folder_ / note, line_of(stored), false);
}

void StepList::forget_from(int64_t step) {
  while (!steps_.empty() && steps_.back().step >= step) steps_.pop_back();
}

void StepList::save(stage::State& state) const {
  state.save("steps", steps_);
  state.save("contents", std::vector<char>(contents_.begin(), contents_.end()));
}

void StepList::restore(stage::State& state) {
  steps_ = state.load<StoredStep>("steps");
  const auto saved = state.load<char>("contents");
  if (contents_ != std::string(saved.begin(), saved.end()))
    throw Error(ErrorCode::Configuration,
                "dataset '" + name_ +
                    "' was saved with other parameters; use those, or give the analysis "
                    "another name to start a new dataset");
  is_resumed_ = true;
}

}  // namespace pillion::stages::write
