// SPDX-License-Identifier: BSD-3-Clause
#include "base/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pillion::base {
namespace {

template <class Scalar>
std::string scalar_text(const Scalar& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Entries between brackets, each on a line of its own if there is an indent.
template <class Entries, class Write>
void write_entries(std::string& out, const char* brackets, const Entries& entries, int indent,
                   size_t depth, Write&& write) {
  const auto begin_line = [&](size_t level) {
    if (indent < 0) return;
    out += '\n';
    out.append(level * static_cast<size_t>(indent), ' ');
  };
  out += brackets[0];
  bool is_first = true;
  for (const auto& entry : entries) {
    if (!std::exchange(is_first, false)) out += ',';
    begin_line(depth + 1);
    write(entry);
  }
  if (!is_first) begin_line(depth);
  out += brackets[1];
}

}  // namespace

Json& Json::operator[](std::string_view name) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Object();
  auto& entries = std::get<Object>(value_).entries;
  const auto known = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.first == name; });
  return known != entries.end() ? known->second
                                : entries.emplace_back(std::string(name), Json()).second;
}

void Json::push_back(Json value) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Array();
  std::get<Array>(value_).elements.push_back(std::move(value));
}

void Json::write(std::string& out, int indent, size_t depth) const {
  if (const auto* array = std::get_if<Array>(&value_))
    write_entries(out, "[]", array->elements, indent, depth,
                  [&](const Json& element) { element.write(out, indent, depth + 1); });
  else if (const auto* object = std::get_if<Object>(&value_))
    write_entries(out, "{}", object->entries, indent, depth, [&](const Entry& entry) {
      out += json_text(entry.first) + (indent < 0 ? ":" : ": ");
      entry.second.write(out, indent, depth + 1);
    });
  else if (const auto* truth = std::get_if<bool>(&value_)) out += scalar_text(*truth);
  else if (const auto* integer = std::get_if<int64_t>(&value_)) out += scalar_text(*integer);
  else if (const auto* real = std::get_if<double>(&value_)) out += scalar_text(*real);
  else if (const auto* text = std::get_if<std::string>(&value_)) out += scalar_text(*text);
  else out += "null";
}

std::string format_json(const Json& value, int indent) {
  std::string out;
  value.write(out, indent, 0);
  return out;
}

std::string json_text(std::string_view text) { return scalar_text(text); }

std::string json_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : ", ") + json_text(text);
  return out;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace pillion::base
