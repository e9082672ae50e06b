// SPDX-License-Identifier: BSD-3-Clause
// Blocks as NumPy arrays over the host's own memory: nothing is copied, whatever the strides. An
// array's owner is a lease that Python gives for the step, so that it can be seen afterwards
// whether a script has kept an array, whose memory is not there for ever.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <functional>
#include <numeric>
#include <pillion/stage/block.hpp>
#include <vector>

#include "core/element_types.hpp"
#include "core/handles.hpp"

namespace nb = nanobind;

namespace pillion::python {

namespace {

/// Strides are in elements.
struct Shape {
  std::array<size_t, 5> extent{};
  std::array<int64_t, 5> stride{};
  size_t axes = 0;
  void add(int64_t extent_of_axis, int64_t stride_of_axis) {
    extent[axes] = static_cast<size_t>(extent_of_axis);
    stride[axes++] = stride_of_axis;
  }
};

/// Points along each axis of an element, or none where a field has one value for it.
using Points = std::vector<int32_t>;

int64_t product(const Points& points) {
  return std::accumulate(points.begin(), points.end(), int64_t{1}, std::multiplies<>());
}

/// [element, component, k, j, i] of a field at the points of elements, without components if there
/// is but one, and without k in two dimensions.
Shape shape_of_elements(int64_t count, int64_t components, const Points& points, int64_t of_element,
                        int64_t of_value) {
  Shape out;
  int64_t stride = product(points);
  out.add(count, of_element);
  if (components > 1) out.add(components, stride * of_value);
  for (const int32_t n : points) out.add(n, (stride /= n) * of_value);
  return out;
}

/// 1 along an axis along which values are at points of a mesh of boxes, one more than cells.
int64_t more_along(uint32_t point_axes, int32_t axis) {
  return point_axes >> static_cast<uint32_t>(axis) & 1u;
}

/// Of an array without axes there are `items` cells, points or particles.
Shape shape_of(const stage::Block& block, const stage::Array& array, int32_t axes,
               const Points& points, int64_t items, uint32_t point_axes) {
  if (!points.empty())
    return shape_of_elements(block.count(), array.components / product(points), points,
                             array.strides[0], array.strides[3]);
  Shape out;
  for (int32_t d = 0; d < axes; ++d)
    out.add(block.hi()[d] - block.lo()[d] + more_along(point_axes, d), array.strides[d]);
  if (axes == 0) out.add(items, array.strides[0]);
  if (array.components > 1) out.add(array.components, array.strides[3]);
  return out;
}

template <class... Options>
nb::object array_of(void* data, const Shape& shape, pillion_type type, nb::handle owner) {
  return nb::cast(nb::ndarray<nb::numpy, Options...>(data, shape.axes, shape.extent.data(), owner,
                                                     shape.stride.data(), dtype_of(type)),
                  nb::rv_policy::reference);
}

nb::tuple triple(const int64_t* values, int32_t axes) {
  nb::list out;
  for (int32_t d = 0; d < axes; ++d) out.append(values[d]);
  return nb::tuple(out);
}

stage::Block found_block(const Work& work, int32_t input, int32_t index) {
  const pillion_block* found = work.host().block(work.get(), input, index);
  if (found == nullptr) throw Error(ErrorCode::Argument, "there is no such block");
  return stage::Block(found);
}

/// How many values a field has in a block whose mesh is not one of boxes.
int64_t items_of(const pillion_block& block, pillion_centering centering) {
  const bool has_points = block.connectivity != nullptr && centering == PILLION_POINT;
  return has_points ? block.points.total : block.cells.total;
}

/// Bits of each cell; None where no cell has any.
nb::object flags_of(const stage::Block& block, int32_t axes, const nb::object& lease) {
  const pillion_array* flags = block.raw().flags;
  if (flags == nullptr) return nb::none();
  Shape shape;
  for (int32_t d = 0; d < axes; ++d) shape.add(block.hi()[d] - block.lo()[d], flags->strides[d]);
  if (axes == 0) shape.add(block.count(), flags->strides[0]);
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(const_cast<void*>(flags->data), shape.axes,
                                                 shape.extent.data(), lease, shape.stride.data(),
                                                 nb::dtype<uint8_t>()),
                  nb::rv_policy::reference);
}

/// The part of its volume that each cell has; None if all have all of it.
nb::object weight_of(const stage::Block& block, int32_t axes, const nb::object& lease) {
  const pillion_array* weight = block.raw().weight;
  if (weight == nullptr) return nb::none();
  const int64_t size = weight->type == PILLION_FLOAT32 ? 4 : 8;
  Shape shape;
  for (int32_t d = 0; d < axes; ++d)
    shape.add(block.hi()[d] - block.lo()[d], weight->strides[d] / size);
  if (axes == 0) shape.add(block.count(), weight->strides[0] / size);
  return array_of<nb::ro>(const_cast<void*>(weight->data), shape, weight->type, lease);
}

template <class T>
nb::object list_of(const T* values, int64_t count, const nb::object& lease) {
  if (values == nullptr) return nb::none();
  const auto extent = static_cast<size_t>(count);
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(const_cast<T*>(values), 1, &extent, lease, nullptr,
                                                 nb::dtype<T>()),
                  nb::rv_policy::reference);
}

