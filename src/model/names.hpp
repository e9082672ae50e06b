// SPDX-License-Identifier: BSD-3-Clause
// Which texts may name meshes, fields and analyses, and which are paths. One rule for all of them:
// names become parts of files, of keys and of messages.
#pragma once

#include <string>

namespace pillion::base {
struct Value;
}

namespace pillion::model {

/// Why a text cannot name a mesh, a field, a patch or a set of points; "" if it can.
std::string fault_of_name(const std::string& name);

/// Why a text cannot name an analysis, whose products go to a folder of that name; "" if it can.
std::string fault_of_analysis_name(const std::string& name);

/// For messages: on one line, and not longer than a line.
std::string shown(const std::string& name);

/// Throws a configuration error at the key of `place` if a text cannot name `what`, "a mesh".
void check_name(const std::string& name, const char* what, const base::Value& place);

/// The path that a value holds. Throws a configuration error if it begins with a tilde, which only
/// shells expand, or with a typographic quote.
const std::string& read_path(const base::Value& value);

}  // namespace pillion::model
