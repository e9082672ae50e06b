// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include "layout/boxes.hpp"
#include "random_boxes.hpp"

using namespace pillion::layout;
using random_boxes::below;
using random_boxes::Random;

TEST_CASE("every overlapping pair is found once") {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    const auto some = [&](int64_t longest) {
      std::vector<Box> boxes;
      for (int64_t n = below(random, 40); n > 0; --n) {
        Box box;
        for (size_t d = 0; d < 3; ++d) {
          box.lo[d] = below(random, 30) - 10;
          box.hi[d] = box.lo[d] + below(random, longest);
        }
        boxes.push_back(box);
      }
      return boxes;
    };
    const auto a = some(1 + below(random, 12)), b = some(1 + below(random, 12));
    const auto found = overlaps(a, b);
    size_t at = 0;
    for (size_t i = 0; i < a.size(); ++i)
      for (size_t j = 0; j < b.size(); ++j) {
        const Box region = common(a[i], b[j]);
        if (is_empty(region)) continue;
        REQUIRE(at < found.size());
        CHECK(found[at].a == i);
        CHECK(found[at].b == j);
        CHECK(found[at].region == region);
        ++at;
      }
    CHECK(at == found.size());
  }
}
