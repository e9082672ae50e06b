// SPDX-License-Identifier: BSD-3-Clause
// The parameter `component`: which number of a field's elements a stage looks at.
#pragma once

#include <cstdint>
#include <pillion/stage.hpp>
#include <string>

#include "elements.hpp"
#include "options.hpp"

namespace pillion::stages {

/// Which component of a field; a field that has but one needs no word.
inline int32_t component_of(const stage::Value& value, const stage::Value& place,
                            const pillion_field_description& field) {
  if (!value) {
    if (field.components == 1) return 0;
    place.fail("field '" + std::string(field.name) + "' has " + std::to_string(field.components) +
               " components; say which: `component: 0` or `component: magnitude`");
  }
  if (value.text() == "magnitude") return magnitude_of_all;
  const int64_t component = integer_from(value, 0);
  if (component >= field.components)
    value.fail("component " + std::to_string(component) + " is none of the " +
               std::to_string(field.components) + " of field '" + field.name + "'");
  return static_cast<int32_t>(component);
}

}  // namespace pillion::stages
