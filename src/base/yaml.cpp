// SPDX-License-Identifier: BSD-3-Clause
// From YAML text to the tree of value.hpp. Duplicate keys are refused, and $name and ${name} are
// replaced by parameters ($$ is a dollar sign).
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/value.hpp"

namespace pillion::base {

namespace {

constexpr const char* letters_of_names =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

class Converter {
 public:
  Converter(std::string file, const Parameters& parameters, Diagnostics* mistakes)
      : file_(std::make_shared<const std::string>(std::move(file))),
        parameters_(parameters),
        mistakes_(mistakes) {}

  /// The file's own parameters are defaults: the caller's values override them.
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
      // An unquoted ~ or null, or nothing at all, is not a value; a quoted one is a text.
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
      const std::string given = value_of(text.substr(begin, end - begin), at, text);
      count_bytes(given.size(), at);
      out += given;
      if (braced && (end >= text.size() || text[end] != '}')) at.fail("'${' without '}'");
      i = braced ? end : end - 1;
    }
    return out;
  }

  std::string value_of(const std::string& name, const Value& at, const std::string& text) const {
    if (mistakes_ == nullptr) return lookup(name, at, text);
    mistakes_->used_parameters.insert(name);
    try {
      return lookup(name, at, text);
    } catch (const Error& mistake) {
      if (knows_defaults_) mistakes_->add(mistake);
      mistakes_->meaningless.insert(at.place());
      return "$" + name;
    }
  }

  const std::string& lookup(const std::string& name, const Value& at,
                            const std::string& text) const {
    if (name.empty())
      at.fail("a '$' without the name of a parameter after it; write '$$' for a dollar sign");
    const auto found = parameters_.find(name);
    if (found != parameters_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [key, value] : parameters_) known.push_back(key);
    // A quote without an end takes what follows for its text, up to the next one.
    const bool has_keys = text.find(": ") != std::string::npos && text.size() > 60;
    at.fail(fmt::format(
        "parameter '${}' has no value; give it under 'parameters:', with --set or in a call{}{}",
        name, suggestion(name, known),
        has_keys ? fmt::format("; or does the quote that begins the text '{}…' lack its end?",
                               text.substr(0, 20))
                 : ""));
  }

  std::shared_ptr<const std::string> file_;
  Parameters parameters_;
  Diagnostics* mistakes_;
  size_t bytes_ = 0;
  bool knows_defaults_ = true;
};

/// Signs that YAML takes otherwise than they look, in the lines up to one.
std::string advice_on_signs(const std::string& text, int last) {
  std::istringstream in(text);
  std::string line;
  for (int number = 0; number <= last && std::getline(in, line); ++number) {
    if (line.find("\xc2\xa0") != std::string::npos)
      return fmt::format("; line {} holds a no-break space: YAML wants blanks", number + 1);
    const auto opened = line.find("${");
    if (opened != std::string::npos &&
        line.find_first_not_of(letters_of_names, opened + 2) != line.find('}', opened))
      return fmt::format("; on line {}, '${{' has no '}}' after the name of a parameter",
                         number + 1);
    if (number + 1 < last) continue;  // quotes in titles far above are as they should be
    for (const char* quote : {"“", "”", "„"})
      if (line.find(quote) != std::string::npos)
        return fmt::format("; line {} holds a typographic quote, which YAML takes for text",
                           number + 1);
  }
  return {};
}

