// SPDX-License-Identifier: BSD-3-Clause
// A publication as a stage in Python sees it, the products that it writes, and its state.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <pillion/stage/block.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "core/handles.hpp"

namespace nb = nanobind;

namespace pillion::python {

namespace {

const pillion_mesh& mesh_of(const Work& work, const std::string& name) {
  const pillion_mesh* found = work.host().mesh(work.get(), name.c_str());
  if (found == nullptr) throw Error(ErrorCode::Stage, work.host().failure());
  return *found;
}

nb::dict domain(const Work& work, const std::string& mesh) {
  const pillion_domain found = stage::domain_of(mesh_of(work, mesh));
  const auto lengths = [](const double(&values)[3]) {
    return nb::make_tuple(values[0], values[1], values[2]);
  };
  nb::dict out;
  out["lo"] = lengths(found.lo);
  out["hi"] = lengths(found.hi);
  out["tilt"] = lengths(found.tilt);
  out["periodic"] =
      nb::make_tuple(found.periodic[0] != 0, found.periodic[1] != 0, found.periodic[2] != 0);
  out["dimensions"] = found.dimensions;
  return out;
}

/// Of a mesh whose blocks have coordinates of points.
nb::dict mesh_of_points(const pillion_mesh& found) {
  nb::list patches;
  for (int32_t p = 0; p < found.patch_count; ++p) patches.append(found.patches[p]);
  nb::dict out;
  out["name"] = found.name;
  out["kind"] = found.kind;
  out["units"] = found.units;
  out["periodic"] = nb::tuple();
  out["radius"] = 0.0;
  out["coarsening"] = found.coarsening;
  out["dimensions"] = found.axes;
  out["of"] = found.of == nullptr ? nb::none() : nb::object(nb::str(found.of));
  out["patches"] = nb::tuple(patches);
  return out;
}

/// Of a mesh with cells; empty for others.
nb::dict mesh_now(const Work& work, const std::string& name) {
  const pillion_mesh& found = mesh_of(work, name);
  nb::dict out;
  if (found.kind == PILLION_UNSTRUCTURED || found.kind == PILLION_CURVILINEAR)
    return mesh_of_points(found);
  if (found.kind != PILLION_UNIFORM && found.kind != PILLION_RECTILINEAR) return out;
  nb::list faces, periodic;
  for (int32_t d = 0; d < found.axes; ++d) {
    nb::list along;
    const double width = found.length[d] / static_cast<double>(found.cells[d]);
    for (int64_t i = 0; i <= found.cells[d]; ++i)
      along.append(found.coordinates[d] != nullptr
                       ? found.coordinates[d][i]
                       : found.origin[d] + width * static_cast<double>(i));
    faces.append(along);
    periodic.append(found.periodic[d] != 0);
  }
  out["name"] = found.name;
  out["kind"] = found.kind;
  out["units"] = found.units;
  out["faces"] = faces;
  out["periodic"] = nb::tuple(periodic);
  out["metric"] = found.metric;
  out["radius"] = found.radius;
  out["coarsening"] = found.coarsening;
  return out;
}

int32_t coarsening(const Work& work, const std::string& mesh) {
  return mesh_of(work, mesh).coarsening;
}

/// Reduces an array of `count` elements in place; others may use the interpreter meanwhile.
void reduce(const Work& work, uintptr_t data, int64_t count, int32_t type, int32_t operation) {
  pillion_work* handle = work.get();
  int32_t status = 0;
  {
    const nb::gil_scoped_release unlocked;
    status = work.host().reduce(handle, reinterpret_cast<void*>(data), count, type, operation);
  }
  work.check(status);
}

/// Name, units, address of the values, whether they are integers, role, and what it is about.
using Column = std::tuple<std::string, std::string, uintptr_t, bool, int32_t, std::string>;
/// Name, units, the text if it is one, and the number.
using Attribute = std::tuple<std::string, std::string, std::optional<std::string>, double>;

/// Which file a table goes to, and how.
struct Kept {
  bool per_step, growing;
};

void write_table(const Work& work, const std::string& name, const std::string& title, Kept kept,
                 int64_t rows, const std::vector<Column>& columns,
                 const std::vector<Attribute>& attributes) {
  std::vector<pillion_column> columns_of;
  for (const auto& [column, units, address, integer, role, of] : columns) {
    const void* values = reinterpret_cast<const void*>(address);
    columns_of.push_back({sizeof(pillion_column), column.c_str(), units.c_str(),
                          integer ? nullptr : static_cast<const double*>(values),
                          integer ? static_cast<const int64_t*>(values) : nullptr, role,
                          of.c_str()});
  }
  std::vector<pillion_attribute> attributes_of;
  for (const auto& [attribute, units, text, value] : attributes)
    attributes_of.push_back(
        {attribute.c_str(), units.c_str(), text ? text->c_str() : nullptr, value});
  pillion_table table{};
  table.size = sizeof table;
  table.name = name.c_str();
  table.title = title.c_str();
  table.per_step = kept.growing ? 2 : kept.per_step ? 1 : 0;
  table.column_count = static_cast<int32_t>(columns_of.size());
  table.rows = rows;
  table.columns = columns_of.data();
  table.attributes = attributes_of.data();
  table.attribute_count = static_cast<int32_t>(attributes_of.size());
  work.check(work.host().write_table(work.get(), &table));
}

void write_text(const Work& work, const std::string& name, const std::string& title,
                const std::optional<std::string>& comment, const std::string& text) {
  work.check(work.host().write_text(work.get(), name.c_str(), title.c_str(),
                                    comment ? comment->c_str() : nullptr, text.c_str(), 0));
}

void write_file(const Work& work, const std::string& name, const std::string& title,
                const nb::bytes& content, bool per_step) {
  work.check(work.host().write_file(work.get(), name.c_str(), title.c_str(), content.c_str(),
                                    content.size(), per_step ? 1 : 0));
}

std::string product_folder(const Work& work) {
  const char* path = nullptr;
  work.check(work.host().product_folder(work.get(), &path));
  return path;
}

}  // namespace

void bind_products(nb::class_<Work>& work) {
  work.def("write_table",
           [](const Work& self, const std::string& name, const std::string& title,
              std::pair<bool, bool> kept, int64_t rows, const std::vector<Column>& columns,
              const std::vector<Attribute>& attributes) {
             write_table(self, name, title, {kept.first, kept.second}, rows, columns, attributes);
           })
      .def("write_text", write_text, nb::arg("name"), nb::arg("title"), nb::arg("comment").none(),
           nb::arg("text"))
      .def("write_file", write_file, nb::arg("name"), nb::arg("title"), nb::arg("content"),
           nb::arg("per_step"))
      .def("warn",
           [](const Work& self, const std::string& topic, const std::string& message) {
             self.check(self.host().warn(self.get(), topic.c_str(), message.c_str()));
           })
      .def("product_folder", product_folder);
}

void bind_work(nb::module_& module) {
  nb::class_<Work> work(module, "Work");
  work.def("step", [](const Work& w) { return w.host().step(w.get()); })
      .def("time", [](const Work& w) { return w.host().time(w.get()); })
      .def("publication", [](const Work& w) { return w.host().publication(w.get()); })
      .def("products_due", [](const Work& w) { return w.host().products_due(w.get()) != 0; })
      .def("units",
           [](const Work& w, const std::string& name) {
             return std::string(w.host().units(w.get(), name.c_str()));
           })
      .def("scalars",
           [](const Work& w) {
             nb::dict out;
             for (int32_t s = 0; s < w.host().scalar_count(w.get()); ++s) {
               const char* name = w.host().scalar_name(w.get(), s);
               double value = 0;
               w.check(w.host().scalar(w.get(), name, &value));
               out[name] = value;
             }
             return out;
           })
      .def("domain", domain)
      .def("mesh", mesh_now)
      .def("coarsening", coarsening)
      .def("block_count",
           [](const Work& w, int32_t input) { return w.host().block_count(w.get(), input); })
      .def("peer", [](const Work& w) { return w.host().peer(w.get()); })
      .def("peers", [](const Work& w) { return w.host().peers(w.get()); })
      .def("reduce", reduce, nb::arg("data"), nb::arg("count"), nb::arg("type"),
           nb::arg("operation"))
      .def("communicator", [](const Work& w) { return w.host().communicator(w.get()); });
  bind_views(work);
  bind_products(work);
}

void bind_state(nb::module_& module) {
  nb::class_<State>(module, "State")
      .def("save",
           [](const State& state, const std::string& name, const nb::bytes& bytes) {
             state.check(
                 state.host().save_global(state.get(), name.c_str(), bytes.c_str(), bytes.size()));
           })
      .def("load", [](const State& state, const std::string& name) {
        const void* bytes = nullptr;
        size_t size = 0;
        state.check(state.host().load_global(state.get(), name.c_str(), &bytes, &size));
        return nb::bytes(bytes, size);
      });
}

}  // namespace pillion::python
