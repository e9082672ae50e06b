// SPDX-License-Identifier: BSD-3-Clause
// Arrays of languages in which arrays know their shape: whether such an array can hold the values
// of a block, and how they lie in it.
#pragma once

#include <pillion/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "model/catalogue.hpp"

namespace pillion::model {

/// What an array must hold: a value for each index along the axes and each component.
struct Wanted {
  std::span<const int64_t> extents;  ///< one per axis of the mesh; of particles their count
  ElementType type = ElementType::Float64;
  int32_t components = 1;
  bool components_last = false;
  bool may_be_longer = false;  ///< along the axes: room that is not used yet
};

/// Strides in elements as model::Array has them, or else what is wrong with the array.
struct Arrangement {
  std::array<int64_t, 4> strides{0, 0, 0, 1};
  std::string fault;
};

/// The array has a dimension for each axis, and one for components before or after them, which may
/// be missing if there is one component; or one dimension for all values, one after another.
Arrangement arrange(const pillion_view& view, const Wanted& wanted);

/// The same for `count` elements of a spectral mesh. `wanted.extents` are the points along each
/// axis of an element, none if the field is centred on elements. The array has a dimension for each
/// axis, which may be one for all points, for components if there are several, and for elements; or
/// one for all values. Strides are between elements (0) and between values of one (3).
Arrangement arrange_elements(const pillion_view& view, const Wanted& wanted, int64_t count);

}  // namespace pillion::model
