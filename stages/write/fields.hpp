// SPDX-License-Identifier: BSD-3-Clause
// The fields that are written: all on one mesh, of any types and numbers of components.
#pragma once

#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../common/elements.hpp"

namespace pillion::stages {

struct WrittenFields {
  std::vector<std::string> names;
  std::vector<pillion_field_description> fields;

  /// From the parameter `fields`.
  explicit WrittenFields(const stage::Setup& setup, bool takes_all_meshes = false) {
    const auto list = setup["fields"];
    for (const auto& name : list.texts()) {
      for (const auto& before : names)
        if (before == name) list.fail("field '" + name + "' is listed twice");
      const auto field = setup.field(name, list);
      if (!takes_all_meshes && field.mesh_kind != PILLION_UNIFORM)
        list.fail("field '" + name + "' is not on a uniform mesh, which this format needs");
      if (!fields.empty() && std::string(field.mesh) != fields.front().mesh)
        list.fail("fields '" + names.front() + "' and '" + name +
                  "' are on different meshes; write them in two stages");
      names.push_back(name);
      fields.push_back(field);
    }
    if (names.empty()) list.fail("no fields are listed");
  }

  [[nodiscard]] const pillion_field_description& mesh() const { return fields.front(); }
  [[nodiscard]] size_t bytes_per_sample() const {
    size_t bytes = 0;
    for (const auto& field : fields) bytes += element_size(field);
    return bytes;
  }
  static size_t element_size(const pillion_field_description& field) {
    const bool wide = field.type == PILLION_FLOAT64 || field.type == PILLION_INT64;
    return (wide ? 8 : 4) * static_cast<size_t>(field.components * points_of(field));
  }
};

}  // namespace pillion::stages
