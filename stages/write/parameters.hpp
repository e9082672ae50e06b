// SPDX-License-Identifier: BSD-3-Clause
// Parameters that formats have in common: the dataset's name, and those that are another format's.
#pragma once

#include <initializer_list>
#include <pillion/stage.hpp>
#include <string>

namespace pillion::stages {

/// From the parameter `name`, or that of the mesh; it becomes a part of paths.
inline std::string dataset_name(const stage::Setup& setup, const std::string& mesh) {
  const auto given = setup["name"];
  const std::string name = given ? given.text() : mesh;
  if (name.empty() || name[0] == '.' || name.find_first_of("/%() \t") != std::string::npos)
    given.fail("'" + name + "' cannot name a dataset");
  return name;
}

/// Fails if a parameter that means nothing to a format is not as it is by default.
struct Foreign {
  const char* name;
  const char* standard;
};
inline void refuse_foreign(const stage::Setup& setup, const std::string& format,
                           std::initializer_list<Foreign> parameters) {
  for (const auto& [name, standard] : parameters) {
    const auto value = setup[name];
    const bool is_standard =
        value ? value.is_scalar() && value.text() == standard : std::string(standard) == "null";
    if (!is_standard)
      value.fail(std::string("parameter '") + name + "' means nothing to `format: " + format + "`");
  }
}

}  // namespace pillion::stages
