// SPDX-License-Identifier: BSD-3-Clause
// Text functions of text.hpp.
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

namespace pillion::base {

// Damerau's restricted distance: optimal string alignment.
size_t edit_distance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> cost((a.size() + 1) * width);
  for (size_t i = 0; i <= a.size(); ++i) cost[i * width] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = cost[(i - 1) * width + j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      size_t best = std::min({change, cost[(i - 1) * width + j] + 1, cost[i * width + j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        best = std::min(best, cost[(i - 2) * width + j - 2] + 1);
      cost[i * width + j] = best;
    }
  }
  return cost.back();
}

std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& known) {
  constexpr size_t longest_word = 100;  // the distance takes time in proportion to both lengths
  std::optional<std::string> best;
  if (word.size() > longest_word) return best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const auto& candidate : known) {
    if (candidate.size() >= word.size() + best_distance) continue;
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  if (const auto near = closest(word, known)) return fmt::format("; did you mean '{}'?", *near);
  if (known.empty()) return {};
  return fmt::format("; known: {}", join(known));
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return {};
  if (byte(0) < 0x80) return {byte(0), 1};
  const size_t bytes = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < bytes) return {};
  char32_t code = byte(0) & (0xFFU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  if (code < least[bytes] || code > 0x10FFFF || is_surrogate) return {};
  return {code, bytes};
}

// c-printable of YAML 1.2, section 5.1, without the byte order mark, which only begins a text.
bool is_printable(char32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  if (code < 0xA0) return code < 0x7F || code == 0x85;
  return code != 0xFEFF && code != 0xFFFE && code != 0xFFFF;
}

std::string unprintable_part(std::string_view text) {
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    if (bytes == 0)
      return fmt::format("the byte 0x{:02x}, which is not UTF-8",
                         static_cast<unsigned char>(text[0]));
    if (!is_printable(code))
      return fmt::format("the character U+{:04X}", static_cast<uint32_t>(code));
    text.remove_prefix(bytes);
  }
  return {};
}

std::string shortened(std::string_view text) {
  // A line of stdout reaches mpirun whole up to 1024 bytes; longer ones of several ranks mix.
  constexpr size_t part = 300;
  if (text.size() <= 2 * part) return std::string(text);
  const auto is_inside = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  size_t end = part, begin = text.size() - part;
  while (end > 0 && is_inside(end)) --end;
  while (begin < text.size() && is_inside(begin)) ++begin;
  return fmt::format("{} [...] {}", text.substr(0, end), text.substr(begin));
}

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

namespace {

template <class T>
std::optional<T> parse_whole(std::string_view text) {
  text = trim(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

/// The value of "NUMBER UNIT" in units of the table's first column; no unit means a factor of 1.
std::optional<double> parse_quantity(
    std::string_view text, const std::vector<std::pair<std::string_view, double>>& units) {
  text = trim(text);
  size_t split = text.size();
  while (split > 0 && std::isalpha(static_cast<unsigned char>(text[split - 1])) != 0) --split;
  const auto number = parse_whole<double>(text.substr(0, split));
  if (!number || !std::isfinite(*number)) return {};
  if (split == text.size()) return number;
  for (const auto& [name, factor] : units)
    if (name == text.substr(split)) return *number * factor;
  return {};
}

}  // namespace

std::optional<double> parse_real(std::string_view text) { return parse_whole<double>(text); }

std::optional<int64_t> parse_integer(std::string_view text) { return parse_whole<int64_t>(text); }

std::optional<int64_t> parse_bytes(std::string_view text) {
  static const std::vector<std::pair<std::string_view, double>> units = {
      {"B", 1},           {"kB", 1e3},           {"MB", 1e6},
      {"GB", 1e9},        {"TB", 1e12},          {"KiB", 1024.0},
      {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};
  const auto value = parse_quantity(text, units);
  if (!value || *value < 0 || *value > 9e18) return {};
  return static_cast<int64_t>(*value);
}

std::optional<double> parse_seconds(std::string_view text) {
  static const std::vector<std::pair<std::string_view, double>> units = {
      {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}};
  const auto value = parse_quantity(text, units);
  if (!value || *value < 0) return {};
  return value;
}

std::optional<double> parse_share(std::string_view text) {
  text = trim(text);
  if (!text.ends_with('%')) return {};
  const auto percent = parse_whole<double>(text.substr(0, text.size() - 1));
  if (!percent || !(*percent >= 0 && *percent <= 100)) return {};
  return *percent / 100;
}

std::string format_bytes(int64_t bytes) {
  static constexpr const char* names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(names)) value /= 1024, ++unit;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, names[unit]);
}

}  // namespace pillion::base
