// SPDX-License-Identifier: BSD-3-Clause
#include "model/block.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace pillion::model;
using pillion::base::Copy;

TEST_CASE("boxes overlap if they have a cell in common") {
  const Box a{{0, 0, 0}, {4, 4, 4}};
  CHECK(overlap(a, {{3, 3, 3}, {5, 5, 5}}));
  CHECK_FALSE(overlap(a, {{4, 0, 0}, {8, 4, 4}}));
  CHECK_FALSE(overlap(a, {{2, 2, 2}, {2, 4, 4}}));
  CHECK(to_string(a, 2) == "[0,4)x[0,4)");
}

// Every arrangement must pack to the same bytes as a plain loop over indices.
TEST_CASE("packing any arrangement gives components interleaved, first axis fastest") {
  const Box box{{1, 2, 3}, {4, 4, 5}};
  const std::vector<std::array<int64_t, 4>> arrangements = {
      {1, 3, 6, 0},     // packed, one component
      {4, 1, 12, 0},    // axes swapped, padded
      {1, 10, 40, 0},   // padded rows: a part of a larger array
      {2, 6, 12, 1},    // packed, two components
      {1, 3, 6, 100},   // components apart
      {2, 20, 100, 1},  // padded rows, two components
  };
  for (const auto& strides : arrangements) {
    std::vector<double> memory(400);
    std::iota(memory.begin(), memory.end(), 0.0);
    const int32_t components = strides[3] == 0 ? 1 : 2;
    const Array array{memory.data(), ElementType::Float64, components, strides};
    for (const auto how : {Copy::Plain, Copy::Streaming}) {
      std::vector<double> packed(static_cast<size_t>(box.volume() * components), -1);
      pack(array, box, reinterpret_cast<std::byte*>(packed.data()), how);
      size_t at = 0;
      for (int64_t k = 0; k < 2; ++k)
        for (int64_t j = 0; j < 2; ++j)
          for (int64_t i = 0; i < 3; ++i)
            for (int32_t c = 0; c < components; ++c)
              CHECK(packed[at++] == static_cast<double>(i * strides[0] + j * strides[1] +
                                                        k * strides[2] + c * strides[3]));
    }
  }
}
