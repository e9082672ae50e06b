// SPDX-License-Identifier: BSD-3-Clause
// What `truncate` says of each element beside its coefficients, for whoever stores or decodes them:
// numbers of a field centred on elements, whose name and arrangement both sides know by this page.
#pragma once

#include <cstddef>
#include <string>

#include "element.hpp"

namespace pillion::stages::truncation {

inline std::string coefficients_of(const std::string& field) { return field + "_coefficients"; }
inline std::string coding_of(const std::string& field) { return field + "_coding"; }

/// Of one component.
struct ComponentCoding {
  double step = as_values;  ///< that coefficients are multiples of, not_rounded or as_values
  double error = 0;         ///< at most
  double bound = 0;
};

/// Of one element: one of these for each component, then its volume and the norm (0: rms, 1:
/// largest) as numbers.
constexpr int numbers_per_component = 3, numbers_beside = 2;
constexpr int coding_size(int components) {
  return numbers_per_component * components + numbers_beside;
}

}  // namespace pillion::stages::truncation
