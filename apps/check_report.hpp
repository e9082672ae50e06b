// SPDX-License-Identifier: BSD-3-Clause
// What a check has found, for people and for programs.
#pragma once

#include <pillion/check.h>

#include <string>

namespace pillion::apps {

/// Diagnostics with the lines that they are on, or what will happen; notes at the end.
std::string report_for_people(const pillion_checked& checked, const std::string& file);

/// The same as JSON.
std::string report_as_json(const pillion_checked& checked, const std::string& file);

}  // namespace pillion::apps