/// Cells of a block of an unstructured mesh, by the names of pillion_connectivity; None of others.
nb::object connectivity(const Work& work, int32_t input, int32_t index, const nb::object& lease) {
  const auto& block = found_block(work, input, index).raw();
  if (block.connectivity == nullptr) return nb::none();
  const auto& found = *block.connectivity;
  const int64_t cells = block.cells.total, faces = found.face_count;
  const auto last = [](const int64_t* offsets, int64_t count) {
    return offsets == nullptr ? 0 : offsets[count];
  };
  nb::dict out;
  out["types"] = list_of(found.types, cells, lease);
  out["offsets"] = list_of(found.offsets, cells + 1, lease);
  out["points"] = list_of(found.points, last(found.offsets, cells), lease);
  out["face_offsets"] = list_of(found.face_offsets, faces + 1, lease);
  out["face_points"] = list_of(found.face_points, last(found.face_offsets, faces), lease);
  out["polyhedron_offsets"] = list_of(found.polyhedron_offsets, cells + 1, lease);
  out["polyhedron_faces"] =
      list_of(found.polyhedron_faces, last(found.polyhedron_offsets, cells), lease);
  out["point_ids"] = list_of(found.point_ids, block.points.total, lease);
  out["cell_ids"] = list_of(found.cell_ids, cells, lease);
  out["parents"] = list_of(found.parents, cells, lease);
  out["patches"] = list_of(found.patches, cells, lease);
  return out;
}

/// Of each point of an unstructured mesh, or of a curvilinear one with `axes`; None of others.
nb::object coordinates(const Work& work, int32_t input, int32_t index, int32_t axes,
                       const nb::object& lease) {
  const auto found = found_block(work, input, index);
  if (found.raw().coordinates == nullptr) return nb::none();
  const auto array = stage::array_of(*found.raw().coordinates);
  Shape shape;
  for (int32_t d = 0; d < axes; ++d) shape.add(found.hi()[d] - found.lo()[d] + 1, array.strides[d]);
  if (axes == 0) shape.add(found.raw().points.total, array.strides[0]);
  shape.add(array.components, array.strides[3]);
  return array_of<nb::ro>(const_cast<void*>(array.data), shape, array.type, lease);
}

nb::tuple pair(const pillion_count& count) { return nb::make_tuple(count.owned, count.total); }

