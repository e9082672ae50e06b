// SPDX-License-Identifier: BSD-3-Clause
// Shapes that suit a field, and errors for others.
#include "model/view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace pillion::model {

namespace {

using Shape = std::vector<int64_t>;

std::string text_of(const Shape& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

Shape shape_of(const Wanted& wanted, bool components_last) {
  Shape shape(wanted.extents.begin(), wanted.extents.end());
  if (wanted.components > 1)
    shape.insert(components_last ? shape.end() : shape.begin(), wanted.components);
  return shape;
}

std::string expected(const Wanted& wanted) {
  auto text = text_of(shape_of(wanted, wanted.components_last));
  if (wanted.may_be_longer) text += ", or more,";
  text += " is expected";
  if (wanted.components == 1) return text;
  if (wanted.components_last) return text + ", since its components come last";
  return text + fmt::format(", or {} with components last", text_of(shape_of(wanted, true)));
}

bool fits(int64_t extent, int64_t wanted, bool may_be_longer) {
  return extent == wanted || (may_be_longer && extent > wanted);
}

/// Strides in the units of the view.
bool arrange_axes(const pillion_view& view, const Wanted& wanted, std::array<int64_t, 4>& out) {
  const size_t axes = wanted.extents.size();
  const bool has_components = static_cast<size_t>(view.rank) == axes + 1;
  const size_t first = has_components && !wanted.components_last ? 1 : 0;
  const size_t component = wanted.components_last ? axes : 0;
  if (has_components ? view.extents[component] != wanted.components : wanted.components != 1)
    return false;
  for (size_t a = 0; a < axes; ++a) {
    if (!fits(view.extents[first + a], wanted.extents[a], wanted.may_be_longer)) return false;
    out[a] = view.strides[first + a];
  }
  if (has_components) out[3] = view.strides[component];
  return true;
}

/// All values in one dimension. Where components come last, its length is their distance.
bool arrange_flat(const pillion_view& view, const Wanted& wanted, std::array<int64_t, 4>& out) {
  const int64_t cells = std::accumulate(wanted.extents.begin(), wanted.extents.end(), int64_t{1},
                                        std::multiplies<>());
  const bool longer = wanted.may_be_longer && !wanted.components_last;
  if (!fits(view.extents[0], cells * wanted.components, longer)) return false;
  int64_t stride = view.strides[0] * (wanted.components_last ? 1 : wanted.components);
  for (size_t a = 0; a < wanted.extents.size(); ++a) {
    out[a] = stride;
    stride *= wanted.extents[a];
  }
  out[3] = wanted.components_last ? stride : view.strides[0];
  return true;
}

/// Turns strides in bytes into strides in elements.
Arrangement in_elements(std::array<int64_t, 4> strides, ElementType type) {
  const auto element = static_cast<int64_t>(size_of(type));
  Arrangement out;
  for (size_t s = 0; s < strides.size(); ++s) {
    if (strides[s] % element != 0)
      out.fault = "an array whose elements are not whole elements apart";
    out.strides[s] = strides[s] / element;
  }
  return out;
}

bool has_wrong_rank(const pillion_view& view) {
  return view.rank < 1 || view.rank > static_cast<int32_t>(std::size(view.extents));
}

Arrangement wrong_rank(const pillion_view& view) {
  return {.fault = fmt::format("an array with {} dimensions", view.rank)};
}

Shape shape_of(const pillion_view& view) { return {view.extents, view.extents + view.rank}; }

/// Shapes that one element may have, without the dimension of elements.
std::vector<Shape> shapes_of_element(const Shape& axes, int64_t points, int32_t components) {
  std::vector<Shape> shapes{axes};
  if (!axes.empty()) shapes.push_back({points});
  const auto without = shapes;
  for (auto& shape : shapes) shape.push_back(components);
  if (components == 1) shapes.insert(shapes.end(), without.begin(), without.end());
  return shapes;
}

/// Whether an element's values are evenly apart, each dimension beginning where another ends. The
/// stride of a dimension with a single index, such as that of one component, means nothing.
bool is_even(const pillion_view& view) {
  for (int32_t d = 0; d + 2 < view.rank; ++d)
    if (view.extents[d + 1] != 1 && view.strides[d + 1] != view.strides[d] * view.extents[d])
      return false;
  return true;
}

}  // namespace

Arrangement arrange_elements(const pillion_view& view, const Wanted& wanted, int64_t count) {
  if (count == 0) return {};
  if (has_wrong_rank(view)) return wrong_rank(view);
  const auto& strides = view.strides;
  const Shape axes(wanted.extents.begin(), wanted.extents.end());
  const int64_t points = std::accumulate(axes.begin(), axes.end(), int64_t{1}, std::multiplies<>());
  const int64_t values = points * wanted.components;
  const auto shape = shape_of(view);
  const auto shapes = shapes_of_element(axes, points, wanted.components);
  const Shape of_one(shape.begin(), shape.end() - 1);
  if (std::find(shapes.begin(), shapes.end(), of_one) != shapes.end() && shape.back() >= count) {
    if (!is_even(view)) return {.fault = "an array whose elements have gaps between their values"};
    return in_elements({strides[view.rank - 1], 0, 0, strides[0]}, wanted.type);
  }
  if (view.rank == 1 && view.extents[0] >= values * count)
    return in_elements({values * strides[0], 0, 0, strides[0]}, wanted.type);
  Shape best = shapes.front();
  best.push_back(count);
  return {.fault = fmt::format("an array of shape {}, where {}, or more, is expected",
                               text_of(shape), text_of(best))};
}

Arrangement arrange(const pillion_view& view, const Wanted& wanted) {
  if (std::find(wanted.extents.begin(), wanted.extents.end(), 0) != wanted.extents.end()) return {};
  if (has_wrong_rank(view)) return wrong_rank(view);
  std::array<int64_t, 4> strides{0, 0, 0, static_cast<int64_t>(size_of(wanted.type))};
  const auto rank = static_cast<size_t>(view.rank), axes = wanted.extents.size();
  const bool by_axes = rank == axes + 1 || (rank == axes && wanted.components == 1);
  const bool suits = by_axes ? arrange_axes(view, wanted, strides)
                             : rank == 1 && arrange_flat(view, wanted, strides);
  if (suits) return in_elements(strides, wanted.type);
  return {.fault = fmt::format("an array of shape {}, where {}", text_of(shape_of(view)),
                               expected(wanted))};
}

}  // namespace pillion::model
