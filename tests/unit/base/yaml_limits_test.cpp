// SPDX-License-Identifier: BSD-3-Clause
// Text that would crash or starve a reader of YAML.
#include <doctest/doctest.h>

#include "base/value.hpp"

using namespace pillion;
using namespace pillion::base;

namespace {

std::string error_of(const std::string& text, const Parameters& parameters = {}) {
  try {
    (void)parse_yaml(text, "f", parameters);
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::Configuration);
    return e.what();
  }
  return "no error";
}

std::string repeated(const std::string& text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

/// Each level holds the one below ten times.
std::string bomb(int levels) {
  std::string text = "a0: &a0 x\n";
  for (int i = 1; i <= levels; ++i)
    text += fmt::format("a{0}: &a{0} [{1}]\n", i, repeated(fmt::format("*a{}, ", i - 1), 10));
  return text;
}

}  // namespace

TEST_CASE("a value that contains itself is refused at the line of the alias") {
  const std::string cycle = "an alias refers to a list or map that contains it";
  CHECK(error_of("parameters: &p {n: *p}").starts_with("f:1: " + cycle));
  CHECK(error_of("x: &a [*a]").starts_with("f:1: " + cycle));
  CHECK(error_of("x: &a\n  y:\n    - z: *a\n").starts_with("f:3: " + cycle));
  CHECK(error_of("&a x: &b\n  y: &a [1]\n  z: [*a, *b]\n").starts_with("f:3: " + cycle));
}