/// (lo, hi, inner_lo, inner_hi, id, number, level, count, owned, arrays, flags, cells, points,
/// weight, topology version, geometry version).
/// `axes` is 0 unless the mesh is uniform; `inner` says whether the layout has inner cells of its
/// own; `points` are, for each field, those of an element along each axis, or none.
nb::tuple block(const Work& work, int32_t input, int32_t index, int32_t axes, bool inner,
                const std::vector<Points>& points, const nb::object& lease) {
  const auto found = found_block(work, input, index);
  nb::list arrays;
  for (int32_t a = 0; a < found.array_count(); ++a) {
    const auto array = found[a];
    const auto& raw = *found.raw().arrays[a];
    const auto shape = shape_of(found, array, axes, points.at(static_cast<size_t>(a)),
                                items_of(found.raw(), raw.centering), raw.point_axes);
    arrays.append(array_of<nb::ro>(const_cast<void*>(array.data), shape, array.type, lease));
  }
  return nb::make_tuple(triple(found.lo(), axes), triple(found.hi(), axes),
                        triple(inner ? found.inner_lo() : found.lo(), axes),
                        triple(inner ? found.inner_hi() : found.hi(), axes), found.id(),
                        found.number(), found.level(), found.count(), found.owned(), arrays,
                        flags_of(found, axes, lease), pair(found.raw().cells),
                        pair(found.raw().points), weight_of(found, axes, lease),
                        found.raw().topology_version, found.raw().geometry_version);
}

/// Memory for an output on a block, to be written to.
nb::object produce(const Work& work, int32_t output, int32_t input, int32_t index, int32_t axes,
                   bool inner, int32_t type, int32_t components, const Points& points,
                   int32_t centering, uint32_t point_axes, const nb::object& lease) {
  const auto found = found_block(work, input, index);
  void* data = nullptr;
  work.check(work.host().produce(work.get(), output, input, index, &data));
  if (!points.empty()) {
    const int64_t values = components * product(points);
    return array_of<>(data, shape_of_elements(found.count(), components, points, values, 1), type,
                      lease);
  }
  Shape shape;
  int64_t stride = components;
  for (int32_t d = 0; d < axes; ++d) {
    const int64_t cells =
        inner ? found.inner_hi()[d] - found.inner_lo()[d] : found.hi()[d] - found.lo()[d];
    const int64_t extent = cells + more_along(point_axes, d);
    shape.add(extent, stride);
    stride *= extent;
  }
  if (axes == 0) shape.add(items_of(found.raw(), centering), stride);
  if (components > 1) shape.add(components, 1);
  return array_of<>(data, shape, type, lease);
}

}  // namespace

void bind_views(nb::class_<Work>& work) {
  work.def("block", block, nb::arg("input"), nb::arg("index"), nb::arg("axes"), nb::arg("inner"),
           nb::arg("points"), nb::arg("lease"),
           nb::sig("def block(self, input: int, index: int, axes: int, inner: bool, "
                   "points: collections.abc.Sequence[collections.abc.Sequence[int]], lease: "
                   "object) -> tuple[typing.Any, ...]"))
      .def("produce", produce, nb::arg("output"), nb::arg("input"), nb::arg("index"),
           nb::arg("axes"), nb::arg("inner"), nb::arg("type"), nb::arg("components"),
           nb::arg("points"), nb::arg("centering"), nb::arg("point_axes"), nb::arg("lease"),
           nb::sig("def produce(self, output: int, input: int, index: int, axes: int, inner: bool, "
                   "type: int, components: int, points: collections.abc.Sequence[int], "
                   "centering: int, point_axes: int, lease: object) -> typing.Any"))
      .def("connectivity", connectivity, nb::arg("input"), nb::arg("index"), nb::arg("lease"),
           nb::sig("def connectivity(self, input: int, index: int, lease: object) -> "
                   "dict[str, typing.Any] | None"))
      .def("coordinates", coordinates, nb::arg("input"), nb::arg("index"), nb::arg("axes"),
           nb::arg("lease"),
           nb::sig("def coordinates(self, input: int, index: int, axes: int, lease: object) -> "
                   "typing.Any"));
}

}  // namespace pillion::python
