// SPDX-License-Identifier: BSD-3-Clause
// Limits on YAML text, checked before anything is made of it: its size, its characters, how many
// values it has, how deeply they are nested. A short text can stand for an endless one (aliases),
// and a parser can run out of stack or memory long before it answers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pillion::base {

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

}  // namespace pillion::base
