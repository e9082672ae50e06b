// SPDX-License-Identifier: BSD-3-Clause
// Copying the fields of particles out of a block, whatever their element types, into the types that
// kernels work with.
#pragma once

#include <cstdint>
#include <pillion/stage.hpp>
#include <vector>

#include "domain.hpp"

namespace pillion::stages {

/// One component of the first `count` particles.
template <class T>
std::vector<T> read_component(const stage::Array& array, int64_t count, int32_t component) {
  std::vector<T> out(static_cast<size_t>(count));
  const auto& raw = array;
  array.visit([&](const auto* data) {
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<T>(data[i * raw.strides[0] + component * raw.strides[3]]);
  });
  return out;
}

inline Vectors read_vectors(const stage::Array& array, int64_t count) {
  return {read_component<double>(array, count, 0), read_component<double>(array, count, 1),
          read_component<double>(array, count, 2)};
}

}  // namespace pillion::stages
