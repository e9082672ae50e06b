// SPDX-License-Identifier: BSD-3-Clause
// Elements of blocks, whatever the mesh: how many a block has, rows of their values in double
// precision, one component of a vector or its magnitude, and meshes made coarse.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <vector>

#include "options.hpp"

namespace pillion::stages {

// Reading the values of a field in a block, whatever its element type and arrangement: as stretches
// of doubles, in the order in which the first axis varies fastest. A value is one component of a
// field or the magnitude of all of them. Points of spectral elements are an axis of their own.

/// Stands for a component: the square root of the sum of the components' squares.
constexpr int32_t magnitude_of_all = -1;

/// What names of results end in, for a component of a field with `components`: _x, _3, _magnitude,
/// or nothing if there is but one.
inline std::string ending_of(int32_t component, int32_t components) {
  if (components == 1) return "";
  if (component == magnitude_of_all) return "_magnitude";
  if (components <= 3) return std::string("_") + "xyz"[component];
  return "_" + std::to_string(component);
}

/// Whether blocks of a field are boxes of cells.
inline bool has_boxes(const pillion_field_description& field) {
  return field.mesh_kind == PILLION_UNIFORM || field.mesh_kind == PILLION_RECTILINEAR;
}

/// Whether cells of a field's mesh have a weight, the part of their volume that they have.
inline bool has_weight(const pillion_field_description& field) {
  return field.weight != nullptr && field.weight[0] != '\0';
}

/// Whether blocks of a field have cells of any shape.
inline bool is_unstructured(const pillion_field_description& field) {
  return field.mesh_kind == PILLION_UNSTRUCTURED;
}

/// Whether blocks of a field are boxes of cells whose points have coordinates.
inline bool is_curvilinear(const pillion_field_description& field) {
  return field.mesh_kind == PILLION_CURVILINEAR;
}

/// Whether the points of a field's mesh have coordinates of their own.
inline bool has_placed_points(const pillion_field_description& field) {
  return is_unstructured(field) || is_curvilinear(field);
}

/// Fails if a field is on spectral elements of two dimensions, for a picture, `what`, of hexahedra.
inline void expect_hexahedra(const pillion_field_description& field, const stage::Value& place,
                             const std::string& what) {
  if (field.mesh_kind == PILLION_SPECTRAL && field.axes == 2)
    place.fail(what + " needs elements of three dimensions; those of mesh '" + field.mesh +
               "' have two, which `surface` and `slice` draw");
}

/// Values of one component in an element of a spectral mesh; 1 of fields elsewhere.
inline int64_t points_of(const pillion_field_description& field) {
  const int64_t n = field.points;
  if (field.mesh_kind != PILLION_SPECTRAL || field.centering != PILLION_POINT) return 1;
  return field.axes == 2 ? n * n : n * n * n;
}

/// The array with the points of an element as its first axis and elements as its second, so that it
/// may be read as those of other meshes are, which are as they were.
inline stage::Array unfolded(stage::Array array, const pillion_field_description& field) {
  const int64_t points = points_of(field);
  if (points == 1) return array;
  array.components /= static_cast<int32_t>(points);
  const int64_t next = array.strides[3];
  array.strides[1] = array.strides[0];
  array.strides[0] = next;
  array.strides[2] = 0;
  array.strides[3] = points * next;
  return array;
}

/// Whether there is one value more than cells along an axis of a mesh of boxes.
inline bool is_at_points_along(const pillion_field_description& field, int32_t axis) {
  return (field.point_axes >> static_cast<uint32_t>(axis) & 1u) != 0;
}

/// Number of elements of an array, unfolded if it is one of a spectral mesh, along each axis.
using Extent = std::array<int64_t, 3>;

inline Extent extent_of(const stage::Block& block, const pillion_field_description& field) {
  if (field.mesh_kind == PILLION_SPECTRAL)
    return points_of(field) > 1 ? Extent{points_of(field), block.count(), 1}
                                : Extent{block.count(), 1, 1};
  if (field.mesh_kind == PILLION_PARTICLES) return {block.count(), 1, 1};
  if (is_unstructured(field))
    return {field.centering == PILLION_POINT ? block.point_count() : block.count(), 1, 1};
  Extent extent = {1, 1, 1};
  for (int32_t axis = 0; axis < field.axes; ++axis)
    extent[axis] = block.hi()[axis] - block.lo()[axis] + (is_at_points_along(field, axis) ? 1 : 0);
  return extent;
}

inline int64_t size_of(const Extent& extent) { return extent[0] * extent[1] * extent[2]; }

namespace detail {

template <class T>
double pick(const T* element, const stage::Array& array, int32_t component) {
  if (component != magnitude_of_all)
    return static_cast<double>(element[component * array.strides[3]]);
  double squares = 0;
  for (int32_t c = 0; c < array.components; ++c) {
    const auto value = static_cast<double>(element[c * array.strides[3]]);
    squares += value * value;
  }
  return std::sqrt(squares);
}

template <class T, class F>
void stretches(const T* data, const stage::Array& array, const Extent& n, int32_t component,
               F&& use) {
  std::array<double, 1024> buffer;
  size_t held = 0;
  for (int64_t k = 0; k < n[2]; ++k)
    for (int64_t j = 0; j < n[1]; ++j) {
      const T* row = data + j * array.strides[1] + k * array.strides[2];
      for (int64_t i = 0; i < n[0]; ++i) {
        buffer[held++] = pick(row + i * array.strides[0], array, component);
        if (held < buffer.size()) continue;
        use(std::span<const double>(buffer));
        held = 0;
      }
    }
  if (held > 0) use(std::span<const double>(buffer).first(held));
}

}  // namespace detail

/// Calls use(std::span<const double>) with all values of a component, in stretches.
template <class F>
void for_each_stretch(const stage::Array& array, const Extent& n, int32_t component, F&& use) {
  if (size_of(n) == 0) return;
  const auto as = [&](auto* data) { detail::stretches(data, array, n, component, use); };
  array.visit(as);
}

/// One component of an array, or the magnitude.
struct Selected {
  const stage::Array* array;
  int32_t component;
};

namespace detail {

template <class T>
void read_from(const T* data, const Selected& what, const Extent& n, int64_t from,
               std::span<double> out) {
  const auto& strides = what.array->strides;
  int64_t i = from % n[0], j = from / n[0] % n[1], k = from / (n[0] * n[1]);
  for (size_t at = 0; at < out.size(); i = 0, k += ++j == n[1], j %= n[1]) {
    const T* row = data + j * strides[1] + k * strides[2];
    for (; i < n[0] && at < out.size(); ++i)
      out[at++] = pick(row + i * strides[0], *what.array, what.component);
  }
}

}  // namespace detail

/// Values number `from` to `from + out.size()` of an array, counted with the first axis fastest.
inline void read_values(const Selected& what, const Extent& n, int64_t from,
                        std::span<double> out) {
  if (out.empty()) return;  // of a block that may have no cells at all
  what.array->visit([&](const auto* data) { detail::read_from(data, what, n, from, out); });
}

/// Calls use(std::vector<std::span<double>>) with all values of several arrays, of the same
/// elements each time, in stretches that may be written to.
template <class F>
void for_each_stretch_of(const std::vector<Selected>& all, const Extent& n, F&& use) {
  constexpr int64_t longest = 1024;
  std::vector<double> memory(all.size() * longest);
  std::vector<std::span<double>> values(all.size());
  for (int64_t from = 0; from < size_of(n); from += longest) {
    const auto count = static_cast<size_t>(std::min(longest, size_of(n) - from));
    for (size_t a = 0; a < all.size(); ++a) {
      values[a] = std::span(memory).subspan(a * longest, count);
      read_values(all[a], n, from, values[a]);
    }
    use(values);
  }
}

// The parameter `component`: which number of a field's elements a stage looks at.

/// Which component of a field; a field that has but one needs no word.
inline int32_t component_of(const stage::Value& value, const stage::Value& place,
                            const pillion_field_description& field) {
  if (!value) {
    if (field.components == 1) return 0;
    place.fail("field '" + std::string(field.name) + "' has " + std::to_string(field.components) +
               " components; set `component: 0` or `component: magnitude`");
  }
  if (value.text() == "magnitude") return magnitude_of_all;
  const int64_t component = integer_from(value, 0, most_counted);
  if (component >= field.components)
    value.fail("component " + std::to_string(component) + " is none of the " +
               std::to_string(field.components) + " of field '" + field.name + "'");
  return static_cast<int32_t>(component);
}

// Coarse publications, which hold one of N values because sidecars could not keep up. What is made
// of them is marked; nothing is scaled to make up for what was not seen.

/// Of how many cells, particles or elements of a mesh one is there; 1 if the publication is whole.
inline int64_t one_of(const stage::Step& step, const std::string& mesh,
                      const pillion_field_description& field) {
  const int64_t factor = step.coarsening(mesh);
  if (!has_boxes(field)) return factor;
  int64_t cells = 1;
  for (int32_t axis = 0; axis < field.axes; ++axis) cells *= factor;
  return cells;
}

}  // namespace pillion::stages
