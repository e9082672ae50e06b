// SPDX-License-Identifier: BSD-3-Clause
// Two passes: over the characters, then over the events of yaml-cpp's parser, which makes no tree.
#include "base/yaml_limits.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pillion::base {
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
