// SPDX-License-Identifier: BSD-3-Clause
// A stage in Python being created: its parameters, the catalogue, and what it asks for.
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <vector>

#include "core/handles.hpp"

namespace nb = nanobind;

namespace pillion::python {

nb::object object_of(const pillion_stage_host& host, const pillion_value* value) {
  if (value == nullptr) return nb::none();
  switch (host.value_kind(value)) {
    case PILLION_VALUE_SCALAR: return nb::str(host.value_text(value));
    case PILLION_VALUE_LIST: {
      nb::list out;
      for (int64_t i = 0; i < host.value_size(value); ++i)
        out.append(object_of(host, host.value_at(value, i)));
      return out;
    }
    case PILLION_VALUE_MAP: {
      nb::dict out;
      for (int64_t i = 0; i < host.value_size(value); ++i)
        out[host.value_key(value, i)] = object_of(host, host.value_at(value, i));
      return out;
    }
    default: return nb::none();
  }
}

namespace {

/// The node at a path of keys; the last that there is.
const pillion_value* node_at(const Setup& setup, const std::vector<std::string>& path) {
  const auto& host = setup.host();
  const pillion_value* node = host.parameters(setup.get());
  for (const auto& key : path) {
    const pillion_value* next = host.value_find(node, key.c_str());
    if (next == nullptr) break;
    node = next;
  }
  return node;
}

nb::dict description_of(const pillion_field_description& field) {
  nb::dict out;
  out["name"] = field.name == nullptr ? "" : field.name;
  out["mesh"] = field.mesh;
  out["units"] = field.units;
  out["type"] = field.type;
  out["components"] = field.components;
  out["mesh_kind"] = field.mesh_kind;
  const bool has_boxes = field.mesh_kind == PILLION_UNIFORM ||
                         field.mesh_kind == PILLION_RECTILINEAR ||
                         field.mesh_kind == PILLION_CURVILINEAR;
  const int32_t axes = has_boxes ? field.axes : 0;
  out["axes"] = axes;
  nb::list cells, origin, length, periodic;
  for (int32_t d = 0; d < axes; ++d) {
    cells.append(field.cells[d]);
    origin.append(field.origin[d]);
    length.append(field.length[d]);
    periodic.append(field.periodic[d] != 0);
  }
  out["cells"] = nb::tuple(cells);
  out["origin"] = nb::tuple(origin);
  out["length"] = nb::tuple(length);
  out["periodic"] = nb::tuple(periodic);
  out["order"] = field.order;
  out["dimensions"] = field.mesh_kind == PILLION_SPECTRAL ? field.axes : 0;
  out["centering"] = field.centering;
  out["point_axes"] = field.point_axes;
  out["coordinates"] = field.coordinates == nullptr ? "" : field.coordinates;
  return out;
}

pillion_field_description described(const Setup& setup, int32_t what, const std::string& name,
                                    const std::vector<std::string>& path) {
  pillion_field_description out{};
  out.size = sizeof out;
  setup.check(setup.host().describe(setup.get(), what, name.c_str(), node_at(setup, path), &out));
  return out;
}

nb::dict field(const Setup& setup, const std::string& name, const std::vector<std::string>& path) {
  return description_of(described(setup, PILLION_DESCRIBE_FIELD, name, path));
}

nb::dict mesh(const Setup& setup, const std::string& name, const std::vector<std::string>& path) {
  return description_of(described(setup, PILLION_DESCRIBE_MESH, name, path));
}

int32_t input(const Setup& setup, const std::vector<std::string>& fields, int32_t layout,
              const std::string& key, const std::string& position, double halo,
              const std::string& select, const std::vector<int64_t>& values, int32_t axis,
              const std::array<int32_t, 3>& sides, const std::array<int64_t, 3>& ghosts,
              bool levels, bool at_points) {
  std::vector<const char*> names;
  for (const auto& name : fields) names.push_back(name.c_str());
  pillion_input_request request{};
  request.size = sizeof request;
  request.fields = names.data();
  request.field_count = static_cast<int32_t>(names.size());
  request.layout = layout;
  request.key = key.c_str();
  request.position = position.c_str();
  request.halo = halo;
  request.select = select.empty() ? nullptr : select.c_str();
  request.select_values = values.data();
  request.select_count = static_cast<int32_t>(values.size());
  request.axis = axis;
  request.with_levels = levels ? 1 : 0;
  request.with_points = at_points ? 1 : 0;
  for (size_t d = 0; d < 3; ++d) {
    request.sides[d] = sides[d];
    request.ghosts[d] = ghosts[d];
  }
  int32_t number = 0;
  setup.check(setup.host().request_input(setup.get(), &request, &number));
  return number;
}

int32_t declared(const Setup& setup, pillion_output wanted) {
  wanted.size = sizeof wanted;
  int32_t number = 0;
  setup.check(setup.host().declare_output(setup.get(), &wanted, &number));
  return number;
}

int32_t output(const Setup& setup, const std::string& name, const std::string& like, int32_t type,
               int32_t components, int32_t centering, const std::string& units) {
  return declared(setup, {.size = 0,
                          .name = name.c_str(),
                          .units = units.c_str(),
                          .like = like.c_str(),
                          .mesh = nullptr,
                          .input = 0,
                          .type = type,
                          .components = components,
                          .centering = centering});
}

int32_t output_on(const Setup& setup, const std::string& name, int32_t input, int32_t type,
                  int32_t components, const std::string& units) {
  return declared(setup, {.size = 0,
                          .name = name.c_str(),
                          .units = units.c_str(),
                          .like = nullptr,
                          .mesh = nullptr,
                          .input = input,
                          .type = type,
                          .components = components,
                          .centering = 0});
}

void memory(const Setup& setup, double per_input_byte, int64_t bytes) {
  setup.check(setup.host().declare_memory(setup.get(), per_input_byte, bytes));
}

void product(const Setup& setup, const std::string& name) {
  setup.check(setup.host().declare_product(setup.get(), name.c_str()));
}

}  // namespace

void bind_setup(nb::module_& module) {
  nb::class_<Setup>(module, "Setup")
      .def(
          "parameters",
          [](const Setup& setup) {
            return object_of(setup.host(), setup.host().parameters(setup.get()));
          },
          nb::sig("def parameters(self) -> dict[str, typing.Any]"))
      .def("place",
           [](const Setup& setup, const std::vector<std::string>& path) {
             return std::string(setup.host().value_place(node_at(setup, path)));
           })
      .def("field", field, nb::arg("name"), nb::arg("path"))
      .def("mesh", mesh, nb::arg("name"), nb::arg("path"))
      .def("input", input, nb::arg("fields"), nb::arg("layout"), nb::arg("key"),
           nb::arg("position"), nb::arg("halo"), nb::arg("select"), nb::arg("values"),
           nb::arg("axis"), nb::arg("sides"), nb::arg("ghosts"), nb::arg("levels"),
           nb::arg("at_points"))
      .def("output", output, nb::arg("name"), nb::arg("like"), nb::arg("type"),
           nb::arg("components"), nb::arg("centering"), nb::arg("units"))
      .def("output_on", output_on, nb::arg("name"), nb::arg("input"), nb::arg("type"),
           nb::arg("components"), nb::arg("units"))
      .def("memory", memory, nb::arg("per_input_byte"), nb::arg("bytes"))
      .def("product", product, nb::arg("name"));
}

}  // namespace pillion::python
