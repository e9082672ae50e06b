// SPDX-License-Identifier: BSD-3-Clause
// JSON for output. Scalars become text by nlohmann's library. Trees are our own: to destroy one of
// nlohmann's takes memory, and a program that has none left ends there.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pillion::base {

/// A value, which keeps the order in which entries were added. Neither its destructor nor a move
/// takes memory.
class Json {
 public:
  using Entry = std::pair<std::string, Json>;

  Json() = default;  ///< null
  Json(bool value) : value_(value) {}
  template <std::integral Integer>
  Json(Integer value) : value_(static_cast<int64_t>(value)) {}
  template <std::floating_point Real>
  Json(Real value) : value_(static_cast<double>(value)) {}
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  Json(const std::vector<std::string>& texts) : value_(Array{{texts.begin(), texts.end()}}) {}
  Json(const std::map<std::string, int64_t>& numbers)
      : value_(Object{{numbers.begin(), numbers.end()}}) {}
  Json(std::initializer_list<Entry> entries) : value_(Object{entries}) {}

  static Json array() { return Json(Value(Array())); }
  static Json object() { return Json(Value(Object())); }

  /// The entry of that name, which is added if there is none. Null becomes an object.
  Json& operator[](std::string_view name);
  /// Null becomes an array.
  void push_back(Json value);

  /// See format_json().
  void write(std::string& out, int indent, size_t depth) const;

 private:
  // Types of their own: if libstdc++ knows that no alternative of a variant can throw when it is
  // moved, a copy that lacks memory is undefined.
  struct Array {
    std::vector<Json> elements;
  };
  struct Object {
    std::vector<Entry> entries;
  };
  // Integers are counts and bytes: none exceeds 64 bits with a sign.
  using Value = std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object>;
  explicit Json(Value value) : value_(std::move(value)) {}

  Value value_;
};

/// `value` as text, with `indent` spaces per level, or on one line if it is negative. Bytes that
/// are not UTF-8 are replaced; numbers that are not finite become null.
std::string format_json(const Json& value, int indent = -1);

/// `text` in double quotes, as JSON and YAML both read it.
std::string json_text(std::string_view text);

/// Texts in double quotes, with commas between them.
std::string json_list(const std::vector<std::string>& texts);

/// Null if the text is empty.
Json text_or_null(const std::string& text);

}  // namespace pillion::base
