// SPDX-License-Identifier: BSD-3-Clause
// Sorting what was found into frames.
#include "replay/frames.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <pillion/error.hpp>

namespace replay {
namespace {

using pillion::Error;
using pillion::ErrorCode;

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorCode::File, why); }

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::string without_slash(const std::string& path) {
  return path.starts_with('/') ? path.substr(1) : path;
}

/// The number that `text` is, if it has as many digits as a step may have.
std::optional<int64_t> parse(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

Names::Names(const std::set<std::string>& fields, const std::map<std::string, std::string>& given) {
  for (const auto& field : fields)
    if (!given.contains(field)) field_[field] = field;
  for (const auto& [field, name] : given) {
    if (!fields.contains(field))
      fail(fmt::format("--name {}={}: the configuration has no field '{}'; it has {}", field, name,
                       field, fmt::join(fields, ", ")));
    if (!field_.try_emplace(without_slash(name), field).second)
      fail(fmt::format("--name {}={}: that name is taken by another field", field, name));
  }
}

std::string Names::field(const std::string& name) const {
  const auto at = field_.find(name);
  return at == field_.end() ? "" : at->second;
}

std::string Names::field_of_dataset(const std::string& path) const {
  const std::string whole = without_slash(path);
  const std::string by_path = field(whole);
  return by_path.empty() ? field(whole.substr(whole.rfind('/') + 1)) : by_path;
}

std::string Names::name(const std::string& field) const {
  const auto at = std::find_if(field_.begin(), field_.end(),
                               [&](const auto& entry) { return entry.second == field; });
  return at == field_.end() ? field : at->first;
}

std::optional<FieldAtStep> field_at_step(const std::string& stem, const Names& names) {
  if (const auto whole = names.field(stem); !whole.empty()) return FieldAtStep{whole, 0};
  size_t begin = stem.size();
  while (begin > 0 && is_digit(stem[begin - 1])) --begin;
  if (begin < 2 || std::string_view("._-").find(stem[begin - 1]) == std::string_view::npos)
    return {};
  const auto step = parse(stem.substr(begin));
  const auto field = names.field(stem.substr(0, begin - 1));
  if (!step || field.empty()) return {};
  return FieldAtStep{field, *step};
}

std::optional<int64_t> last_number(const std::string& stem) {
  const auto last = std::find_if(stem.rbegin(), stem.rend(), is_digit);
  const auto before = std::find_if_not(last, stem.rend(), is_digit);
  return parse(std::string(before.base(), last.base()));
}

namespace {

/// Where a field should have been, judged by another one of the same step.
std::string expected(const std::string& field, const Frame& frame, const Names& names) {
  const auto& [other, beside] = *frame.fields.begin();
  if (!beside.dataset.empty())
    return fmt::format("'{}' has no {} '{}'", beside.path,
                       beside.has_known_order() ? "field" : "dataset", names.name(field));
  const std::filesystem::path path = beside.path;
  const auto ending = path.filename().string().substr(names.name(other).size());
  return fmt::format("there is no '{}'",
                     path.parent_path().append(names.name(field) + ending).string());
}

void check_complete(const Frame& frame, const std::set<std::string>& fields, const Names& names) {
  for (const auto& field : fields)
    if (!frame.fields.contains(field))
      fail(
          fmt::format("field '{}', which analyses use, is missing at step {}: {}; give it too, or "
                      "leave that step's other files out",
                      field, frame.step, expected(field, frame, names)));
}

void set_time(Frame& frame, std::optional<double> told, bool others_have,
              std::optional<double> per_step) {
  if (per_step) frame.time = *per_step * static_cast<double>(frame.step);
  else if (told) frame.time = *told;
  else if (!others_have) frame.time = static_cast<double>(frame.step);
  else
    fail(
        fmt::format("step {} has no time, while other steps have; add it under 'steps' in {}, or "
                    "say --time-per-step",
                    frame.step, about_name));
}

/// What files say themselves goes before what is said about them.
std::map<int64_t, double> times_of(const std::vector<Found>& found, const About& about) {
  std::map<int64_t, double> times;
  for (const auto& one : found) {
    if (!one.time) continue;
    const auto [at, is_new] = times.try_emplace(one.step, *one.time);
    if (!is_new && at->second != *one.time)
      fail(fmt::format("step {} has two times: {} says {}, another file {}", one.step,
                       one.stored.place(), *one.time, at->second));
  }
  for (const auto& [number, step] : about.steps)
    if (step.time) times.try_emplace(number, *step.time);
  return times;
}

}  // namespace

std::vector<Frame> make_frames(const std::vector<Found>& found, const std::set<std::string>& fields,
                               const Names& names, const About& about,
                               std::optional<double> time_per_step) {
  std::map<int64_t, Frame> frames;
  for (const auto& one : found) {
    if (!fields.contains(one.field)) continue;
    const auto [at, is_new] = frames[one.step].fields.try_emplace(one.field, one.stored);
    if (!is_new)
      fail(fmt::format("field '{}' is there twice at step {}: in {} and in {}", one.field, one.step,
                       at->second.place(), one.stored.place()));
  }
  const auto times = times_of(found, about);
  std::vector<Frame> out;
  for (auto& [step, frame] : frames) {
    frame.step = step;
    check_complete(frame, fields, names);
    const auto time = times.find(step);
    set_time(frame, time == times.end() ? std::nullopt : std::optional(time->second),
             !times.empty(), time_per_step);
    if (const auto more = about.steps.find(step); more != about.steps.end())
      frame.domains = more->second.domains;
    frame.domains.insert(about.domains.begin(), about.domains.end());
    out.push_back(std::move(frame));
  }
  return out;
}

}  // namespace replay
