// SPDX-License-Identifier: BSD-3-Clause
// A file's ending says of which format it is.
#include "replay/search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <pillion/error.hpp>

#include "replay/hdf5.hpp"
#include "replay/idx.hpp"
#include "replay/npy.hpp"
#include "replay/raw.hpp"

namespace replay {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& why) {
  throw pillion::Error(pillion::ErrorCode::File, why);
}

bool is_idx(const std::string& path) { return path.ends_with(".idx"); }
bool is_raw(const std::string& path) { return path.ends_with(raw_ending); }
bool is_hdf5(const std::string& path) { return path.ends_with(".h5") || path.ends_with(".hdf5"); }
bool is_known(const std::string& path) {
  return path.ends_with(".npy") || is_hdf5(path) || is_idx(path) || is_raw(path);
}

/// The stage `write` puts HDF5 files of a dataset in a folder.
bool is_hdf5_folder(const fs::directory_entry& entry) {
  return entry.is_directory() && entry.path().filename().string().ends_with("_hdf5");
}

void add_all(const fs::path& folder, std::vector<std::string>& out) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_hdf5_folder(entry)) add_all(entry.path(), out);
    else if (is_known(entry.path().string())) out.push_back(entry.path().string());
  }
}

}  // namespace

std::vector<std::string> find_files(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const auto& word : words) {
    if (!fs::exists(word)) fail(fmt::format("'{}' is not there", word));
    if (fs::is_directory(word)) {
      add_all(word, out);
      continue;
    }
    if (!is_known(word))
      fail(fmt::format("'{}' is neither .npy nor .h5, .hdf5, .idx or {}; convert it", word,
                       raw_ending));
    out.push_back(word);
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool Search::is_used(const std::string& name) const { return used_.contains(names_.field(name)); }

bool Search::is_wanted(int64_t step) const {
  return steps_.empty() || std::any_of(steps_.begin(), steps_.end(), [&](const auto& range) {
           return step >= range.first && step <= range.second;
         });
}

void Search::look_into(const std::string& path) {
  const Wanted wanted{[this](const std::string& name) { return is_used(name); },
                      [this](int64_t step) { return is_wanted(step); }};
  if (is_idx(path)) dataset(look_into_idx(path, wanted));
  else if (is_raw(path)) dataset(look_into_raw(path, wanted));
  else if (is_hdf5(path)) hdf5(path);
  else npy(path);
}

void Search::npy(const std::string& path) {
  const auto what = field_at_step(fs::path(path).stem().string(), names_);
  if (what && used_.contains(what->field) && is_wanted(what->step))
    found_.push_back({what->field, what->step, {}, look_into_npy(path)});
}

void Search::hdf5(const std::string& path) {
  const auto content = look_into_hdf5(path, [&](const std::string& dataset) {
    return used_.contains(names_.field_of_dataset(dataset));
  });
  const int64_t step =
      content.step.value_or(last_number(fs::path(path).stem().string()).value_or(int64_t{0}));
  if (!is_wanted(step)) return;
  if (content.coarsening > 1) {
    if (!content.datasets.empty()) coarse_.insert(step);
    return;
  }
  for (const auto& stored : content.datasets)
    found_.push_back({names_.field_of_dataset(stored.dataset), step, content.time, stored});
}

void Search::dataset(const std::vector<StoredStep>& steps) {
  for (const auto& step : steps) {
    if (step.coarsening > 1 && !step.fields.empty()) coarse_.insert(step.step);
    if (step.coarsening > 1) continue;
    for (const auto& stored : step.fields)
      found_.push_back({names_.field(stored.dataset), step.step, step.time, stored});
  }
}

std::vector<std::string> Search::warnings() const {
  if (coarse_.empty()) return {};
  return {
      fmt::format("steps that were stored coarse, since sidecars could not keep up, are left "
                  "out: {}",
                  fmt::join(coarse_, ", "))};
}

}  // namespace replay
