// SPDX-License-Identifier: BSD-3-Clause
// Names and paths as users write them.
#include "model/names.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.hpp"
#include "base/value.hpp"

namespace pillion::model {

namespace {

constexpr size_t most_bytes = 200;  // file systems allow 255, and some names become longer

/// Bytes of the printable character of UTF-8 that begins there; 0 if there is none.
size_t printable_at(const std::string& text, size_t at) {
  const auto byte = [&](size_t n) {
    return at + n < text.size() ? static_cast<unsigned char>(text[at + n]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  for (size_t n = 1; n < size; ++n)
    if ((byte(n) & 0xc0U) != 0x80U) return 0;
  const bool is_control = first == 0xc2 && byte(1) < 0xa0;  // U+0080 to U+009F
  return first > 0xf4 || is_control ? 0 : size;
}

bool is_printable(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const size_t size = printable_at(text, at);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

std::string fault_of_any_name(const std::string& name) {
  if (name.empty()) return "give it at least one character";
  if (!is_printable(name)) return "leave out characters that cannot be printed";
  if (name.size() > most_bytes)
    return fmt::format("its {} bytes are too many; use {} at most", name.size(), most_bytes);
  return {};
}

/// Whether a run or a program of Pillion writes a file of that name beside the analyses' folders.
bool is_reserved(const std::string& name) {
  for (const std::string stem : {"report", "progress"})
    if (name == stem + ".json" || (name.starts_with(stem + "-") && name.ends_with(".json")))
      return true;
  return name == "timeline" || name == "compare" || name == "report.html" ||
         name == "manifest.yaml";  // the latter in saved states
}

}  // namespace

std::string shown(const std::string& name) {
  constexpr size_t most = 60;
  std::string out;
  for (size_t at = 0; at < name.size();) {
    if (out.size() >= most) return out + "…";
    const size_t size = printable_at(name, at);
    out += size > 0 ? name.substr(at, size)
                    : fmt::format("\\x{:02x}", static_cast<unsigned char>(name[at]));
    at += std::max<size_t>(size, 1);
  }
  return out;
}

std::string fault_of_name(const std::string& name) {
  if (auto fault = fault_of_any_name(name); !fault.empty()) return fault;
  if (name.find('/') != std::string::npos) return "leave out any '/'";
  if (name == "." || name == "..") return "files use it for folders; choose another";
  if (name.front() == ' ' || name.back() == ' ') return "leave out blanks at its ends";
  return {};
}

std::string fault_of_analysis_name(const std::string& name) {
  if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos)
    return "leave out any '/' and a '.' at its beginning";
  if (auto fault = fault_of_any_name(name); !fault.empty()) return fault;
  if (is_reserved(name)) return "a run writes a file of that name there; choose another";
  return {};
}

void check_name(const std::string& name, const char* what, const base::Value& place) {
  if (const auto fault = fault_of_name(name); !fault.empty())
    place.fail_at_key(fmt::format("'{}' cannot name {}; {}", shown(name), what, fault));
}

// A shell expands `~`; a file that no shell reads would make a folder of that name, which people
// then remove with all that is in their home.
const std::string& read_path(const base::Value& value) {
  const std::string& path = value.as_text();
  if (!is_printable(path))
    value.fail(
        fmt::format("'{}' cannot be a path, for it holds characters that cannot be printed; "
                    "leave these out",
                    shown(path)));
  if (path.starts_with('~'))
    value.fail(
        fmt::format("'{}' cannot be a path: `~` is expanded by shells, and not in this file; write "
                    "the whole path, or './{}' for a folder of that name",
                    shown(path), shown(path)));
  for (const std::string_view quote : {"“", "”", "‘", "’", "„"})
    if (path.starts_with(quote))
      value.fail(fmt::format(
          "'{}' begins with a typographic quote, which YAML takes for a part of the text; use \" "
          "or ', or leave quotes out",
          shown(path)));
  return path;
}

}  // namespace pillion::model
