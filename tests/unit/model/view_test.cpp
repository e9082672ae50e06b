// SPDX-License-Identifier: BSD-3-Clause
#include "model/view.hpp"

#include <doctest/doctest.h>

using namespace pillion::model;
using Strides = std::array<int64_t, 4>;

namespace {

const int64_t box[] = {4, 3, 8};
const int64_t line[] = {6};

pillion_view view_of(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides) {
  pillion_view view{nullptr, PILLION_FLOAT64, static_cast<int32_t>(extents.size()), {}, {}};
  for (size_t d = 0; d < extents.size() && d < 5; ++d) {
    view.extents[d] = extents[d];
    view.strides[d] = strides[d];
  }
  return view;
}

Wanted in_box(int32_t components, bool last = false) {
  return {box, ElementType::Float64, components, last, false};
}

Wanted particles(int32_t components, bool last = false) {
  return {line, ElementType::Float64, components, last, true};
}

}  // namespace

TEST_CASE("dimensions are axes, and components before or after them") {
  CHECK(arrange(view_of({4, 3, 8}, {8, 48, 200}), in_box(1)).strides == Strides{1, 6, 25, 1});
  CHECK(arrange(view_of({3, 4, 3, 8}, {8, 24, 96, 288}), in_box(3)).strides ==
        Strides{3, 12, 36, 1});
  CHECK(arrange(view_of({4, 3, 8, 3}, {8, 32, 96, 768}), in_box(3, true)).strides ==
        Strides{1, 4, 12, 96});
  CHECK(arrange(view_of({1, 4, 3, 8}, {0, 8, 32, 96}), in_box(1)).strides == Strides{1, 4, 12, 0});
  CHECK(arrange(view_of({4, 3, 8}, {-8, 32, 96}), in_box(1)).strides == Strides{-1, 4, 12, 1});
}

TEST_CASE("one dimension may hold all values") {
  CHECK(arrange(view_of({96}, {8}), in_box(1)).strides == Strides{1, 4, 12, 1});
  CHECK(arrange(view_of({288}, {8}), in_box(3)).strides == Strides{3, 12, 36, 1});
  CHECK(arrange(view_of({288}, {8}), in_box(3, true)).strides == Strides{1, 4, 12, 96});
  CHECK(arrange(view_of({95}, {8}), in_box(1)).fault ==
        "an array of shape (95), where (4, 3, 8) is expected");
}

TEST_CASE("particles may have room for more") {
  CHECK(arrange(view_of({3, 9}, {8, 24}), particles(3)).strides == Strides{3, 0, 0, 1});
  CHECK(arrange(view_of({9, 3}, {8, 72}), particles(3, true)).strides == Strides{1, 0, 0, 9});
  CHECK(arrange(view_of({30}, {8}), particles(3)).strides == Strides{3, 0, 0, 1});
  CHECK(arrange(view_of({18}, {8}), particles(3, true)).strides == Strides{1, 0, 0, 6});
  CHECK(arrange(view_of({3, 5}, {8, 24}), particles(3)).fault ==
        "an array of shape (3, 5), where (3, 6), or more, is expected, or (6, 3) with components "
        "last");
  CHECK_FALSE(arrange(view_of({30}, {8}), particles(3, true)).fault.empty());
}

TEST_CASE("what does not suit is said") {
  CHECK(arrange(view_of({4, 3, 9}, {8, 32, 96}), in_box(1)).fault ==
        "an array of shape (4, 3, 9), where (4, 3, 8) is expected");
  CHECK(arrange(view_of({4, 3, 8, 3}, {8, 32, 96, 768}), in_box(3)).fault ==
        "an array of shape (4, 3, 8, 3), where (3, 4, 3, 8) is expected, or (4, 3, 8, 3) with "
        "components last");
  CHECK(arrange(view_of({3, 4, 3, 8}, {8, 24, 96, 288}), in_box(3, true)).fault ==
        "an array of shape (3, 4, 3, 8), where (4, 3, 8, 3) is expected, since its components "
        "come last");
  CHECK(arrange(view_of({4, 3}, {8, 32}), in_box(1)).fault ==
        "an array of shape (4, 3), where (4, 3, 8) is expected");
  CHECK(arrange(view_of({4, 3, 8}, {12, 48, 144}), in_box(1)).fault ==
        "an array whose elements are not whole elements apart");
  CHECK(arrange({nullptr, 4, 6, {}, {}}, in_box(1)).fault == "an array with 6 dimensions");
}

