// SPDX-License-Identifier: BSD-3-Clause
// JSON as programs of Pillion print it: texts, and lists of what is text already.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::apps {

/// A text in double quotes.
inline std::string json(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (static_cast<unsigned char>(c) >= 0x20) out += c;
    else {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    }
  }
  return out + '"';
}

/// A list of what is JSON, one entry a line.
inline std::string json_list(const std::vector<std::string>& entries, int margin) {
  if (entries.empty()) return "[]";
  const std::string indent(static_cast<size_t>(margin), ' ');
  std::string out = "[";
  for (const auto& entry : entries) out += (out.size() == 1 ? "\n  " : ",\n  ") + indent + entry;
  return out + "\n" + indent + "]";
}

}  // namespace pillion::apps
