// SPDX-License-Identifier: BSD-3-Clause
// Reading, checking and describing points and cells.
#include "stagehost/block_geometry.hpp"

#include <algorithm>
#include <set>
#include <span>

namespace pillion::stagehost {

pillion_array describe(const model::Array& array, pillion_centering centering) {
  pillion_array out{};
  out.size = sizeof out;
  out.data = array.data;
  out.type = static_cast<pillion_type>(array.type);
  out.components = array.components;
  const auto element = static_cast<int64_t>(model::size_of(array.type));
  for (size_t d = 0; d < 4; ++d) out.strides[d] = array.strides[d] * element;
  out.centering = centering;
  out.memory_space = PILLION_MEMORY_HOST;
  out.device = -1;
  return out;
}

const model::Array& geometry_of(const model::Block& block, const std::string& field) {
  const auto at = block.arrays.find(field);
  if (at == block.arrays.end())
    base::fail(ErrorCode::Sharing, "block {} came without {}", block.number(),
               model::name_of_geometry(field));
  return at->second;
}

namespace {

model::Topology checked_topology(const model::Block& block, const model::Mesh& mesh,
                                 CheckedCells& checked) {
  const auto& cells = geometry_of(block, model::topology_of(mesh.name));
  const auto& points = geometry_of(block, model::coordinates_of(mesh.name));
  const auto topology = model::read_topology(
      {static_cast<const std::byte*>(cells.data), static_cast<size_t>(cells.extents[0])});
  if (topology.cells() != block.box.extent(0))
    base::fail(ErrorCode::Sharing, "block {} of mesh '{}' came with {} cells, but values for {}",
               block.number(), mesh.name, topology.cells(), block.box.extent(0));
  const std::pair now{cells.version, points.extents[0]};
  auto& before = checked[block.id];
  if (now.first != 0 && before == now) return topology;
  const auto fault = model::fault_of(topology, points.extents[0], mesh.axes, mesh.patches.size());
  if (!fault.empty())
    base::fail(ErrorCode::Sharing, "cells of block {} of mesh '{}': {}", block.number(), mesh.name,
               fault);
  before = now;
  return topology;
}

/// Blocks that a program does not share any more leave no versions behind.
void forget_others(const std::vector<model::Block>& blocks, CheckedCells& checked) {
  std::set<int64_t> ids;
  for (const auto& block : blocks) ids.insert(block.id);
  std::erase_if(checked, [&](const auto& of) { return !ids.contains(of.first); });
}

template <class T>
const T* data_of(std::span<const T> values) {
  return values.empty() ? nullptr : values.data();
}

pillion_connectivity connectivity_of(const model::Topology& topology,
                                     const model::Array& point_ids) {
  pillion_connectivity out{};
  out.size = sizeof out;
  out.types = topology.types.data();
  out.offsets = topology.offsets.data();
  out.points = topology.points.data();
  out.face_count = topology.faces();
  out.face_offsets = data_of(topology.face_offsets);
  out.face_points = data_of(topology.face_points);
  out.polyhedron_offsets = data_of(topology.polyhedron_offsets);
  out.polyhedron_faces = data_of(topology.polyhedron_faces);
  if (point_ids.extents[0] > 0) out.point_ids = static_cast<const int64_t*>(point_ids.data);
  out.cell_ids = data_of(topology.ids);
  out.parents = data_of(topology.parents);
  out.patches = data_of(topology.patches);
  return out;
}

/// A copy of an array whose components lie apart.
model::Array together(const model::Array& apart, const model::Box& of_block, Input& input) {
  const model::Box box = model::box_of(apart, of_block);
  auto& memory = input.packed_coordinates.emplace_back(model::bytes_of(apart, of_block) + 1);
  model::pack(apart, box, memory.data());
  model::Array out = apart;
  out.offsets.clear();
  out.data = memory.data();
  out.strides = model::packed_strides(box, apart.components);
  return out;
}

/// Points of a mesh of boxes; they are where the program has them, if their components lie
/// together.
void add_coordinates(const std::vector<model::Block>& blocks, const model::Mesh& mesh,
                     Input& input) {
  input.coordinates.reserve(blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    auto points = geometry_of(blocks[b], mesh.coordinates);
    if (points.is_apart()) points = together(points, blocks[b].box, input);
    input.coordinates.push_back(describe(points, PILLION_POINT));
    input.coordinates.back().point_axes = (1u << static_cast<unsigned>(mesh.axes)) - 1;
    input.blocks[b].coordinates = &input.coordinates.back();
  }
}

template <class T>
void hide(const T* data, const model::Array& mask, const model::Box& box, base::Bytes& flags) {
  size_t cell = 0;
  for (int64_t k = 0; k < box.extent(2); ++k)
    for (int64_t j = 0; j < box.extent(1); ++j)
      for (int64_t i = 0; i < box.extent(0); ++i, ++cell)
        if (data[i * mask.strides[0] + j * mask.strides[1] + k * mask.strides[2]] == 0)
          flags[cell] |= std::byte{PILLION_CELL_HIDDEN};
}

/// Flags of a block, and PILLION_CELL_HIDDEN where its mask is 0.
Flags with_mask(const model::Block& block, const model::Array& mask, const Flags& known) {
  auto flags = known ? std::make_shared<base::Bytes>(*known)
                     : std::make_shared<base::Bytes>(static_cast<size_t>(block.box.volume()));
  model::with_type(mask.type, mask.data,
                   [&](const auto* data) { hide(data, mask, block.box, *flags); });
  const bool any =
      std::any_of(flags->begin(), flags->end(), [](std::byte bits) { return bits != std::byte{}; });
  return any ? flags : nullptr;
}

}  // namespace

void add_mask(const std::vector<model::Block>& blocks, const model::Mesh& mesh, Input& input) {
  if (mesh.mask.empty()) return;
  input.flags.resize(blocks.size());
  input.flag_arrays.resize(blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    auto& flags = input.flags[b];
    flags = with_mask(blocks[b], geometry_of(blocks[b], mesh.mask), flags);
    if (!flags) continue;
    const model::Array array{flags->data(), model::ElementType::Uint8, 1,
                             model::packed_strides(blocks[b].box, 1)};
    input.flag_arrays[b] = describe(array, PILLION_CELL);
    input.blocks[b].flags = &input.flag_arrays[b];
  }
}

void add_weight(const std::vector<model::Block>& blocks, const model::Mesh& mesh, Input& input) {
  if (mesh.weight.empty()) return;
  input.weights.reserve(blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    input.weights.push_back(describe(geometry_of(blocks[b], mesh.weight), PILLION_CELL));
    input.blocks[b].weight = &input.weights.back();
  }
}

std::vector<model::Topology> checked_topologies(const std::vector<model::Block>& blocks,
                                                const model::Mesh& mesh, CheckedCells& checked) {
  forget_others(blocks, checked);
  std::vector<model::Topology> out;
  out.reserve(blocks.size());
  for (const auto& block : blocks) out.push_back(checked_topology(block, mesh, checked));
  return out;
}

void add_geometry(const std::vector<model::Block>& blocks, const model::Mesh& mesh,
                  CheckedCells& checked, Input& input) {
  if (mesh.kind == model::MeshKind::Curvilinear) return add_coordinates(blocks, mesh, input);
  if (!model::has_points(mesh.kind)) return;
  const auto topologies = checked_topologies(blocks, mesh, checked);
  input.coordinates.reserve(blocks.size());
  input.connectivity.reserve(blocks.size());
  input.flag_arrays.resize(blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    const auto& block = blocks[b];
    auto& described = input.blocks[b];
    const auto& topology = topologies[b];
    const auto& points = geometry_of(block, model::coordinates_of(mesh.name));
    const auto& ids = geometry_of(block, model::point_ids_of(mesh.name));
    input.coordinates.push_back(describe(points, PILLION_POINT));
    input.connectivity.push_back(connectivity_of(topology, ids));
    described.coordinates = &input.coordinates.back();
    described.connectivity = &input.connectivity.back();
    described.cells = {topology.owned, topology.cells()};
    described.points = {points.extents[0], points.extents[0]};
    described.geometry_version = points.version;
    described.topology_version = geometry_of(block, model::topology_of(mesh.name)).version;
    if (topology.flags.empty()) continue;
    const model::Array flags{topology.flags.data(), model::ElementType::Uint8, 1,
                             model::packed_strides(block.box, 1)};
    input.flag_arrays[b] = describe(flags, PILLION_CELL);
    described.flags = &input.flag_arrays[b];
  }
}

}  // namespace pillion::stagehost
