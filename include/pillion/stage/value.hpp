// SPDX-License-Identifier: BSD-3-Clause
// Reading a stage's configuration. A Value is one node of the YAML text, and its errors name its
// place in the file.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <pillion/stage/host.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace pillion::stage {

/// A node of the stage's configuration. Converting it to something it is not throws an Error that
/// names file and line.
class Value {
 public:
  /// `name` is that of the parameter, for messages.
  Value(const pillion_stage_host* host, const pillion_value* node, std::string name = {})
      : host_(host), node_(node), name_(std::move(name)) {}

  [[nodiscard]] explicit operator bool() const {
    return node_ != nullptr && kind() != PILLION_VALUE_NULL;
  }
  [[nodiscard]] int32_t kind() const { return host_->value_kind(node_); }
  [[nodiscard]] bool is_scalar() const { return kind() == PILLION_VALUE_SCALAR; }
  [[nodiscard]] bool is_list() const { return kind() == PILLION_VALUE_LIST; }
  [[nodiscard]] bool is_map() const { return kind() == PILLION_VALUE_MAP; }

  /// Entries of a list or map.
  [[nodiscard]] int64_t size() const { return host_->value_size(node_); }
  [[nodiscard]] Value operator[](int64_t index) const {
    return {host_, host_->value_at(node_, index), is_map() ? key(index) : name_};
  }
  [[nodiscard]] std::string key(int64_t index) const { return host_->value_key(node_, index); }
  /// Entry of a map; false in a condition if it is absent.
  [[nodiscard]] Value find(const std::string& name) const {
    return {host_, host_->value_find(node_, name.c_str()), name};
  }

  [[nodiscard]] std::string text() const;
  [[nodiscard]] double real() const;
  [[nodiscard]] int64_t integer() const;
  [[nodiscard]] bool boolean() const;
  /// A list of integers; a single integer counts as a list of one.
  [[nodiscard]] std::vector<int64_t> integers() const;
  /// A list of texts; a single text counts as a list of one.
  [[nodiscard]] std::vector<std::string> texts() const;
  /// A file that exists, with its whole path: looked for from the working folder, then from the
  /// folder of the configuration.
  [[nodiscard]] std::string file() const;

  /// Throws a configuration error that points here.
  [[noreturn]] void fail(const std::string& message) const {
    // The line may hold many parameters, so the message names this one.
    const bool is_of = !name_.empty() && message.rfind("expected ", 0) == 0;
    throw Error(ErrorCode::Configuration, std::string(host_->value_place(node_)) + ": " +
                                              (is_of ? "'" + name_ + "': " : "") + message);
  }
  [[nodiscard]] const pillion_value* node() const { return node_; }

 private:
  const pillion_stage_host* host_;
  const pillion_value* node_;
  std::string name_;
};

inline std::string Value::text() const {
  if (node_ == nullptr || !is_scalar()) fail("expected a single value");
  return host_->value_text(node_);
}

inline std::string Value::file() const {
  namespace fs = std::filesystem;
  const fs::path named = text();
  const std::string place = host_->value_place(node_);
  const fs::path configuration = place.substr(0, place.rfind(':'));
  std::error_code error;
  for (const fs::path& path :
       {fs::absolute(named), fs::absolute(configuration.parent_path() / named)})
    if (fs::is_regular_file(path, error)) return path.lexically_normal().string();
  fail("there is no file '" + named.string() + "', neither in the working folder nor beside " +
       configuration.string());
}

inline double Value::real() const {
  const std::string s = text();
  size_t used = 0;
  double value = 0;
  try {
    value = std::stod(s, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (s.empty() || used != s.size()) fail("expected a number, not '" + s + "'");
  return value;
}

inline int64_t Value::integer() const {
  const std::string s = text();
  size_t used = 0;
  int64_t value = 0;
  try {
    value = std::stoll(s, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (s.empty() || used != s.size()) fail("expected an integer, not '" + s + "'");
  return value;
}

inline bool Value::boolean() const {
  const std::string s = text();
  if (s == "true" || s == "yes" || s == "on") return true;
  if (s == "false" || s == "no" || s == "off") return false;
  fail("expected true or false, not '" + s + "'");
}

inline std::vector<int64_t> Value::integers() const {
  if (!is_list()) return {integer()};
  std::vector<int64_t> out;
  for (int64_t i = 0; i < size(); ++i) out.push_back((*this)[i].integer());
  return out;
}

inline std::vector<std::string> Value::texts() const {
  if (!is_list()) return {text()};
  std::vector<std::string> out;
  for (int64_t i = 0; i < size(); ++i) out.push_back((*this)[i].text());
  return out;
}

}  // namespace pillion::stage
