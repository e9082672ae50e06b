// SPDX-License-Identifier: BSD-3-Clause
// Adding up what a node needs.
#include "preflight/node_memory.hpp"

#include <algorithm>
#include <cmath>
#include <set>

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

/// Bytes on a node of a uniform mesh, and those of each item of other meshes.
struct Need {
  int64_t bytes = 0;
  std::map<std::string, int64_t> per_item{};

  void add(const Need& other, double factor = 1) {
    const auto scaled = [&](int64_t n) {
      return static_cast<int64_t>(std::ceil(factor * static_cast<double>(n)));
    };
    bytes += scaled(other.bytes);
    for (const auto& [mesh, each] : other.per_item) per_item[mesh] += scaled(each);
  }
};

Need need_of_input(const layout::Request& request, const model::Catalogue& catalogue,
                   const Peers& peers) {
  const auto& mesh = catalogue.mesh(layout::mesh_of(request, catalogue));
  if (model::is_counted(mesh.kind))
    return {0, {{mesh.name, bytes_of_cell(catalogue, request.needed())}}};
  const bool is_moved = request.kind != layout::Kind::AsShared;
  // About as many points as cells.
  const int64_t cell = bytes_of_cell(catalogue, is_moved ? request.needed() : request.fields);
  if (!layout::is_division(request.kind))
    return {cell * divide_up(cells_in(mesh), peers.all) * peers.on_node};
  return {cell * cells_on_node(request, mesh, peers)};
}

Need need_of_outputs(const std::vector<std::string>& fields, const model::Catalogue& catalogue,
                     const Peers& peers) {
  Need need;
  for (const auto& name : fields) {
    const auto& mesh = catalogue.mesh_of(name);
    const int64_t cell = bytes_of_cell(catalogue, {name});
    if (model::is_counted(mesh.kind)) need.add({0, {{mesh.name, cell}}});
    else need.add({cell * divide_up(cells_in(mesh), peers.all) * peers.on_node});
  }
  return need;
}

}  // namespace

int64_t NodeMemory::bytes() const {
  int64_t sum = 0;
  for (const auto& use : uses) sum += use.is_within ? 0 : use.bytes;
  return sum;
}

ChainMemory memory_of(stagehost::Chain& chain, const std::string& analysis, const Peers& peers) {
  // Particles on their way are in a message on either side, and then in the input.
  constexpr double copies_of_items = 3;
  ChainMemory out{{"stages", "", 0}};
  Need produced;
  for (const auto& stage : chain.needs_of_memory()) {
    produced.add(need_of_outputs(stage.outputs, chain.catalogue(), peers));
    Need read, moved;
    for (const auto& request : stage.inputs) {
      const auto input = need_of_input(request, chain.catalogue(), peers);
      read.add(input);
      if (request.kind == layout::Kind::AsShared) continue;
      moved.add({input.bytes});
      moved.add({0, input.per_item}, copies_of_items);
    }
    Need all = produced;
    all.add(moved);
    all.add(read, stage.per_input_byte);
    all.bytes += stage.bytes * peers.on_node;
    out.moved = std::max(out.moved, moved.bytes);
    auto& largest = out.largest;
    if (all.bytes > largest.bytes || largest.origin.empty())
      largest.origin = fmt::format("'{}' of analysis '{}'", stage.stage, analysis);
    largest.bytes = std::max(largest.bytes, all.bytes);
    for (const auto& [mesh, each] : all.per_item)
      largest.per_item[mesh] = std::max(largest.per_item[mesh], each);
  }
  return out;
}

