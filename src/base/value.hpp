// SPDX-License-Identifier: BSD-3-Clause
// Diagnostics in a configuration. By default the first one is thrown. A caller that reports all of
// them hands this to the readers, which then continue with the next entry.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace pillion::base {

/// Thrown after too many mistakes, when more would not help.
struct TooManyMistakes {};

struct Diagnostics {
  static constexpr size_t most = 100;
  std::vector<Error> found;
  /// Meshes and fields that are there and could not be read: others may well speak of them.
  std::set<std::string> unread;
  /// "file:line" where a parameter has no value, so that nothing there means anything.
  std::set<std::string> meaningless;
  /// Names of parameters whose values were looked at.
  std::set<std::string> used_parameters;

  /// Keeps a mistake, unless it only follows from one that is known.
  void keep(const Error& mistake) {
    const std::string text = mistake.what();
    for (const auto& place : meaningless)
      if (text.starts_with(place + ": ")) return;
    for (const auto& name : unread)
      if (text.find("unknown field '" + name + "'") != std::string::npos ||
          text.find("unknown mesh '" + name + "'") != std::string::npos)
        return;
    add(mistake);
  }
  /// Keeps it in any case, once. Throws TooManyMistakes if there are too many, or if they are found
  /// again and again: each may have taken long to find.
  void add(const Error& mistake) {
    if (found.size() == most || ++added_ > 10 * most) throw TooManyMistakes();
    for (const auto& known : found)
      if (std::string_view(known.what()) == mistake.what()) return;
    found.push_back(mistake);
  }

 private:
  size_t added_ = 0;
};

/// Does a part of the reading; says whether all was well. What it throws is kept in `mistakes`, or
/// is thrown to the caller if there is none.
template <class Deed>
bool attempt(Diagnostics* mistakes, Deed&& deed) {
  if (mistakes == nullptr) {
    deed();
    return true;
  }
  const size_t before = mistakes->found.size();
  try {
    deed();
  } catch (const Error& mistake) {
    mistakes->keep(mistake);
    return false;
  }
  return mistakes->found.size() == before;
}

// A configuration file as a plain tree in which every node knows its line, and a reader of maps
// that refuses what it does not know. Parameters ($name) are replaced while the tree is made.

/// A node of the configuration. Entries of lists have empty keys.
struct Value {
  enum class Kind { Null, Scalar, List, Map };

  Kind kind = Kind::Null;
  std::string text;
  std::vector<std::pair<std::string, Value>> entries;
  int line = 0;
  std::shared_ptr<const std::string> file;
  int key_line = 0;  ///< of its key in a map; of a list's entry, its own

  // Defined where Value is complete: Clang looks into the vector of pairs too early otherwise.
  Value();
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();

  [[nodiscard]] bool is_null() const { return kind == Kind::Null; }
  [[nodiscard]] bool is_scalar() const { return kind == Kind::Scalar; }
  [[nodiscard]] bool is_list() const { return kind == Kind::List; }
  [[nodiscard]] bool is_map() const { return kind == Kind::Map; }

  /// Entry of a map, or null.
  [[nodiscard]] const Value* find(std::string_view key) const;
  /// "file:line".
  [[nodiscard]] std::string place() const;
  /// Throws a configuration error that names this place.
  [[noreturn]] void fail(const std::string& message) const;
  /// The same at the line of its key, for what is wrong with the entry as a whole.
  [[noreturn]] void fail_at_key(const std::string& message) const;

  /// What the scalar means; each throws, naming the place, if it means something else.
  [[nodiscard]] const std::string& as_text() const;
  [[nodiscard]] double as_real() const;
  [[nodiscard]] int64_t as_integer() const;
  [[nodiscard]] bool as_boolean() const;
  [[nodiscard]] int64_t as_bytes() const;
  [[nodiscard]] double as_seconds() const;
  [[nodiscard]] double as_share() const;
};

using Parameters = std::map<std::string, std::string>;

/// YAML by the place where it goes, such as "sidecars.when_full".
using Overrides = std::map<std::string, std::string>;

/// Puts a value where `path` says, names of keys with dots between; maps on the way are made.
/// Throws a configuration error where the way leads through something else.
void set_entry(Value& root, std::string_view path, Value value);

/// Parses YAML text. `parameters` are the values of $name in scalars; the file's own top-level
/// `parameters:` map gives defaults. Throws an Error with file and line; with `mistakes`, only
/// where the text is not YAML, and parameters without a value are left as they are written.
Value parse_yaml(const std::string& text, const std::string& file, const Parameters& parameters,
                 Diagnostics* mistakes = nullptr);

// Limits on YAML text, checked before anything is made of it: its size, its characters, how many
// values it has, how deeply they are nested. A short text can stand for an endless one (aliases),
// and a parser can run out of stack or memory long before it answers.

/// Bytes of a text.
constexpr size_t longest_yaml = size_t{512} << 10;
/// Keys and values; an alias counts as often as it repeats its anchor's values.
constexpr size_t most_yaml_values = 50'000;
/// Lists and maps within each other.
constexpr size_t deepest_yaml = 100;

/// Throws a configuration error with file and line unless `text` is one document in UTF-8 within
/// these limits. Throws YAML::Exception where it is not YAML. Takes time and memory in proportion
/// to the size of the text, whatever the text holds.
void check_yaml(std::string_view text, const std::string& file);

/// Reads a map key by key, and then refuses the keys that were not read.
class Reader {
 public:
  /// `what` names the map in messages, e.g. "field 'density'". Throws if the value is not a map.
  Reader(const Value& map, std::string what);

  /// The entry, or null if it is absent or empty.
  const Value* find(const std::string& key);
  /// The entry; throws if it is absent.
  const Value& require(const std::string& key);
  /// Throws if the map has a key that was not asked for; with `mistakes`, each is kept.
  void finish(Diagnostics* mistakes = nullptr) const;

  [[nodiscard]] const Value& map() const { return map_; }

 private:
  const Value& map_;
  std::string what_;
  std::vector<std::string> known_;
  std::string meant_;  ///< a key that is there in the place of one that is not
};

/// Corrects keys that nearly match known ones, and keeps the mistakes, so that what is below them
/// can be read.
void mend_keys(Value& map, const std::string& what, const std::vector<std::string>& known,
               Diagnostics& mistakes);

/// A value as YAML text in flow style, for messages and products.
std::string to_flow(const Value& value);

/// The same as text that JSON and YAML read back: numbers, true and false as they are, and any
/// other text in double quotes.
std::string to_json(const Value& value);

}  // namespace pillion::base
