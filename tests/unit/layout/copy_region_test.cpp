// SPDX-License-Identifier: BSD-3-Clause
// Any region from any arrangement to any other, against loops over cells.
#include "layout/copy_region.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "random_boxes.hpp"

using namespace pillion::layout;
using pillion::model::Box;
using random_boxes::below;
using random_boxes::Random;
using random_boxes::some_strides;

namespace {

template <class T>
void check_copies(Random& random) {
  const Box from = random_boxes::domain(random, 7);
  const auto components = static_cast<int32_t>(1 + below(random, 3));
  Box region;
  std::array<int64_t, 3> shift{};
  for (size_t d = 0; d < 3; ++d) {
    shift[d] = below(random, 9) - 4;
    region.lo[d] = from.lo[d] + below(random, from.hi[d] - from.lo[d]);
    region.hi[d] = region.lo[d] + 1 + below(random, from.hi[d] - region.lo[d]);
    region.lo[d] += shift[d], region.hi[d] += shift[d];
  }
  Box to = region;
  for (size_t d = 0; d < 3; ++d) to.lo[d] -= below(random, 3), to.hi[d] += below(random, 3);
  int64_t from_size = 0, to_size = 0;
  const auto a = some_strides(from, components, random, from_size);
  const auto b = some_strides(to, components, random, to_size);
  std::vector<T> source(static_cast<size_t>(from_size)), target(static_cast<size_t>(to_size), -1);
  std::iota(source.begin(), source.end(), T{1});
  auto expected = target;
  for (int64_t k = region.lo[2]; k < region.hi[2]; ++k)
    for (int64_t j = region.lo[1]; j < region.hi[1]; ++j)
      for (int64_t i = region.lo[0]; i < region.hi[0]; ++i)
        for (int32_t c = 0; c < components; ++c)
          expected[static_cast<size_t>((i - to.lo[0]) * b[0] + (j - to.lo[1]) * b[1] +
                                       (k - to.lo[2]) * b[2] + c * b[3])] =
              source[static_cast<size_t>((i - shift[0] - from.lo[0]) * a[0] +
                                         (j - shift[1] - from.lo[1]) * a[1] +
                                         (k - shift[2] - from.lo[2]) * a[2] + c * a[3])];
  copy_region({reinterpret_cast<std::byte*>(target.data()), to.lo, b},
              {reinterpret_cast<const std::byte*>(source.data()), from.lo, a}, region, shift,
              components, sizeof(T));
  REQUIRE(target == expected);

  // The same from an array for each component, in places that nothing relates.
  std::vector<std::vector<T>> apart(static_cast<size_t>(components), source);
  Source of_components{nullptr, from.lo, a};
  of_components.data = reinterpret_cast<const std::byte*>(apart[0].data());
  for (int32_t c = 0; c < components; ++c)
    of_components.offsets.push_back(
        static_cast<int64_t>((reinterpret_cast<intptr_t>(apart[static_cast<size_t>(c)].data()) -
                              reinterpret_cast<intptr_t>(apart[0].data())) /
                             static_cast<intptr_t>(sizeof(T))) +
        c * a[3]);
  std::fill(target.begin(), target.end(), T{-1});
  copy_region({reinterpret_cast<std::byte*>(target.data()), to.lo, b}, of_components, region, shift,
              components, sizeof(T));
  REQUIRE(target == expected);
}

}  // namespace

TEST_CASE("a region is copied whole, and nothing else is touched") {
  Random random(3);
  for (int round = 0; round < 1500; ++round) {
    check_copies<double>(random);
    check_copies<int32_t>(random);
  }
}