namespace {

ChainMemory largest_of(const run::Chains& chains, const model::Configuration& configuration,
                       const Peers& peers) {
  ChainMemory out{{"stages", "", 0}};
  for (size_t a = 0; a < chains.size(); ++a) {
    if (chains[a] == nullptr) continue;
    auto [one, moved] = memory_of(*chains[a], configuration.analyses[a].name, peers);
    out.moved = std::max(out.moved, moved);
    auto& largest = out.largest;
    if (one.bytes > largest.bytes || largest.origin.empty()) largest.origin = one.origin;
    largest.bytes = std::max(largest.bytes, one.bytes);
    for (const auto& [mesh, each] : one.per_item)
      largest.per_item[mesh] = std::max(largest.per_item[mesh], each);
  }
  return out;
}

void add(NodeMemory& node, MemoryUse use) {
  std::erase_if(use.per_item, [](const auto& one) { return one.second == 0; });
  if (use.bytes > 0 || !use.per_item.empty()) node.uses.push_back(std::move(use));
}

/// The stages of one side, and what its ranks need to give each other the values of a mesh: memory
/// that a node's ranks share, within its budget, and messages for what has no room there or goes to
/// other nodes.
void add_side(NodeMemory& node, const char* purpose, ChainMemory memory, const Peers& peers,
              int64_t transfer_budget) {
  memory.largest.purpose = purpose;
  add(node, std::move(memory.largest));
  if (peers.all < 2) return;
  const bool fits = memory.moved <= transfer_budget;
  const int64_t shared = peers.on_node > 1 ? std::min(memory.moved, transfer_budget) : 0;
  const int64_t messages = fits && peers.all == peers.on_node ? 0 : 2 * memory.moved;
  add(node,
      {"values between ranks", "half of 'sidecars: {memory}', and messages", shared + messages});
}

/// Copies of points and cells of meshes that analyses need, which the session has in any case; as
/// of hexahedra with as many points, and ids of these.
MemoryUse geometry_for(const std::vector<const run::Chains*>& sides) {
  constexpr int64_t point = 3 * sizeof(double) + sizeof(int64_t);
  constexpr int64_t cell = (1 + 8) * sizeof(int64_t) + sizeof(uint8_t);
  MemoryUse use{"points and cells", "copies of meshes of kind 'unstructured'", 0};
  for (const auto* side : sides)
    for (const auto& chain : *side) {
      if (chain == nullptr) continue;
      for (const auto& field : chain->needed())
        if (const auto& mesh = chain->catalogue().mesh_of(field); model::has_points(mesh.kind))
          use.per_item[mesh.name] = point + cell;
    }
  return use;
}

/// Copies of constant fields that analyses in sidecars need. They stay on the node.
MemoryUse constants_for(const run::Chains& in_sidecars, const model::Catalogue& catalogue,
                        const Peers& peers) {
  std::set<std::string> needed;
  for (const auto& chain : in_sidecars)
    if (chain != nullptr) needed.merge(chain->needed());
  std::vector<std::string> constant;
  for (const auto* field : catalogue.constant_fields())
    if (needed.contains(field->name)) constant.push_back(field->name);
  const auto need = need_of_outputs(constant, catalogue, peers);
  return {"constant fields", "'constant: true' in the catalogue", need.bytes, need.per_item};
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
  const int64_t transfers = spec.transfer_memory();
  if (spec.any()) add(first, {"publications in flight", "'sidecars: {memory}'", spec.memory});
  auto geometry = geometry_for({&in_simulation, &in_sidecars});
  geometry.is_within = spec.any();
  add(first, std::move(geometry));
  if (spec.through_node()) {
    auto constants = constants_for(in_sidecars, configuration.catalogue, simulation);
    constants.is_within = true;
    add(first, std::move(constants));
  }
  add_side(first, "stages", largest_of(in_simulation, configuration, simulation), simulation,
           transfers);
  if (!spec.any()) return {first};
  if (spec.through_node()) {
    const int64_t each = std::max<int64_t>(spec.per_node, 1);
    first.sidecars = {each * nodes, each};
    add_side(first, "stages in sidecars", largest_of(in_sidecars, configuration, first.sidecars),
             first.sidecars, transfers);
    return {first};
  }
  NodeMemory second{"node of sidecars", {}, {spec.ranks, spec.ranks}, {}};
  second.sidecars.on_node =
      std::min(spec.ranks, divide_up(std::max<int64_t>(simulating, 1) + spec.ranks, nodes));
  add(second, {"publications received",
               spec.receive > 0 ? "'sidecars: {receive}'" : "four times 'sidecars: {memory}'",
               spec.receive_limit()});
  add(second, geometry_for({&in_sidecars}));
  add(second, constants_for(in_sidecars, configuration.catalogue, second.sidecars));
  add_side(second, "stages", largest_of(in_sidecars, configuration, second.sidecars),
           second.sidecars, transfers);
  return {first, second};
}

}  // namespace pillion::preflight
