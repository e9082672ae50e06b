// SPDX-License-Identifier: BSD-3-Clause
// What a writer is given of a publication: boxes of samples, with an array for each field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pillion/idx/bitmask.hpp>
#include <vector>

namespace pillion::stages {

/// Samples [lo, hi) that this peer has, packed with the first axis fastest, components interleaved;
/// one array for each field that is written.
struct SampleBox {
  idx::Point lo{}, hi{};
  idx::Point end{};  ///< of the mesh's samples: what is beyond, up to hi, is there to fill the box
  std::vector<const std::byte*> arrays;

  [[nodiscard]] idx::Point extent() const { return {hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]}; }
};

}  // namespace pillion::stages
