// SPDX-License-Identifier: BSD-3-Clause
// The findings of a check, for people and for programs.
#pragma once

#include <string>

#include "preflight/check.hpp"

namespace pillion::apps {

/// Mistakes with the lines that they are on, or what will happen; notes at the end.
std::string report_for_people(const preflight::CheckResult& result, const std::string& file);

/// The same as JSON; docs/configuration.md has its keys.
std::string report_as_json(const preflight::CheckResult& result, const std::string& file);

}  // namespace pillion::apps
