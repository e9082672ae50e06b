// SPDX-License-Identifier: BSD-3-Clause
// Points and faces of a part are numbered in the order in which its cells use them.
#include "stagehost/cell_parts.hpp"

#include <algorithm>
#include <cstring>

#include "stagehost/block_geometry.hpp"

namespace pillion::stagehost {

using base::Bytes;
using model::Array;
using model::Block;
using model::Topology;

namespace {

/// Numbers in a part, given in the order in which they are first used.
class Renumbering {
 public:
  Renumbering(int64_t count, std::vector<int64_t>& used)
      : numbers_(static_cast<size_t>(count), -1), used_(used) {}
  int64_t operator()(int64_t whole) {
    auto& number = numbers_[static_cast<size_t>(whole)];
    if (number < 0) {
      number = static_cast<int64_t>(used_.size());
      used_.push_back(whole);
    }
    return number;
  }

 private:
  std::vector<int64_t> numbers_;
  std::vector<int64_t>& used_;
};

template <class T>
std::vector<T> selected(std::span<const T> values, const std::vector<int64_t>& items) {
  std::vector<T> out;
  if (values.empty()) return out;
  out.reserve(items.size());
  for (const int64_t i : items) out.push_back(values[static_cast<size_t>(i)]);
  return out;
}

/// Calls use(index) for each entry between the offsets of `item`.
template <class Use>
void each_of(std::span<const int64_t> offsets, std::span<const int64_t> values, int64_t item,
             Use&& use) {
  const auto at = static_cast<size_t>(item);
  for (int64_t i = offsets[at]; i < offsets[at + 1]; ++i) use(values[static_cast<size_t>(i)]);
}

}  // namespace

std::byte* new_memory(size_t bytes, model::MeshBlocks& out) {
  std::shared_ptr<std::byte[]> memory(new std::byte[bytes + 1]);
  out.keep.push_back(memory);
  return memory.get();
}

Bytes subset_of(const Topology& whole, const std::vector<int64_t>& cells,
                std::vector<int64_t>& points) {
  model::CellLists out;
  std::vector<int64_t> faces;
  Renumbering point_number(whole.least_points, points), face_number(whole.faces(), faces);
  for (const int64_t cell : cells) {
    each_of(whole.offsets, whole.points, cell,
            [&](int64_t point) { out.points.push_back(point_number(point)); });
    out.offsets.push_back(static_cast<int64_t>(out.points.size()));
    if (whole.faces() == 0) continue;
    each_of(whole.polyhedron_offsets, whole.polyhedron_faces, cell,
            [&](int64_t face) { out.polyhedron_faces.push_back(face_number(face)); });
    out.polyhedron_offsets.push_back(static_cast<int64_t>(out.polyhedron_faces.size()));
  }
  for (const int64_t face : faces) {
    each_of(whole.face_offsets, whole.face_points, face,
            [&](int64_t point) { out.face_points.push_back(point_number(point)); });
    out.face_offsets.push_back(static_cast<int64_t>(out.face_points.size()));
  }
  out.types = selected(whole.types, cells);
  out.flags = selected(whole.flags, cells);
  out.ids = selected(whole.ids, cells);
  out.parents = selected(whole.parents, cells);
  out.patches = selected(whole.patches, cells);
  return model::to_bytes(out);
}

namespace {

/// What precedes the values of an array in a message.
struct ArrayHead {
  model::ElementType type;
  int32_t components;
  int64_t items;
};

size_t bytes_of(const ArrayHead& head) {
  return static_cast<size_t>(head.items * head.components) * model::size_of(head.type);
}

ArrayHead head_of(const Array& array, const std::vector<int64_t>& items) {
  return {array.type, array.components, static_cast<int64_t>(items.size())};
}

void copy_items(const Array& array, const std::vector<int64_t>& items, std::byte* to) {
  const size_t size = model::size_of(array.type);
  const auto* from = static_cast<const std::byte*>(array.data);
  for (const int64_t item : items)
    for (int32_t c = 0; c < array.components; ++c, to += size)
      std::memcpy(
          to, from + (item * array.strides[0] + array.component_at(c)) * static_cast<int64_t>(size),
          size);
}

std::byte* keep(const Bytes& bytes, model::MeshBlocks& out) {
  auto* memory = new_memory(bytes.size(), out);
  std::copy(bytes.begin(), bytes.end(), memory);
  return memory;
}

Array packed_array(const ArrayHead& head, const std::byte* data, bool at_points) {
  Array array{.data = data, .type = head.type, .components = head.components};
  array.extents = {head.items, 1, 1};
  array.has_extents = at_points;
  if (at_points) array.centering = model::Centering::Point;
  const int64_t values = head.components * head.items;
  array.strides = {head.components, values, values, 1};
  return array;
}

}  // namespace

void put_array(const Array& array, const std::vector<int64_t>& items, base::ByteWriter& out) {
  const auto head = head_of(array, items);
  Bytes values(bytes_of(head));
  copy_items(array, items, values.data());
  out.put(head);
  out.put(values);
}

Array take_array(base::ByteReader& in, bool at_points, model::MeshBlocks& out) {
  const auto head = in.get<ArrayHead>();
  return packed_array(head, keep(in.get_vector<std::byte>(), out), at_points);
}

Array selected(const Array& array, const std::vector<int64_t>& items, model::MeshBlocks& out) {
  const auto head = head_of(array, items);
  auto* memory = new_memory(bytes_of(head), out);
  copy_items(array, items, memory);
  return packed_array(head, memory, array.has_extents);
}

std::vector<int64_t> put_geometry(const Block& block, const std::string& mesh,
                                  const Topology& topology, const std::vector<int64_t>& cells,
                                  base::ByteWriter& out) {
  std::vector<int64_t> points;
  out.put(subset_of(topology, cells, points));
  put_array(geometry_of(block, model::coordinates_of(mesh)), points, out);
  const auto& ids = geometry_of(block, model::point_ids_of(mesh));
  put_array(ids, ids.extents[0] > 0 ? points : std::vector<int64_t>(), out);
  return points;
}

Block take_geometry(base::ByteReader& in, const std::string& mesh, model::MeshBlocks& out) {
  Block block;
  const auto bytes = in.get_vector<std::byte>();
  Array topology{.data = keep(bytes, out), .type = model::ElementType::Uint8};
  topology.extents = {static_cast<int64_t>(bytes.size()), 1, 1};
  topology.has_extents = true;
  const auto cells =
      model::read_topology({static_cast<const std::byte*>(topology.data), bytes.size()});
  block.box.hi[0] = cells.cells();
  block.owned = cells.owned;
  block.arrays[model::topology_of(mesh)] = topology;
  block.arrays[model::coordinates_of(mesh)] = take_array(in, true, out);
  block.arrays[model::point_ids_of(mesh)] = take_array(in, true, out);
  return block;
}

}  // namespace pillion::stagehost
