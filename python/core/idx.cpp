// SPDX-License-Identifier: BSD-3-Clause
// The module `pillion._idx`: the reader of multiresolution datasets. It needs no MPI. Names of
// fields, defaults and documentation are in Python (pillion/idx/dataset.py); points and boxes are
// in the order x, y, z here, arrays are indexed [z, y, x, component].
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <pillion/error.hpp>
#include <pillion/idx/reader.hpp>

#include "core/errors.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace pillion;
using namespace pillion::idx;

namespace {

using Triple = std::tuple<int64_t, int64_t, int64_t>;  // a tuple in Python, where arrays are lists
using Array = nb::ndarray<nb::ndim<4>, nb::device::cpu>;

Triple triple(const Point& point) { return {point[0], point[1], point[2]}; }

/// Refuses arrays that the samples of a grid do not fit into.
Point strides_of(const Array& out, const Field& field, const Grid& grid) {
  const auto size = static_cast<int64_t>(out.itemsize());
  for (size_t a = 0; a < 3; ++a)
    if (static_cast<int64_t>(out.shape(2 - a)) != grid.extent[a])
      throw Error(ErrorCode::Argument, "the array is not of the shape of what is read");
  const bool is_packed = out.shape(3) == 1 || out.stride(3) == 1;
  if (static_cast<int>(out.shape(3)) != field.components || out.itemsize() != size_of(field.type) ||
      !is_packed)
    throw Error(ErrorCode::Argument, "the array has other components than field " + field.name);
  return {out.stride(2) * size, out.stride(1) * size, out.stride(0) * size};
}

// Other threads of Python run while files are read: the reader is constant, and the caller holds
// the array.
int64_t read_into(const Reader& reader, size_t field, int64_t step, const Point& lo,
                  const Point& hi, int after, int level, const Array& out) {
  const Query query{field, step, lo, hi};
  const Grid grid = reader.grid(query, level);
  const Point strides = strides_of(out, reader.dataset().fields[field], grid);
  auto* to = static_cast<std::byte*>(out.data());
  const nb::gil_scoped_release released;
  return reader.read_after(query, after, level, to, strides);
}

std::tuple<Triple, Triple> samples_of(const Reader& reader, const Point& lo, const Point& hi,
                                      int level) {
  const Grid grid = reader.grid({0, reader.steps().front(), lo, hi}, level);
  return {triple(grid.origin), triple(grid.extent)};
}

}  // namespace

NB_MODULE(_idx, module) {
  nb::set_leak_warnings(false);
  module.doc() = "Multiresolution datasets; use pillion.idx.";
  nb::register_exception_translator(pillion::python::translate);
  nb::class_<Field>(module, "Field", "A field, as the header describes it.")
      .def_ro("name", &Field::name)
      .def_ro("components", &Field::components)
      .def_prop_ro("type", [](const Field& field) { return name_of(field.type); });
  nb::class_<Reader>(module, "Reader", "A dataset as its header describes it.")
      .def(nb::init<std::string, const std::string&>(), "path"_a, "text"_a,
           "Of the header's text. Raises Error if it makes no sense.")
      .def_prop_ro("fields", [](const Reader& r) { return r.dataset().fields; })
      .def_prop_ro("axes", [](const Reader& r) { return r.dataset().axes; })
      .def_prop_ro("lo", [](const Reader& r) { return triple(r.dataset().lo); })
      .def_prop_ro("hi", [](const Reader& r) { return triple(r.dataset().hi); })
      .def_prop_ro("steps", [](const Reader& r) { return r.steps(); })
      .def_prop_ro("finest", [](const Reader& r) { return r.dataset().finest(); })
      .def_prop_ro("left_out", [](const Reader& r) { return r.dataset().left_out; })
      .def_prop_ro("bits_per_block", [](const Reader& r) { return r.dataset().bits_per_block; })
      .def_prop_ro(
          "physical_box", [](const Reader& r) { return r.dataset().physical_box; },
          "lower and upper edge of each axis")
      .def(
          "stride",
          [](const Reader& r, int level) { return triple(r.dataset().mask.stride(level)); },
          "level"_a, "Distances between samples of all levels up to this one.")
      .def("samples", &samples_of, "lo"_a, "hi"_a, "level"_a,
           "The first sample of a box at a level, and how many there are along each axis.")
      .def("read", &read_into, "field"_a, "step"_a, "lo"_a, "hi"_a, "after"_a, "level"_a, "out"_a,
           "Reads samples of the levels above `after`, up to `level`; returns the bytes taken.")
      .def("expect_whole", &Reader::expect_whole, "field"_a, "step"_a,
           nb::call_guard<nb::gil_scoped_release>(),
           "Raises Error if a block that has samples in the box is missing or cut short.");
}
