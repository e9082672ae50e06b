// SPDX-License-Identifier: BSD-3-Clause
#include "base/json.hpp"

#include <nlohmann/json.hpp>

namespace pillion::base {

std::string format_json(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string json_text(std::string_view text) { return format_json(Json(text)); }

std::string json_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : ", ") + json_text(text);
  return out;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace pillion::base