TEST_CASE("of an empty block nothing is expected") {
  const int64_t empty[] = {4, 0};
  const Wanted wanted{empty, ElementType::Float64, 3, false, false};
  CHECK(arrange(view_of({7}, {8}), wanted).fault.empty());
}

TEST_CASE("an element's values are evenly apart") {
  const int64_t cube[] = {2, 2, 2}, square[] = {2, 2};
  const Wanted three{cube, ElementType::Float64, 3, false, true};
  const Wanted one{cube, ElementType::Float64, 1, false, true};
  const Wanted three_each{{}, ElementType::Float64, 3, false, true};
  const Wanted one_each{{}, ElementType::Float64, 1, false, true};
  const Wanted flat{square, ElementType::Float64, 3, false, true};
  const auto strides = [](const pillion_view& view, const Wanted& wanted) {
    return arrange_elements(view, wanted, 5).strides;
  };
  CHECK(strides(view_of({2, 2, 2, 3, 5}, {8, 16, 32, 64, 192}), three) == Strides{24, 0, 0, 1});
  CHECK(strides(view_of({8, 3, 6}, {16, 128, 500 * 8}), three) == Strides{500, 0, 0, 2});
  CHECK(strides(view_of({2, 2, 2, 7}, {8, 16, 32, 64}), one) == Strides{8, 0, 0, 1});
  CHECK(strides(view_of({8, 5}, {8, -64}), one) == Strides{-8, 0, 0, 1});
  CHECK(strides(view_of({2, 2, 2, 1, 5}, {8, 16, 32, 8, 64}), one) == Strides{8, 0, 0, 1});
  CHECK(strides(view_of({130}, {8}), three) == Strides{24, 0, 0, 1});
  CHECK(strides(view_of({3, 5}, {8, 24}), three_each) == Strides{3, 0, 0, 1});
  CHECK(strides(view_of({9}, {24}), one_each) == Strides{3, 0, 0, 3});
  CHECK(strides(view_of({2, 2, 3, 5}, {8, 16, 32, 96}), flat) == Strides{12, 0, 0, 1});
  CHECK(strides(view_of({4, 3, 5}, {8, 32, 96}), flat) == Strides{12, 0, 0, 1});
  CHECK(arrange_elements(view_of({2, 2, 2, 3, 5}, {8, 16, 32, 64, 192}), flat, 5).fault ==
        "an array of shape (2, 2, 2, 3, 5), where (2, 2, 3, 5), or more, is expected");
}

TEST_CASE("elements of another shape are refused") {
  const int64_t cube[] = {2, 2, 2};
  const Wanted three{cube, ElementType::Float64, 3, false, true};
  const auto fault = [&](const pillion_view& view) {
    return arrange_elements(view, three, 5).fault;
  };
  CHECK(fault(view_of({3, 2, 2, 2, 5}, {8, 24, 48, 96, 192})) ==
        "an array of shape (3, 2, 2, 2, 5), where (2, 2, 2, 3, 5), or more, is expected");
  CHECK(fault(view_of({2, 2, 2, 3, 4}, {8, 16, 32, 64, 192})).find("expected") !=
        std::string::npos);
  CHECK(fault(view_of({119}, {8})).find("expected") != std::string::npos);
  CHECK(fault(view_of({2, 2, 2, 3, 5}, {8, 24, 48, 96, 288})) ==
        "an array whose elements have gaps between their values");
  CHECK(fault(view_of({120}, {12})) == "an array whose elements are not whole elements apart");
  CHECK(arrange_elements(view_of({7}, {8}), three, 0).fault.empty());
}
