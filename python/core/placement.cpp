// SPDX-License-Identifier: BSD-3-Clause
// The module `_placement`: what a session decides about sidecars, for plans of machines that one
// does not have. It needs no MPI.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.hpp"
#include "core/errors.hpp"
#include "placement/place.hpp"
#include "placement/shape.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace pillion;
using namespace pillion::placement;

namespace {

Spread mapping_named(const std::string& name) {
  for (const auto spread : model::all_spreads())
    if (name == name_of(spread)) return spread;
  base::fail(ErrorCode::Placement, "there is no mapping '{}'", name);
}

std::vector<std::string> names_of_mappings() {
  std::vector<std::string> names;
  for (const auto spread : model::all_spreads()) names.emplace_back(name_of(spread));
  return names;
}

Placement place_by(const std::vector<Spot>& spots, int64_t ranks, int64_t per_node,
                   const std::string& mapping) {
  return place(std::vector<Role>(spots.size(), Role::Any), spots,
               {.ranks = ranks,
                .per_node = per_node,
                .spread = mapping_named(mapping),
                .stay_on_node = per_node > 0});
}

std::vector<int> sidecars_of(const Placement& placement) {
  std::vector<int> out;
  for (size_t r = 0; r < placement.roles.size(); ++r)
    if (placement.roles[r] == Role::Sidecar) out.push_back(static_cast<int>(r));
  return out;
}

std::vector<int> chosen(const std::vector<Spot>& spots, int64_t count, const std::string& mapping) {
  const auto picked = spread_over(spots, count, mapping_named(mapping));
  std::vector<int> out;
  for (size_t r = 0; r < picked.size(); ++r)
    if (picked[r]) out.push_back(static_cast<int>(r));
  return out;
}

}  // namespace

NB_MODULE(_placement, module) {
  module.doc() = "Where ranks sit, and which of them become sidecars.";
  nb::register_exception_translator(pillion::python::translate);
  nb::class_<Spot>(module, "Spot", "Where a rank sits; numbers count within the node, -1: unknown.")
      .def(nb::init<>())
      .def_rw("node", &Spot::node)
      .def_rw("package", &Spot::package)
      .def_rw("numa", &Spot::numa)
      .def_rw("cache", &Spot::cache)
      .def_rw("core", &Spot::core)
      .def_rw("column", &Spot::column)
      .def_rw("row", &Spot::row)
      .def("__copy__", [](const Spot& spot) { return Spot(spot); });
  nb::class_<Core>(module, "Core", "A core: its spot on node 0, and its hardware threads.")
      .def_ro("spot", &Core::spot)
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
      .def_prop_ro("sidecars", &sidecars_of, "indices of spots, ascending")
      .def_ro("server", &Placement::server, "for each spot that of its sidecar; -1 for sidecars")
      .def_ro("cost", &Placement::cost, "in hand-overs times levels")
      .def_prop_ro("mapping", [](const Placement& p) { return name_of(p.spread); });
  module.def(
      "this_node", [] { return this_node(CoreSet::Allowed); },
      "The node of this process, as far as it may use it.");
  module.def("node_of_file", &node_of_file, "path"_a, "As a file of hwloc's describes it.");
  module.def("node_of_text", &node_of_text, "text"_a, "As hwloc's synthetic texts, or mesh:CxR.");
  module.def("distance", &distance, "a"_a, "b"_a, "Levels, or hops on a mesh.");
  module.def("mappings", &names_of_mappings);
  module.def("place", &place_by, "spots"_a, "ranks"_a, "per_node"_a, "mapping"_a,
             "Places sidecars as a session does: `ranks` in all or `per_node` on every node.");
  module.def("chosen", &chosen, "spots"_a, "count"_a, "mapping"_a,
             "Indices of the spots that one of the four rules takes.");
}
