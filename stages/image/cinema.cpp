// SPDX-License-Identifier: BSD-3-Clause
// Writing Cinema databases.
#include "cinema.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <span>

#include "../common/files.hpp"
#include "../common/options.hpp"

namespace pillion::stages::image {

namespace {

namespace fs = std::filesystem;

/// The fewest digits that give the same number again.
std::string exact(double value) {
  char text[32];
  for (const int digits : {15, 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::stod(text) == value) break;
  }
  return text;
}

fs::path folder_of(const stage::Step& step, const std::string& name) {
  const fs::path folder = fs::path(step.product_folder()) / (name + ".cdb");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error(ErrorCode::File,
                "cannot make the folder " + folder.string() + ": " + error.message());
  return folder;
}

std::vector<double> angles_of(const stage::Value& value, const std::vector<double>& standard,
                              double least, double most) {
  if (!value) return standard;
  std::vector<double> out;
  if (!value.is_list()) {
    const int64_t count = stages::integer_from(value, 1, 1000);
    for (int64_t i = 0; i < count; ++i)
      out.push_back(360 * static_cast<double>(i) / static_cast<double>(count));
    return out;
  }
  for (int64_t i = 0; i < value.size(); ++i) {
    out.push_back(value[i].real());
    if (!(out.back() >= least && out.back() <= most))
      value[i].fail("expected degrees from " + exact(least) + " to " + exact(most));
  }
  if (out.empty()) value.fail("expected at least one angle");
  return out;
}

}  // namespace

CameraOptions ViewPoint::camera(const CameraOptions& rest) const {
  CameraOptions out = rest;
  const double p = phi * std::numbers::pi / 180, t = theta * std::numbers::pi / 180;
  out.direction = Vec{std::cos(t) * std::cos(p), std::cos(t) * std::sin(p), std::sin(t)};
  out.parallel = rest.parallel.value_or(false);
  return out;
}

std::optional<Views> Views::read(const stage::Value& map, const stage::Value& camera) {
  if (!map) return std::nullopt;
  if (!map.is_map()) map.fail("expected a map, such as {phi: 12, theta: [0, 30]}");
  stages::only_keys(map, {"phi", "theta"});
  for (const char* key : {"position", "direction"})
    if (camera && camera.is_map())
      if (const auto given = camera.find(key))
        given.fail(std::string("`cinema` says from where pictures are taken; leave out `") + key +
                   "`");
  const auto theta = map.find("theta");
  if (theta && !theta.is_list()) theta.fail("expected a list of angles, such as [0, 30]");
  Views out;
  for (const double p : angles_of(map.find("phi"), {0, 60, 120, 180, 240, 300}, -360, 360))
    for (const double t : angles_of(theta, {30}, -90, 90)) out.points_.push_back({p, t});
  return out;
}

void Views::add(const stage::Step& step, const std::string& name, const ViewPoint& view,
                const std::vector<std::byte>& file) {
  char number[32];
  std::snprintf(number, sizeof number, "%09lld", static_cast<long long>(step.index()));
  const std::string called =
      name + "." + number + ".phi" + exact(view.phi) + ".theta" + exact(view.theta) + ".png";
  if (pending_step_ != step.index()) pending_.clear();  // of a step that failed
  pending_step_ = step.index();
  pending_ += std::to_string(step.index()) + "," + exact(step.time()) + "," + exact(view.phi) +
              "," + exact(view.theta) + "," + called + "\n";
  if (step.peer() == 0) write_whole(folder_of(step, name) / called, file, false);
}

void Views::end_step(const stage::Step& step, const std::string& name) {
  step.agree();  // all pictures of the step are there
  rows_ += pending_;
  pending_.clear();
  has_all_ = is_list_due(++steps_);
  if (has_all_) write_table(step, name);
}

void Views::finish(const stage::Step& step, const std::string& name) const {
  if (!has_all_) write_table(step, name);
}

void Views::save(stage::State& state) const {
  state.save("rows", std::vector<char>(rows_.begin(), rows_.end()));
}

void Views::restore(stage::State& state) {
  const auto rows = state.load<char>("rows");
  rows_.assign(rows.begin(), rows.end());
  const auto pictures = static_cast<size_t>(std::count(rows_.begin(), rows_.end(), '\n'));
  steps_ = pictures / points_.size();
}

void Views::write_table(const stage::Step& step, const std::string& name) const {
  if (step.peer() != 0) return;
  const std::string table = "step,time,phi,theta,FILE\n" + rows_;
  write_whole(folder_of(step, name) / "data.csv", std::as_bytes(std::span(table)), false);
}

}  // namespace pillion::stages::image
