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

namespace {

// Every arrangement must pack to the same bytes as a plain loop over indices.
template <class T>
void check_packing(ElementType type) {
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
    std::vector<T> memory(400);
    std::iota(memory.begin(), memory.end(), T{});  // those of one byte begin again at 0
    const int32_t components = strides[3] == 0 ? 1 : 2;
    const Array array{memory.data(), type, components, strides};
    for (const auto how : {Copy::Plain, Copy::Streaming}) {
      std::vector<T> packed(static_cast<size_t>(box.volume() * components), T{7});
      pack(array, box, reinterpret_cast<std::byte*>(packed.data()), how);
      size_t at = 0;
      for (int64_t k = 0; k < 2; ++k)
        for (int64_t j = 0; j < 2; ++j)
          for (int64_t i = 0; i < 3; ++i)
            for (int32_t c = 0; c < components; ++c)
              CHECK(packed[at++] == static_cast<T>(i * strides[0] + j * strides[1] +
                                                   k * strides[2] + c * strides[3]));
    }
  }
}

}  // namespace

TEST_CASE("packing any arrangement gives components interleaved, first axis fastest") {
  check_packing<double>(ElementType::Float64);
  check_packing<float>(ElementType::Float32);
  check_packing<int16_t>(ElementType::Int16);
  check_packing<uint8_t>(ElementType::Uint8);
}

// Values name their place: component, then how many elements behind its first.
TEST_CASE("components in arrays of their own are packed together") {
  const Box box{{1, 2, 3}, {4, 4, 5}};
  const std::array<int64_t, 4> padded{2, 7, 15, 1};
  std::array<std::vector<double>, 3> memory;
  std::vector<const void*> data;
  for (size_t c : {2, 0, 1}) {  // so that they are hardly evenly apart
    memory[c].resize(100 + 50 * c);
    std::iota(memory[c].begin(), memory[c].end(), 1000.0 * static_cast<double>(c));
  }
  for (const auto& component : memory) data.push_back(component.data());
  const auto array = array_of_components(data, {nullptr, ElementType::Float64, 3, padded});
  REQUIRE(array);
  for (const auto how : {Copy::Plain, Copy::Streaming}) {
    std::vector<double> packed(36, -1);
    pack(*array, box, reinterpret_cast<std::byte*>(packed.data()), how);
    size_t at = 0;
    for (int64_t k = 0; k < 2; ++k)
      for (int64_t j = 0; j < 2; ++j)
        for (int64_t i = 0; i < 3; ++i)
          for (int32_t c = 0; c < 3; ++c)
            CHECK(packed[at++] == 1000.0 * c + static_cast<double>(2 * i + 7 * j + 15 * k));
  }
}

TEST_CASE("arrays of components that are evenly apart need only strides") {
  const float values[64] = {};
  const Array like{nullptr, ElementType::Float32, 3, {1, 2, 4, 1}};
  const auto even =
      array_of_components(std::array<const void*, 3>{values, values + 20, values + 40}, like);
  REQUIRE(even);
  CHECK_FALSE(even->is_apart());
  CHECK(even->strides[3] == 20);
  CHECK(even->component_at(2) == 40);

  const auto back =
      array_of_components(std::array<const void*, 3>{values + 40, values + 20, values}, like);
  CHECK(back->strides[3] == -20);

  const auto uneven =
      array_of_components(std::array<const void*, 3>{values, values + 20, values + 41}, like);
  CHECK(uneven->is_apart());
  CHECK(uneven->component_at(2) == 41);

  const auto* bytes = reinterpret_cast<const char*>(values);
  CHECK_FALSE(array_of_components(std::array<const void*, 3>{bytes, bytes + 10, bytes + 40}, like));
}

TEST_CASE("points of elements are packed by component") {
  const int64_t points = 8, elements = 2;
  std::array<std::vector<float>, 2> memory;
  for (size_t c = 0; c < 2; ++c) {
    memory[c].resize(static_cast<size_t>(10 * elements * 2));
    std::iota(memory[c].begin(), memory[c].end(), 100.0f * static_cast<float>(c));
  }
  for (const int64_t apart : {1, 2}) {
    const Array like{nullptr, ElementType::Float32, 16, {10 * apart, 0, 0, apart}};
    const auto array =
        array_of_components(std::array<const void*, 2>{memory[0].data(), memory[1].data()}, like);
    REQUIRE(array);
    CHECK(array->is_apart());  // a whole element of the other component lies between
    CHECK(array->components_together() == points);
    std::vector<float> packed(32, -1);
    pack(*array, {{0, 0, 0}, {elements, 1, 1}}, reinterpret_cast<std::byte*>(packed.data()));
    size_t at = 0;
    for (int64_t e = 0; e < elements; ++e)
      for (int64_t c = 0; c < 2; ++c)
        for (int64_t p = 0; p < points; ++p)
          CHECK(packed[at++] ==
                100.0f * static_cast<float>(c) + static_cast<float>(apart * (10 * e + p)));
  }
}
