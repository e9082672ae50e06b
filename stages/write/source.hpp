// SPDX-License-Identifier: BSD-3-Clause
// Where the fields of a dataset come from: a field of the simulation, or one component of it where
// the format has no room for all of them in one.
#pragma once

#include <pillion/stage.h>

#include <cstddef>

namespace pillion::stages {

inline size_t bytes_of(pillion_type type) {
  return type == PILLION_FLOAT64 || type == PILLION_INT64 ? 8 : 4;
}

struct Source {
  size_t array = 0;  ///< number of the field among those that are written
  size_t begin = 0;  ///< byte of the element at which what is wanted begins
};

}  // namespace pillion::stages
