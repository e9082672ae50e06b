// SPDX-License-Identifier: BSD-3-Clause
// Coarse publications, which hold one of so many values because sidecars could not keep up. What is
// made of them says so; nothing is scaled to make up for what was not seen.
#pragma once

#include <cstdint>
#include <pillion/stage.hpp>
#include <string>

namespace pillion::stages {

/// Of how many cells, particles or elements of a mesh one is there; 1 if the publication is whole.
inline int64_t one_of(const stage::Step& step, const std::string& mesh,
                      const pillion_field_description& field) {
  const int64_t factor = step.coarsening(mesh);
  if (field.mesh_kind != PILLION_UNIFORM) return factor;
  int64_t cells = 1;
  for (int32_t axis = 0; axis < field.axes; ++axis) cells *= factor;
  return cells;
}

}  // namespace pillion::stages