/// What the parser's messages mean to the author of a configuration.
std::string advice_on(const std::string& text, const YAML::Exception& e) {
  std::istringstream in(text);
  std::string line;
  for (int number = 0; number <= e.mark.line && std::getline(in, line); ++number)
    if (line.find('\t') < line.find_first_not_of(" \t"))
      return fmt::format("; line {} is indented with a tab: YAML wants blanks", number + 1);
  if (const auto advice = advice_on_signs(text, e.mark.line); !advice.empty()) return advice;
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

namespace {

class Checker : public YAML::EventHandler {
 public:
  explicit Checker(const std::string& file) : file_(file) {}

  void check_size(std::string_view text) const {
    if (text.size() <= longest_yaml) return;
    const auto lines = std::count(text.begin(), text.begin() + longest_yaml, '\n');
    fail(static_cast<int>(lines) + 1,
         fmt::format("the text is longer than {}, which is reached on this line; shorten it",
                     format_bytes(static_cast<int64_t>(longest_yaml))));
  }

  // The parser would keep a token for each open bracket before its first event.
  void check_characters(std::string_view text) const {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    constexpr size_t most_brackets = 10 * deepest_yaml;  // some may be within quotes or comments
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
      fail(1, "the text is UTF-16; save the file as UTF-8");
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    int line = 1, column = 1;
    for (size_t brackets = 0; !text.empty(); ++column) {
      const auto [code, bytes] = first_character(text);
      if (bytes == 0)
        fail(line, fmt::format("the byte 0x{:02x} at column {} is not UTF-8; save the file as "
                               "UTF-8",
                               static_cast<unsigned char>(text[0]), column));
      if (!is_printable(code))
        fail(line,
             fmt::format("YAML cannot hold the character U+{:04X} at column {}{}",
                         static_cast<uint32_t>(code), column,
                         code == 0 ? "; if the file is UTF-16, save it as UTF-8" : "; remove it"));
      if (code == '[' || code == '{') ++brackets;
      if ((code == ']' || code == '}') && brackets > 0) --brackets;
      if (brackets > most_brackets) fail_as_deep(line);
      if (code == '\n') ++line, column = 0;
      text.remove_prefix(bytes);
    }
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      fail(mark.line + 1, "a second document begins here; write one document, without '---' in it");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add_single(mark, anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                const std::string& /*value*/) override {
    add_single(mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Extent& repeated = extent(anchor);
    if (repeated.values == 0)
      fail(mark.line + 1, "an alias refers to a list or map that contains it; write the value out");
    count(mark, repeated.values);
    if (!open_.empty()) deepen(mark, repeated.depth);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(mark, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(mark, anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  /// Of a value with all that is in it: lists and maps have a depth of at least 1.
  struct Extent {
    size_t values = 0;  ///< 0 while it is open
    size_t depth = 0;
  };
  struct Open {
    YAML::anchor_t anchor;
    size_t values_before;
    size_t depth = 1;
  };

  [[noreturn]] void fail(int line, const std::string& message) const {
    throw Error(ErrorCode::Configuration, fmt::format("{}:{}: {}", file_, line, message));
  }
  [[noreturn]] void fail_as_deep(int line) const {
    fail(line, fmt::format("lists and maps are nested more than {} deep", deepest_yaml));
  }

  void count(const YAML::Mark& mark, size_t values) {
    values_ += values;
    if (values_ > most_yaml_values)
      fail(mark.line + 1,
           fmt::format("there are more than {} keys and values, counting what aliases repeat; the "
                       "limit is reached on this line",
                       most_yaml_values));
  }

  /// In the innermost open value there is one of this depth.
  void deepen(const YAML::Mark& mark, size_t depth) {
    if (open_.size() + depth > deepest_yaml) fail_as_deep(mark.line + 1);
    open_.back().depth = std::max(open_.back().depth, depth + 1);
  }

  void add_single(const YAML::Mark& mark, YAML::anchor_t anchor) {
    count(mark, 1);
    extent(anchor) = {.values = 1, .depth = 0};
  }

  void begin(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() == deepest_yaml) fail_as_deep(mark.line + 1);
    extent(anchor) = {};
    open_.push_back({.anchor = anchor, .values_before = values_});
    count(mark, 1);
  }

  void end() {
    const Open closed = open_.back();
    open_.pop_back();
    extent(closed.anchor) = {.values = values_ - closed.values_before, .depth = closed.depth};
    if (!open_.empty()) open_.back().depth = std::max(open_.back().depth, closed.depth + 1);
  }

  /// Anchors are numbered from 1; 0 stands for none.
  Extent& extent(YAML::anchor_t anchor) {
    if (anchor >= extents_.size()) extents_.resize(anchor + 1);
    return extents_[anchor];
  }

  const std::string& file_;
  std::vector<Open> open_;
  std::vector<Extent> extents_;
  size_t values_ = 0;
  int documents_ = 0;
};

}  // namespace

void check_yaml(std::string_view text, const std::string& file) {
  Checker checker(file);
  checker.check_size(text);
  checker.check_characters(text);
  std::istringstream in{std::string(text)};
  YAML::Parser parser(in);
  while (parser.HandleNextDocument(checker)) {}
}

}  // namespace pillion::base
