// SPDX-License-Identifier: BSD-3-Clause
// Adding up what a node needs.
#include "preflight/node_memory.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "layout/division.hpp"

namespace pillion::preflight {

namespace {

int64_t cells_in(const model::Mesh& mesh) { return mesh.cells[0] * mesh.cells[1] * mesh.cells[2]; }

int64_t bytes_of_cell(const model::Catalogue& catalogue, const std::vector<std::string>& fields) {
  int64_t bytes = 0;
  for (const auto& name : fields) {
    const auto& field = catalogue.field(name);
    bytes += static_cast<int64_t>(model::size_of(field.type)) *
             model::values_of(catalogue.mesh(field.mesh), field);
  }
  return bytes;
}

/// Cells that the ranks of a node get, ghost cells included.
int64_t cells_on_node(const layout::Request& request, const model::Mesh& mesh, const Peers& peers) {
  const int64_t even = divide_up(cells_in(mesh), peers.all) * peers.on_node;
  // Sides that follow from the simulation's blocks are not known; the boxes are dealt evenly.
  if (layout::has_open_sides(request)) return std::min(even, cells_in(mesh));
  const auto wanted = layout::wanted_of(request, mesh, static_cast<int>(peers.all));
  int64_t largest = 0;
  for (int64_t p = 0; p < peers.all; ++p) {
    int64_t cells = 0;
    for (const auto& place : wanted.tiling.places_of(static_cast<int>(p)))
      cells += wanted.grown(place.box).volume();
    largest = std::max(largest, cells);
  }
  return largest * peers.on_node;
}

int64_t bytes_of_input(const layout::Request& request, const model::Catalogue& catalogue,
                       const Peers& peers) {
  const auto& mesh = catalogue.mesh(layout::mesh_of(request, catalogue));
  if (model::is_counted(mesh.kind)) return 0;
  const int64_t cell = bytes_of_cell(catalogue, request.fields);
  if (!layout::is_division(request.kind))
    return cell * divide_up(cells_in(mesh), peers.all) * peers.on_node;
  return cell * cells_on_node(request, mesh, peers);
}

int64_t bytes_of_outputs(const std::vector<std::string>& fields, const model::Catalogue& catalogue,
                         const Peers& peers) {
  int64_t bytes = 0;
  for (const auto& name : fields) {
    const auto& mesh = catalogue.mesh_of(name);
    if (!model::is_counted(mesh.kind))
      bytes +=
          bytes_of_cell(catalogue, {name}) * divide_up(cells_in(mesh), peers.all) * peers.on_node;
  }
  return bytes;
}

}  // namespace

int64_t NodeMemory::bytes() const {
  int64_t sum = 0;
  for (const auto& use : uses) sum += use.bytes;
  return sum;
}

MemoryUse memory_of(stagehost::Chain& chain, const std::string& analysis, const Peers& peers) {
  MemoryUse largest{"stages", "", 0};
  int64_t produced = 0;
  for (const auto& stage : chain.needs_of_memory()) {
    produced += bytes_of_outputs(stage.outputs, chain.catalogue(), peers);
    int64_t read = 0, moved = 0;
    for (const auto& request : stage.inputs) {
      const int64_t bytes = bytes_of_input(request, chain.catalogue(), peers);
      read += bytes;
      if (request.kind != layout::Kind::AsShared) moved += bytes;
    }
    const auto work =
        static_cast<int64_t>(std::ceil(stage.per_input_byte * static_cast<double>(read)));
    const int64_t bytes = produced + moved + work + stage.bytes * peers.on_node;
    if (bytes > largest.bytes)
      largest = {"stages", fmt::format("'{}' of analysis '{}'", stage.stage, analysis), bytes};
  }
  return largest;
}

namespace {

MemoryUse largest_of(const run::Chains& chains, const model::Configuration& configuration,
                     const Peers& peers) {
  MemoryUse largest{"stages", "", 0};
  for (size_t a = 0; a < chains.size(); ++a) {
    if (chains[a] == nullptr) continue;
    auto one = memory_of(*chains[a], configuration.analyses[a].name, peers);
    if (one.bytes > largest.bytes) largest = std::move(one);
  }
  return largest;
}

void add(NodeMemory& node, MemoryUse use) {
  if (use.bytes > 0) node.uses.push_back(std::move(use));
}

}  // namespace

std::vector<NodeMemory> node_memory(const model::Configuration& configuration,
                                    const run::Chains& in_simulation,
                                    const run::Chains& in_sidecars, int64_t simulating,
                                    int64_t nodes) {
  const auto& spec = configuration.sidecars;
  nodes = std::max<int64_t>(nodes, 1);
  const Peers simulation{std::max<int64_t>(simulating, 1),
                         divide_up(std::max<int64_t>(simulating, 1), nodes)};
  NodeMemory first{spec.ranks > 0 ? "node of the simulation" : "node", simulation, {}, {}};
  if (spec.any()) add(first, {"publications in flight", "'sidecars: {memory}'", spec.memory});
  add(first, largest_of(in_simulation, configuration, simulation));
  if (!spec.any()) return {first};
  if (spec.through_node()) {
    const int64_t each = std::max<int64_t>(spec.per_node, 1);
    first.sidecars = {each * nodes, each};
    auto use = largest_of(in_sidecars, configuration, first.sidecars);
    use.purpose = "stages in sidecars";
    add(first, std::move(use));
    return {first};
  }
  NodeMemory second{"node of sidecars", {}, {spec.ranks, spec.ranks}, {}};
  second.sidecars.on_node =
      std::min(spec.ranks, divide_up(std::max<int64_t>(simulating, 1) + spec.ranks, nodes));
  add(second, largest_of(in_sidecars, configuration, second.sidecars));
  return {first, second};
}

}  // namespace pillion::preflight
