// SPDX-License-Identifier: BSD-3-Clause
// Words and quantities in configuration files: closest match to a misspelt word, bytes and seconds
// with units. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::base {

/// Edits (insertions, deletions, substitutions, swaps of neighbours) between two words.
size_t edit_distance(std::string_view a, std::string_view b);

/// The known word that `word` was probably meant to be, if one is near enough.
std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& known);

/// "; did you mean 'x'?" or, if no known word is near, "; known: a, b, c".
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

/// "a, b, c".
std::string join(const std::vector<std::string>& words, std::string_view separator = ", ");

/// Bytes of "64 MiB", "2 GB", "1024" or "512 B"; nothing if it is none of these.
std::optional<int64_t> parse_bytes(std::string_view text);

/// Seconds of "250 ms", "30 s", "5 min", "2 h" or "30"; nothing if it is none of these.
std::optional<double> parse_seconds(std::string_view text);

/// 0.01 for "1 %" or "1%", up to 100 %; nothing without the sign.
std::optional<double> parse_share(std::string_view text);

/// A size such as "1.5 GiB".
std::string format_bytes(int64_t bytes);

/// A number that takes the whole of `text`, or nothing.
std::optional<double> parse_real(std::string_view text);
std::optional<int64_t> parse_integer(std::string_view text);

/// `text` without blanks at its ends.
std::string_view trim(std::string_view text);

struct Character {
  char32_t code = 0;
  size_t bytes = 0;  ///< 0: the text begins with what is not UTF-8
};

/// The character that a text begins with.
Character first_character(std::string_view text);

/// Whether YAML text may hold this character: tab, line feed and carriage return are the only
/// control characters that it may.
bool is_printable(char32_t code);

/// Names what in `text` is not UTF-8 or not printable; empty if all is well.
std::string unprintable_part(std::string_view text);

/// `text`, or its beginning and its end if it is longer than 600 bytes.
std::string shortened(std::string_view text);

}  // namespace pillion::base
