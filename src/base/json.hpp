// SPDX-License-Identifier: BSD-3-Clause
// The little JSON that Pillion writes: quoted text and numbers that are not infinite.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

namespace pillion::base {

/// `text` in double quotes, as JSON and YAML both read it.
inline std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else out += c;
    }
  }
  return out + '"';
}

/// Texts with commas between them.
template <class Texts>
std::string json_list(const Texts& texts) {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : ", ") + json_text(text);
  return out;
}

/// A number as JSON has it; what is not finite becomes null.
inline std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

}  // namespace pillion::base
