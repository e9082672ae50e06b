// SPDX-License-Identifier: BSD-3-Clause
// From YAML text to the tree of value.hpp: the only place that knows yaml-cpp. Duplicate keys are
// refused, and $name and ${name} are replaced by parameters ($$ is a dollar sign).
#include <yaml-cpp/yaml.h>

#include <cctype>

#include "base/text.hpp"
#include "base/value.hpp"

namespace pillion::base {
namespace {

class Converter {
 public:
  Converter(std::string file, const Parameters& parameters)
      : file_(std::make_shared<const std::string>(std::move(file))), parameters_(parameters) {}

  /// The file's own parameters are defaults: those that the caller gave win.
  void add_defaults(const Value& map) {
    for (const auto& [name, value] : map.entries)
      parameters_.try_emplace(name, value.is_null() ? std::string() : value.as_text());
  }

  Value convert(const YAML::Node& node) const {
    Value value;
    value.file = file_;
    value.line = node.Mark().line + 1;
    if (node.IsScalar()) {
      value.kind = Value::Kind::Scalar;
      value.text = substitute(node.Scalar(), value);
      // An unquoted ~ or null, or nothing at all, is no value; a quoted one is a text.
      if (node.Tag() == "?" && (value.text == "~" || value.text == "null"))
        value.kind = Value::Kind::Null;
    } else if (node.IsSequence()) {
      value.kind = Value::Kind::List;
      for (const auto& child : node) value.entries.emplace_back(std::string(), convert(child));
    } else if (node.IsMap()) {
      value.kind = Value::Kind::Map;
      for (const auto& child : node) add(value, child.first, child.second);
    }
    return value;
  }

 private:
  void add(Value& map, const YAML::Node& key, const YAML::Node& child) const {
    Value at = map;
    at.line = key.Mark().line + 1;
    if (!key.IsScalar()) at.fail("a key must be a single word");
    if (map.find(key.Scalar()) != nullptr)
      at.fail(fmt::format("key '{}' appears twice in one map", key.Scalar()));
    Value value = convert(child);
    if (value.line <= 0 || value.is_null()) value.line = at.line;
    map.entries.emplace_back(key.Scalar(), std::move(value));
  }

  std::string substitute(const std::string& text, const Value& at) const {
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
      out += lookup(text.substr(begin, end - begin), at);
      if (braced && (end >= text.size() || text[end] != '}')) at.fail("'${' without '}'");
      i = braced ? end : end - 1;
    }
    return out;
  }

  const std::string& lookup(const std::string& name, const Value& at) const {
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
};

}  // namespace

Value parse_yaml(const std::string& text, const std::string& file, const Parameters& parameters) {
  try {
    const YAML::Node node = YAML::Load(text);
    Converter converter(file, parameters);
    if (node.IsMap() && node["parameters"])
      converter.add_defaults(Converter(file, parameters).convert(node["parameters"]));
    return converter.convert(node);
  } catch (const YAML::Exception& e) {
    throw Error(ErrorCode::Configuration,
                fmt::format("{}:{}: not valid YAML at column {}: {}", file, e.mark.line + 1,
                            e.mark.column + 1, e.msg));
  }
}

}  // namespace pillion::base
