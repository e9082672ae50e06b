// SPDX-License-Identifier: BSD-3-Clause
// The module `_placement`: what a session decides about sidecars, for plans of machines that one
// does not have. It needs no MPI.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.hpp"
#include "core/errors.hpp"
#include "topology/place.hpp"
#include "topology/shape.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace pillion;
using namespace pillion::topology;

namespace {

Mapping mapping_named(const std::string& name) {
  for (const auto mapping : model::all_mappings)
    if (name == name_of(mapping)) return mapping;
  base::fail(ErrorCode::Placement, "there is no mapping '{}'", name);
}

std::vector<std::string> names_of_mappings() {
  std::vector<std::string> names;
  for (const auto mapping : model::all_mappings) names.emplace_back(name_of(mapping));
  return names;
}

Placement place_by(const std::vector<Location>& locations, int64_t ranks, int64_t per_node,
                   const std::string& mapping) {
  return place(std::vector<Role>(locations.size(), Role::Any), locations,
               {.ranks = ranks,
                .per_node = per_node,
                .mapping = mapping_named(mapping),
                .stay_on_node = per_node > 0});
}

std::vector<int> sidecars_of(const Placement& placement) {
  std::vector<int> out;
  for (size_t r = 0; r < placement.roles.size(); ++r)
    if (placement.roles[r] == Role::Sidecar) out.push_back(static_cast<int>(r));
  return out;
}

std::vector<int> chosen(const std::vector<Location>& locations, int64_t count,
                        const std::string& mapping) {
  const auto picked = choose_sidecars(locations, count, mapping_named(mapping));
  std::vector<int> out;
  for (size_t r = 0; r < picked.size(); ++r)
    if (picked[r]) out.push_back(static_cast<int>(r));
  return out;
}

}  // namespace

NB_MODULE(_placement, module) {
  module.doc() = "Where ranks sit, and which of them become sidecars.";
  nb::register_exception_translator(pillion::python::translate);
  nb::class_<Location>(module, "Location",
                       "Where a rank sits; numbers count within the node, -1: unknown.")
      .def(nb::init<>())
      .def_rw("node", &Location::node)
      .def_rw("package", &Location::package)
      .def_rw("numa", &Location::numa)
      .def_rw("cache", &Location::cache)
      .def_rw("core", &Location::core)
      .def_rw("column", &Location::column)
      .def_rw("row", &Location::row)
      .def("__copy__", [](const Location& location) { return Location(location); });
  nb::class_<Core>(module, "Core", "A core: its location on node 0, and its hardware threads.")
      .def_ro("location", &Core::location)
      .def_ro("cpus", &Core::cpus, "the operating system's numbers");
  nb::class_<Shape>(module, "Shape", "A node: cores in hwloc's logical order.")
      .def_ro("cores", &Shape::cores)
      .def_ro("packages", &Shape::packages)
      .def_ro("domains", &Shape::domains, "of memory")
      .def_ro("columns", &Shape::columns, "of the mesh that joins the cores; 0 if not known")
      .def_ro("rows", &Shape::rows)
      .def("put_on_mesh", &put_on_mesh, "columns"_a, "rows"_a,
           "Puts the cores on a mesh, row by row. Raises Error if there are more or fewer.");
  nb::class_<Placement>(module, "Placement", "Who is a sidecar, and who hands over to whom.")
      .def_prop_ro("sidecars", &sidecars_of, "indices of locations, ascending")
      .def_ro("server", &Placement::server,
              "for each location that of its sidecar; -1 for sidecars")
      .def_ro("cost", &Placement::cost, "in hand-overs times levels")
      .def_prop_ro("mapping", [](const Placement& p) { return name_of(p.mapping); });
  module.def(
      "this_node", [] { return this_node(CoreSet::Allowed); },
      "The node of this process, as far as it may use it.");
  module.def("node_of_file", &node_of_file, "path"_a, "As a file of hwloc's describes it.");
  module.def("node_of_text", &node_of_text, "text"_a, "As hwloc's synthetic texts, or mesh:CxR.");
  module.def("distance", &distance, "a"_a, "b"_a, "Levels, or hops on a mesh.");
  module.def("mappings", &names_of_mappings);
  module.def("place", &place_by, "locations"_a, "ranks"_a, "per_node"_a, "mapping"_a,
             "Places sidecars as a session does: `ranks` in all or `per_node` on every node.");
  module.def("chosen", &chosen, "locations"_a, "count"_a, "mapping"_a,
             "Indices of the locations that one of the four rules takes.");
}
