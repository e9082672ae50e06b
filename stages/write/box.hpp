// SPDX-License-Identifier: BSD-3-Clause
// What a writer is given of a publication: boxes of samples, in parts that lie where they came to
// or where the simulation has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pillion/idx/bitmask.hpp>
#include <vector>

namespace pillion::stages {

struct Region {
  idx::Point lo{}, hi{};
  bool operator==(const Region&) const = default;
};

/// Samples [lo, end) that this peer has, and of which parts they are made.
struct BoxShape {
  idx::Point lo{}, end{};
  idx::Point first{}, hi{};  ///< of what is written: where there are no samples, zeros
  std::vector<Region> parts;
  bool operator==(const BoxShape&) const = default;
};

/// Elements of one field in a part; the components of one lie together.
struct PartArray {
  const std::byte* data = nullptr;  ///< the first sample of the part
  idx::Point strides{};             ///< bytes between neighbours along the axes
};

struct SampleBox {
  BoxShape shape;
  std::vector<std::vector<PartArray>> arrays;  ///< by part, and by field that is written
};

}  // namespace pillion::stages
