// SPDX-License-Identifier: BSD-3-Clause
// Names in texts of other formats. A program chooses the names of its fields and meshes, so every
// writer puts them through one of these functions.
#pragma once

#include <cstdio>
#include <string>

namespace pillion::stages {

/// In double quotes, as YAML and JSON read it.
inline std::string in_quotes(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
      continue;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
    out += code;
  }
  return out + "\"";
}

/// For attributes and contents of XML.
inline std::string escaped_for_xml(const std::string& name) {
  std::string out;
  for (const char c : name) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;
      default: out += c;
    }
  return out;
}

}  // namespace pillion::stages
