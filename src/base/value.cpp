// SPDX-License-Identifier: BSD-3-Clause
// Nodes of a configuration and their meaning; the parser is in yaml.cpp.
#include "base/value.hpp"

#include <algorithm>
#include <cmath>

#include "base/json.hpp"
#include "base/text.hpp"

namespace pillion::base {

Value::Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

const Value* Value::find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (name == key) return &value;
  return nullptr;
}

std::string Value::place() const { return fmt::format("{}:{}", file ? *file : "?", line); }

void Value::fail(const std::string& message) const {
  throw Error(ErrorCode::Configuration, place() + ": " + shortened(message));
}

void Value::fail_at_key(const std::string& message) const {
  throw Error(ErrorCode::Configuration,
              fmt::format("{}:{}: {}", file ? *file : "?", key_line > 0 ? key_line : line,
                          shortened(message)));
}

namespace {

std::string kind_name(const Value& value) {
  switch (value.kind) {
    case Value::Kind::Null: return "nothing";
    case Value::Kind::List: return "a list";
    case Value::Kind::Map: return "a map";
    default: return "'" + value.text + "'";
  }
}

template <class Parsed>
auto expect(const Value& value, Parsed parsed, const char* what) {
  if (!value.is_scalar() || !parsed)
    value.fail(fmt::format("expected {}, found {}", what, kind_name(value)));
  return *parsed;
}

}  // namespace

const std::string& Value::as_text() const {
  if (!is_scalar()) fail("expected a single value, found " + kind_name(*this));
  return text;
}

double Value::as_real() const { return expect(*this, parse_real(text), "a number"); }

int64_t Value::as_integer() const { return expect(*this, parse_integer(text), "an integer"); }

bool Value::as_boolean() const {
  if (is_scalar() && (text == "true" || text == "yes" || text == "on")) return true;
  if (is_scalar() && (text == "false" || text == "no" || text == "off")) return false;
  fail("expected true or false, found " + kind_name(*this));
}

int64_t Value::as_bytes() const {
  return expect(*this, parse_bytes(text), "a number of bytes such as 512 MiB");
}

double Value::as_seconds() const {
  return expect(*this, parse_seconds(text), "a duration such as 30 s");
}

double Value::as_share() const {
  return expect(*this, parse_share(text), "a share between 0 % and 100 % such as 1 %");
}

void set_entry(Value& root, std::string_view path, Value value) {
  if (root.is_null()) root.kind = Value::Kind::Map;
  if (!root.is_map())
    root.fail(fmt::format("expected a map with the key '{}', found {}", path, kind_name(root)));
  const auto dot = path.find('.');
  const auto key = path.substr(0, dot);
  const auto at = std::find_if(root.entries.begin(), root.entries.end(),
                               [&](const auto& entry) { return entry.first == key; });
  Value& entry =
      at != root.entries.end() ? at->second : root.entries.emplace_back(key, Value()).second;
  if (at == root.entries.end()) {
    entry.line = value.line;
    entry.file = value.file;
  }
  if (dot == std::string_view::npos) entry = std::move(value);
  else set_entry(entry, path.substr(dot + 1), std::move(value));
}

Reader::Reader(const Value& map, std::string what) : map_(map), what_(std::move(what)) {
  if (!map.is_map())
    map.fail_at_key(
        fmt::format("expected {} as a map of 'key: value', found {}", what_, kind_name(map)));
}

const Value* Reader::find(const std::string& key) {
  known_.push_back(key);
  const Value* value = map_.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const Value& Reader::require(const std::string& key) {
  const Value* value = find(key);
  if (value != nullptr) return *value;
  if (const Value* empty = map_.find(key))
    empty->fail_at_key(fmt::format("'{}' of {} is empty; give it a value", key, what_));
  std::vector<std::string> present;
  for (const auto& [name, entry] : map_.entries) present.push_back(name);
  const auto near = closest(key, present);
  if (near) meant_ = *near;
  map_.fail_at_key(fmt::format("{} lacks '{}'{}", what_, key,
                               near ? fmt::format("; is '{}' meant to be it?", *near) : ""));
}

void Reader::finish(Diagnostics* mistakes) const {
  for (const auto& [key, value] : map_.entries)
    if (key != meant_ && std::find(known_.begin(), known_.end(), key) == known_.end())
      attempt(mistakes, [&, &key = key, &value = value] {
        value.fail_at_key(
            fmt::format("unknown key '{}' in {}{}", key, what_, suggestion(key, known_)));
      });
}

void mend_keys(Value& map, const std::string& what, const std::vector<std::string>& known,
               Diagnostics& mistakes) {
  for (auto& [key, value] : map.entries) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto near = closest(key, known);
    if (!near || map.find(*near) != nullptr) continue;
    attempt(&mistakes, [&, &key = key, &value = value] {
      value.fail_at_key(
          fmt::format("unknown key '{}' in {}; did you mean '{}'?", key, what, *near));
    });
    key = *near;
  }
}

std::string to_flow(const Value& value) {
  std::vector<std::string> parts;
  for (const auto& [key, child] : value.entries)
    parts.push_back(value.is_map() ? key + ": " + to_flow(child) : to_flow(child));
  if (value.is_list()) return "[" + join(parts) + "]";
  if (value.is_map()) return "{" + join(parts) + "}";
  return value.is_null() ? "null" : value.text;
}

std::string to_json(const Value& value) {
  std::vector<std::string> parts;
  for (const auto& [key, child] : value.entries)
    parts.push_back(value.is_map() ? json_text(key) + ": " + to_json(child) : to_json(child));
  if (value.is_list()) return "[" + join(parts) + "]";
  if (value.is_map()) return "{" + join(parts) + "}";
  if (value.is_null()) return "null";
  const auto& text = value.text;
  const auto number = parse_real(text);
  const bool is_plain = text == "true" || text == "false" || (number && std::isfinite(*number));
  return is_plain ? text : json_text(text);
}

}  // namespace pillion::base
