// SPDX-License-Identifier: BSD-3-Clause
// From YAML text to the tree of value.hpp. Duplicate keys are refused, and $name and ${name} are
// replaced by parameters ($$ is a dollar sign).
#include <yaml-cpp/yaml.h>

#include <cctype>
#include <sstream>

#include "base/text.hpp"
#include "base/value.hpp"
#include "base/yaml_limits.hpp"

namespace pillion::base {
namespace {

class Converter {
 public:
  Converter(std::string file, const Parameters& parameters, Diagnostics* mistakes)
      : file_(std::make_shared<const std::string>(std::move(file))),
        parameters_(parameters),
        mistakes_(mistakes) {}

  /// The file's own parameters are defaults: those that the caller gave win.
  void add_defaults(const Value& map) {
    knows_defaults_ = map.is_map() || map.is_null();
    if (!knows_defaults_) return;
    for (const auto& [name, value] : map.entries)
      attempt(mistakes_, [&, &name = name, &value = value] {
        parameters_.try_emplace(name, value.is_null() ? std::string() : value.as_text());
      });
  }

  Value convert(const YAML::Node& node) {
    Value value;
    value.file = file_;
    value.line = node.Mark().line + 1;
    value.key_line = value.line;
    if (node.IsScalar()) {
      value.kind = Value::Kind::Scalar;
      value.text = substitute(node.Scalar(), value);
      check_text(value);
      // An unquoted ~ or null, or nothing at all, is no value; a quoted one is a text.
      if (node.Tag() == "?" && (value.text == "~" || value.text == "null"))
        value.kind = Value::Kind::Null;
    } else if (node.IsSequence()) {
      value.kind = Value::Kind::List;
      for (const auto& child : node) value.entries.emplace_back(std::string(), convert(child));
    } else if (node.IsMap()) {
      value.kind = Value::Kind::Map;
      std::map<std::string, int> lines;
      for (const auto& child : node) add(value, lines, child.first, child.second);
    }
    return value;
  }

 private:
  void add(Value& map, std::map<std::string, int>& lines, const YAML::Node& key,
           const YAML::Node& child) {
    Value at;
    at.file = file_;
    at.line = key.Mark().line + 1;
    if (key.IsScalar()) count_bytes(key.Scalar().size(), at);
    const bool is_good = attempt(mistakes_, [&] {
      if (!key.IsScalar()) at.fail("a key must be a single word");
      check_key(key.Scalar(), at);
      const auto [first, is_new] = lines.emplace(key.Scalar(), at.line);
      if (!is_new)
        at.fail(fmt::format("key '{}' appears twice in one map, first on line {}; keep one of them",
                            key.Scalar(), first->second));
    });
    if (!is_good) return;
    Value value = convert(child);
    if (value.line <= 0 || value.is_null()) value.line = at.line;
    value.key_line = at.line;
    map.entries.emplace_back(key.Scalar(), std::move(value));
  }

  // Escapes such as \0 and the values of parameters bring in what the text of the file cannot hold.
  // Names of files end at a NUL character, and JSON must be UTF-8.
  static void check_text(const Value& value) {
    const auto part = unprintable_part(value.text);
    if (!part.empty()) value.fail(fmt::format("the value contains {}; remove it", part));
  }

  /// Keys name analyses, fields and files.
  static void check_key(const std::string& key, const Value& at) {
    auto part = unprintable_part(key);
    if (part.empty() && key.find_first_of("\t\r\n") != std::string::npos)
      part = "a tab or the end of a line";
    if (!part.empty()) at.fail(fmt::format("the key contains {}; remove it", part));
  }

  /// Many values may each repeat the long value of a parameter, or of an alias.
  void count_bytes(size_t bytes, const Value& at) {
    constexpr size_t most = size_t{8} << 20;
    if ((bytes_ += bytes) > most)
      at.fail(
          fmt::format("aliases and parameters repeat text until all is longer than {}; shorten it",
                      format_bytes(most)));
  }

  std::string substitute(const std::string& text, const Value& at) {
    count_bytes(text.size(), at);
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '$') {
        out += text[i];
        continue;
      }
      if (i + 1 < text.size() && text[i + 1] == '$') {
        out += '$';
        ++i;
        continue;
      }
      const bool braced = i + 1 < text.size() && text[i + 1] == '{';
      size_t end = i + (braced ? 2 : 1);
      const size_t begin = end;
      while (end < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
        ++end;
      const std::string given = value_of(text.substr(begin, end - begin), at);
      count_bytes(given.size(), at);
      out += given;
      if (braced && (end >= text.size() || text[end] != '}')) at.fail("'${' without '}'");
      i = braced ? end : end - 1;
    }
    return out;
  }

  std::string value_of(const std::string& name, const Value& at) const {
    if (mistakes_ == nullptr) return lookup(name, at);
    mistakes_->used_parameters.insert(name);
    try {
      return lookup(name, at);
    } catch (const Error& mistake) {
      if (knows_defaults_) mistakes_->add(mistake);
      mistakes_->meaningless.insert(at.place());
      return "$" + name;
    }
  }

  const std::string& lookup(const std::string& name, const Value& at) const {
    if (name.empty())
      at.fail("a '$' without the name of a parameter after it; write '$$' for a dollar sign");
    const auto found = parameters_.find(name);
    if (found != parameters_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [key, value] : parameters_) known.push_back(key);
    at.fail(fmt::format(
        "parameter '${}' has no value; give it under 'parameters:', with --set or in a call{}",
        name, suggestion(name, known)));
  }

  std::shared_ptr<const std::string> file_;
  Parameters parameters_;
  Diagnostics* mistakes_;
  size_t bytes_ = 0;
  bool knows_defaults_ = true;
};

/// What the words of the parser mean to somebody who writes a configuration.
std::string advice_on(const std::string& text, const YAML::Exception& e) {
  std::istringstream in(text);
  std::string line;
  for (int number = 0; number <= e.mark.line && std::getline(in, line); ++number)
    if (line.find('\t') < line.find_first_not_of(" \t"))
      return fmt::format("; line {} is indented with a tab: YAML wants blanks", number + 1);
  const std::string said = e.msg;
  if (said.find("illegal map value") != std::string::npos)
    return "; is a line before it indented otherwise, is a blank missing after its ':', or does a "
           "text with ': ' lack quotes?";
  if (said.find("not found") != std::string::npos)
    return "; does this line begin where those beside it begin, and is every '{' and '[' closed?";
  return {};
}

}  // namespace

Value parse_yaml(const std::string& text, const std::string& file, const Parameters& parameters,
                 Diagnostics* mistakes) {
  try {
    check_yaml(text, file);
    const YAML::Node node = YAML::Load(text);
    Converter converter(file, parameters, mistakes);
    if (node.IsMap() && node["parameters"])
      converter.add_defaults(Converter(file, parameters, mistakes).convert(node["parameters"]));
    return converter.convert(node);
  } catch (const YAML::Exception& e) {
    throw Error(ErrorCode::Configuration,
                fmt::format("{}:{}: not valid YAML at column {}: {}{}", file, e.mark.line + 1,
                            e.mark.column + 1, e.msg, advice_on(text, e)));
  }
}

}  // namespace pillion::base