TEST_CASE("aliases repeat values, up to the limit") {
  const auto root = parse_yaml("a: &a {b: &b [1, 2], c: *b}\nd: *a\ne: &b 3\nf: *b\n", "f", {});
  CHECK(to_flow(root) == "{a: {b: [1, 2], c: [1, 2]}, d: {b: [1, 2], c: [1, 2]}, e: 3, f: 3}");
  CHECK(parse_yaml(bomb(3), "f", {}).find("a3")->entries.size() == 10);
  CHECK(error_of(bomb(9)).starts_with("f:6: there are more than 50000 keys and values"));
  CHECK(error_of("a: &a [" + repeated("1,", 49'990) + "]\nb: 1\nc: *a\n").starts_with("f:3: "));
}

TEST_CASE("nesting is refused at the line where it is too deep, however it is written") {
  const std::string deep = "lists and maps are nested more than 100 deep";
  CHECK(error_of("a:\n  " + repeated("[", 100'000)) == "f:2: " + deep);
  CHECK(error_of("a:\n  " + repeated("{a: ", 100'000)) == "f:2: " + deep);
  CHECK(error_of("a: 1\n" + repeated("[", 200) + repeated("]", 200)).starts_with("f:2: "));
  CHECK(error_of("a: " + repeated("[", 100) + repeated("]", 100)) == "f:1: " + deep);
  CHECK(error_of("a: " + repeated("[", 99) + repeated("]", 99)) == "no error");
  CHECK(error_of("a:\n  " + repeated("- ", 100'000)) == "f:2: " + deep);
  CHECK(error_of(repeated("? ", 100'000)) == "f:1: " + deep);
  std::string block, aliases = "a0: &a0 [1]\n";
  for (int i = 0; i < 500; ++i) block += repeated(" ", i) + "a:\n";
  for (int i = 1; i < 500; ++i) aliases += fmt::format("a{0}: &a{0} [*a{1}]\n", i, i - 1);
  CHECK(error_of(block) == "f:101: " + deep);
  CHECK(error_of(aliases) == "f:100: " + deep);
}

TEST_CASE("text that is too long, or has too many values, is refused where that is reached") {
  const std::string longer = "the text is longer than 512.0 KiB";
  CHECK(error_of("a: 1\n#" + std::string(100'000'000, 'x')).starts_with("f:2: " + longer));
  CHECK(error_of(repeated("# comment\n", 100'000)).starts_with("f:52429: " + longer));
  CHECK(error_of("a: 1\n" + std::string(500'000, '#')) == "no error");
  const std::string many = "there are more than 50000 keys and values";
  CHECK(error_of("a:\n  [" + repeated("1,", 200'000) + "]").starts_with("f:2: " + many));
  CHECK(error_of("a:\n" + repeated("- 1\n", 50'000)).starts_with("f:49999: " + many));
  std::string fields = "fields:\n";
  for (int i = 0; i < 25'000; ++i) fields += fmt::format("  f{}: {{}}\n", i);
  CHECK(error_of(fields).find(many) != std::string::npos);
}

TEST_CASE("repeated text is counted, too") {
  const std::string words(100'000, 'x');
  const std::string repeats = "aliases and parameters repeat text until all is longer than 8.0 MiB";
  CHECK(error_of("a: &a " + words + "\nb:\n  [" + repeated("*a,", 1000) + "]")
            .starts_with("f:1: " + repeats));
  CHECK(error_of("a: &a {? " + words + " : 1}\nb:\n  [" + repeated("*a,", 1000) + "]")
            .starts_with("f:1: " + repeats));
  CHECK(error_of("parameters: {n: " + words + "}\nb: [" + repeated("$n,", 1000) + "]")
            .starts_with("f:2: " + repeats));
  CHECK(error_of("a: " + repeated("$n", 100'000), {{"n", words}}).starts_with("f:1: " + repeats));
  CHECK(error_of("parameters: {" + words + ": 1}\nb: $" + words + "y").size() < 2000);
}

TEST_CASE("a second document is refused at its line") {
  CHECK(error_of("a: 1\n---\nb: 2\n").starts_with("f:2: a second document begins here"));
  CHECK(error_of("--- # the only one\na: 1\n...\n# the end\n") == "no error");
  CHECK(error_of("%YAML 1.2\n---\na: 1\n") == "no error");
  CHECK(error_of("[1],\n[2]").starts_with("f:1: "));
}

TEST_CASE("what is not UTF-8, and characters that are not text, are refused with their place") {
  CHECK(error_of("a: 1\nb: 20 \xB0"
                 "C\n") == "f:2: the byte 0xb0 at column 7 is not UTF-8; save the file as UTF-8");
  CHECK(error_of("ÅÅ: \xC5\n").starts_with("f:1: the byte 0xc5 at column 5 is not UTF-8"));
  for (const std::string bad : {"\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                "\xF8\x88\x80\x80\x80", "\x80", "\xE2\x82"})
    CHECK(error_of("a: " + bad).find("is not UTF-8") != std::string::npos);
  CHECK(error_of("\xFF\xFE"
                 "a\0:\0")
            .starts_with("f:1: the text is UTF-16"));
  CHECK(error_of(std::string("a\0:\0", 4))
            .starts_with("f:1: YAML cannot hold the character U+0000 at column 2"));
  CHECK(error_of("a: \x1B[31m").starts_with("f:1: YAML cannot hold the character U+001B"));
  const std::string unicode = "# °, Å, 水, 😀 and a byte order mark\r\na: \t'Å'\r\n";
  CHECK(error_of("\xEF\xBB\xBF" + unicode) == "no error");
}

TEST_CASE("what escapes and parameters bring in is refused, too") {
  CHECK(error_of("a: 1\nb: \"a\\0b\"") ==
        "f:2: the value contains the character U+0000; remove it");
  CHECK(error_of("a: $b", {{"b", "\xB0"}}) ==
        "f:1: the value contains the byte 0xb0, which is not UTF-8; remove it");
  CHECK(error_of("\"a\\0b\": 1").starts_with("f:1: the key contains the character U+0000"));
  CHECK(error_of("\"a\\nb\": 1").starts_with("f:1: the key contains a tab or the end of a line"));
  CHECK(error_of("a: \"b\\n\\tÅ\"") == "no error");
}
