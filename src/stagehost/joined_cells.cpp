// SPDX-License-Identifier: BSD-3-Clause
// Points are numbered in the order in which parts have them; all else is appended.
#include "stagehost/joined_cells.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "model/geometry.hpp"
#include "stagehost/block_geometry.hpp"
#include "stagehost/cell_layers.hpp"
#include "stagehost/cell_parts.hpp"

namespace pillion::stagehost {

using model::Array;
using model::Block;
using model::Topology;

JoinedPoints points_of(const std::vector<Block>& parts, const std::string& mesh, bool by_ids) {
  std::unordered_map<PointKey, int64_t, PointKeyHash> known;
  JoinedPoints out;
  for (const auto& part : parts) {
    const auto keys = keys_of(part, mesh, by_ids);
    auto& numbers = out.numbers.emplace_back();
    auto& first = out.first.emplace_back();
    for (size_t p = 0; p < keys.size(); ++p) {
      const auto [at, is_new] = known.try_emplace(keys[p], static_cast<int64_t>(known.size()));
      numbers.push_back(at->second);
      if (is_new) first.push_back(static_cast<int64_t>(p));
    }
  }
  return out;
}

namespace {

/// Appends `offsets` but the first, so that they continue where `to` ends.
void append_offsets(std::span<const int64_t> offsets, std::vector<int64_t>& to) {
  const int64_t end = to.back();
  for (size_t i = 1; i < offsets.size(); ++i) to.push_back(end + offsets[i] - offsets[0]);
}

template <class T>
void append(std::span<const T> values, std::vector<T>& to) {
  to.insert(to.end(), values.begin(), values.end());
}

/// An array that remains if every part has it.
template <class T>
std::vector<T> of_all(const std::vector<Topology>& parts, std::span<const T> Topology::*which) {
  std::vector<T> out;
  for (const auto& part : parts) {
    if ((part.*which).empty()) return {};
    append(part.*which, out);
  }
  return out;
}

std::vector<uint8_t> flags_of(const std::vector<Topology>& parts, size_t own) {
  std::vector<uint8_t> out;
  bool any = own < parts.size();
  for (size_t p = 0; p < parts.size(); ++p) {
    any = any || !parts[p].flags.empty();
    const auto copy = static_cast<uint8_t>(p >= own ? PILLION_CELL_DUPLICATE : 0);
    for (size_t c = 0; c < parts[p].types.size(); ++c)
      out.push_back(parts[p].flags.empty() ? copy : parts[p].flags[c] | copy);
  }
  return any ? out : std::vector<uint8_t>();
}

base::Bytes joined_topology(const std::vector<Topology>& parts, size_t own,
                            const JoinedPoints& points) {
  model::CellLists out;
  for (size_t p = 0; p < parts.size(); ++p) {
    const auto& part = parts[p];
    const auto number = [&](int64_t point) {
      return points.numbers[p][static_cast<size_t>(point)];
    };
    const int64_t faces_before = static_cast<int64_t>(out.face_offsets.size()) - 1;
    append(part.types, out.types);
    append_offsets(part.offsets, out.offsets);
    for (const int64_t point : part.points) out.points.push_back(number(point));
    if (part.faces() == 0) {
      out.polyhedron_offsets.resize(out.types.size() + 1, out.polyhedron_offsets.back());
      continue;
    }
    append_offsets(part.face_offsets, out.face_offsets);
    for (const int64_t point : part.face_points) out.face_points.push_back(number(point));
    append_offsets(part.polyhedron_offsets, out.polyhedron_offsets);
    for (const int64_t face : part.polyhedron_faces)
      out.polyhedron_faces.push_back(faces_before + face);
  }
  out.flags = flags_of(parts, own);
  out.ids = of_all(parts, &Topology::ids);
  out.parents = of_all(parts, &Topology::parents);
  out.patches = of_all(parts, &Topology::patches);
  return model::to_bytes(out);
}

}  // namespace

Array joined_array(const std::vector<Block>& parts, const std::string& field,
                   const JoinedPoints* points, model::MeshBlocks& out) {
  const auto& like = parts.front().arrays.at(field);
  const size_t element = model::size_of(like.type);
  const auto count_in = [&](size_t p) {
    return points != nullptr ? static_cast<int64_t>(points->first[p].size())
                             : parts[p].box.extent(0);
  };
  int64_t items = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    items += count_in(p);
    const auto& array = parts[p].arrays.at(field);
    if (array.type != like.type || array.components != like.components)
      base::fail(ErrorCode::Sharing,
                 "blocks came with '{}' as {} components of type {}, and as {} of type {}; share "
                 "the same in all blocks, so that they can be joined with their neighbours",
                 field, like.components, model::name_of(like.type), array.components,
                 model::name_of(array.type));
  }
  Array joined = like;
  auto* to = new_memory(static_cast<size_t>(items * like.components) * element, out);
  joined.data = to;
  for (size_t p = 0; p < parts.size(); ++p) {
    const auto& array = parts[p].arrays.at(field);
    const auto* from = static_cast<const std::byte*>(array.data);
    for (int64_t i = 0; i < count_in(p); ++i) {
      const int64_t item = points != nullptr ? points->first[p][static_cast<size_t>(i)] : i;
      for (int32_t c = 0; c < array.components; ++c, to += element) {
        const int64_t at = item * array.strides[0] + array.component_at(c);
        std::memcpy(to, from + at * static_cast<int64_t>(element), element);
      }
    }
  }
  joined.offsets.clear();
  if (like.has_extents) joined.extents = {items, 1, 1};
  const int64_t whole = like.components * items;
  joined.strides = {like.components, whole, whole, 1};
  return joined;
}

Block joined(const std::vector<Block>& parts, size_t own, const std::string& mesh,
             const JoinedPoints& points, model::MeshBlocks& out) {
  const auto cells = model::topology_of(mesh), ids = model::point_ids_of(mesh);
  std::vector<Topology> topologies;
  for (const auto& part : parts) {
    const auto& bytes = geometry_of(part, cells);
    topologies.push_back(model::read_topology(
        {static_cast<const std::byte*>(bytes.data), static_cast<size_t>(bytes.extents[0])}));
  }
  const auto bytes = joined_topology(topologies, own, points);
  auto* memory = new_memory(bytes.size(), out);
  std::copy(bytes.begin(), bytes.end(), memory);
  Block block = parts.front();
  auto& topology = block.arrays[cells];
  topology.data = memory;
  topology.extents = {static_cast<int64_t>(bytes.size()), 1, 1};
  const auto read = model::read_topology({memory, bytes.size()});
  block.box.lo[0] = 0;
  block.box.hi[0] = read.cells();
  block.owned = read.owned;
  const bool all_ids = std::all_of(parts.begin(), parts.end(), [&](const Block& part) {
    return geometry_of(part, ids).extents[0] > 0;
  });
  for (auto& [name, array] : block.arrays) {
    if (name == cells) continue;
    if (name == ids && !all_ids) array.extents = {0, 1, 1};
    else
      array = joined_array(parts, name,
                           array.centering == model::Centering::Point ? &points : nullptr, out);
  }
  return block;
}

}  // namespace pillion::stagehost
