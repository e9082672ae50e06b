// SPDX-License-Identifier: BSD-3-Clause
// JSON, by nlohmann's library. Sources that build values include <nlohmann/json.hpp> themselves.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::base {

/// Keeps the order in which entries were added.
using Json = nlohmann::ordered_json;

/// `value` as text, with `indent` spaces per level, or on one line if it is negative. Bytes that
/// are not UTF-8 are replaced; numbers that are not finite become null.
std::string format_json(const Json& value, int indent = -1);

/// `text` in double quotes, as JSON and YAML both read it.
std::string json_text(std::string_view text);

/// Texts in double quotes, with commas between them.
std::string json_list(const std::vector<std::string>& texts);

/// Null if the text is empty.
Json text_or_null(const std::string& text);

}  // namespace pillion::base
