// SPDX-License-Identifier: BSD-3-Clause
// Every rank calculates the owner of its cells from the box around all of them, which one reduction
// finds. One message for each pair of ranks has all that moves between them. With layers of copies,
// ranks find first which of their cells are near those of others, and receivers join what arrives.
#include "stagehost/cells_by_place.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "comm/agreement.hpp"
#include "layout/cell.hpp"
#include "stagehost/block_geometry.hpp"
#include "stagehost/cell_layers.hpp"
#include "stagehost/joined_cells.hpp"

namespace pillion::stagehost {

using base::Bytes;
using model::Array;
using model::Block;
using model::Topology;
using Place = std::array<double, 3>;

SpaceDivision::SpaceDivision(const Place& lo, const Place& hi, int ranks) : lo_(lo), hi_(hi) {
  layout::Vector widths{};
  double longest = 0;
  for (size_t d = 0; d < 3; ++d) longest = std::max(longest, hi[d] - lo[d]);
  // An axis without extent is not divided unless no other has one.
  for (size_t d = 0; d < 3; ++d)
    widths[d] = std::max(hi[d] - lo[d], longest > 0 ? longest * 1e-9 : 1.0);
  parts_ = layout::division(ranks, widths);
}

int SpaceDivision::rank_of(const Place& place) const {
  int rank = 0, step = 1;
  for (size_t d = 0; d < 3; ++d) {
    const double length = hi_[d] - lo_[d];
    const double at = length > 0 ? (place[d] - lo_[d]) / length * parts_[d] : 0;
    rank += step * std::clamp(static_cast<int>(at), 0, parts_[d] - 1);
    step *= parts_[d];
  }
  return rank;
}

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

template <class T>
const T* data_of(const std::vector<T>& values) {
  return values.empty() ? nullptr : values.data();
}

/// Calls use(index) for each entry between the offsets of `item`.
template <class Use>
void each_of(std::span<const int64_t> offsets, std::span<const int64_t> values, int64_t item,
             Use&& use) {
  const auto at = static_cast<size_t>(item);
  for (int64_t i = offsets[at]; i < offsets[at + 1]; ++i) use(values[static_cast<size_t>(i)]);
}

}  // namespace

Bytes subset_of(const Topology& whole, const std::vector<int64_t>& cells,
                std::vector<int64_t>& points) {
  std::vector<int64_t> offsets{0}, indices, faces, face_offsets{0}, face_points;
  std::vector<int64_t> polyhedron_offsets{0}, polyhedron_faces;
  Renumbering point_number(whole.least_points, points), face_number(whole.faces(), faces);
  for (const int64_t cell : cells) {
    each_of(whole.offsets, whole.points, cell,
            [&](int64_t point) { indices.push_back(point_number(point)); });
    offsets.push_back(static_cast<int64_t>(indices.size()));
    if (whole.faces() == 0) continue;
    each_of(whole.polyhedron_offsets, whole.polyhedron_faces, cell,
            [&](int64_t face) { polyhedron_faces.push_back(face_number(face)); });
    polyhedron_offsets.push_back(static_cast<int64_t>(polyhedron_faces.size()));
  }
  for (const int64_t face : faces) {
    each_of(whole.face_offsets, whole.face_points, face,
            [&](int64_t point) { face_points.push_back(point_number(point)); });
    face_offsets.push_back(static_cast<int64_t>(face_points.size()));
  }
  const auto types = selected(whole.types, cells);
  const auto flags = selected(whole.flags, cells);
  const auto ids = selected(whole.ids, cells);
  const auto parents = selected(whole.parents, cells);
  const auto patches = selected(whole.patches, cells);
  pillion_cells out{};
  out.size = sizeof out;
  out.count = static_cast<int64_t>(cells.size());
  out.types = types.data();
  out.index_type = PILLION_INT64;
  out.offsets = offsets.data();
  out.points = indices.data();
  out.face_count = static_cast<int64_t>(faces.size());
  out.face_offsets = face_offsets.data();
  out.face_points = face_points.data();
  out.polyhedron_offsets = polyhedron_offsets.data();
  out.polyhedron_faces = polyhedron_faces.data();
  out.flags = data_of(flags);
  out.ids = data_of(ids);
  out.parents = data_of(parents);
  out.patches = data_of(patches);
  return model::to_bytes(out, {});
}

namespace {

template <class T>
std::vector<Place> centres_of(const Topology& topology, const Array& points) {
  std::vector<Place> out(static_cast<size_t>(topology.cells()));
  const T* data = static_cast<const T*>(points.data);
  for (size_t c = 0; c < out.size(); ++c) {
    int64_t count = 0;
    each_of(topology.offsets, topology.points, static_cast<int64_t>(c), [&](int64_t point) {
      ++count;
      for (int32_t d = 0; d < points.components; ++d)
        out[c][static_cast<size_t>(d)] +=
            static_cast<double>(data[point * points.strides[0] + points.component_at(d)]);
    });
    for (double& x : out[c]) x = count > 0 ? x / static_cast<double>(count) : 0;
  }
  return out;
}

/// By cell.
std::vector<Place> centres_of(const Block& block, const model::Mesh& mesh,
                              const Topology& topology) {
  const auto& points = geometry_of(block, model::coordinates_of(mesh.name));
  auto out = points.type == model::ElementType::Float32 ? centres_of<float>(topology, points)
                                                        : centres_of<double>(topology, points);
  for (size_t c = 0; c < out.size(); ++c)
    for (const double x : out[c])
      if (!std::isfinite(x))
        base::fail(ErrorCode::Sharing,
                   "cell {} of block {} of mesh '{}' has a point that is not finite", c,
                   block.number(), mesh.name);
  return out;
}

/// The division of the box around the centres of all ranks, and whether all blocks with cells have
/// ids of points. [collective]
std::pair<SpaceDivision, bool> division_of(const std::vector<std::vector<Place>>& centres,
                                           bool have_ids, const ExecutionContext& context) {
  std::array<double, 7> ends;  // greatest coordinates, and the least with the other sign
  ends.fill(std::numeric_limits<double>::lowest());
  for (const auto& of_block : centres)
    for (const auto& centre : of_block)
      for (size_t d = 0; d < 3; ++d) {
        ends[d] = std::max(ends[d], centre[d]);
        ends[d + 3] = std::max(ends[d + 3], -centre[d]);
      }
  ends[6] = have_ids ? 0 : 1;
  context.fence->before_collective();
  context.peers->reduce(ends.data(), 7, comm::Operation::Max);
  const bool all_have_ids = ends[6] == 0;
  if (ends[0] < -ends[3]) ends.fill(0);  // no rank has a cell
  return {{{-ends[3], -ends[4], -ends[5]}, {ends[0], ends[1], ends[2]}, context.peers->size()},
          all_have_ids};
}

/// What precedes the values of an array in a message.
struct ArrayHead {
  model::ElementType type;
  int32_t components;
  int64_t items;
};

void put_array(const Array& array, const std::vector<int64_t>& items, base::ByteWriter& out) {
  out.put(ArrayHead{array.type, array.components, static_cast<int64_t>(items.size())});
  const size_t size = model::size_of(array.type);
  Bytes values(items.size() * static_cast<size_t>(array.components) * size);
  auto* to = values.data();
  const auto* from = static_cast<const std::byte*>(array.data);
  for (const int64_t item : items)
    for (int32_t c = 0; c < array.components; ++c, to += size)
      std::memcpy(
          to, from + (item * array.strides[0] + array.component_at(c)) * static_cast<int64_t>(size),
          size);
  out.put(values);
}

/// Fields to move, and whether their values are at points.
using Fields = std::vector<std::pair<std::string, bool>>;

Fields fields_of(const std::vector<std::string>& names, const model::Mesh& mesh,
                 const model::Catalogue& catalogue) {
  Fields out;
  for (const auto& name : names)
    out.emplace_back(name,
                     model::centering_of(mesh, catalogue.field(name)) == model::Centering::Point);
  return out;
}

/// Points that the cells use, in their order in the part.
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

/// Memory from new, which is aligned for values of any type, as bytes in a message are not.
const std::byte* keep(const Bytes& bytes, model::MeshBlocks& out) {
  std::shared_ptr<std::byte[]> memory(new std::byte[bytes.size() + 1]);
  std::copy(bytes.begin(), bytes.end(), memory.get());
  out.keep.push_back(memory);
  return memory.get();
}

Array get_array(base::ByteReader& in, bool at_points, model::MeshBlocks& out) {
  const auto head = in.get<ArrayHead>();
  Array array{.type = head.type, .components = head.components};
  array.data = keep(in.get_vector<std::byte>(), out);
  array.extents = {head.items, 1, 1};
  array.has_extents = at_points;
  if (at_points) array.centering = model::Centering::Point;
  array.strides = {head.components, head.components * head.items, head.components * head.items, 1};
  return array;
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
  block.arrays[model::coordinates_of(mesh)] = get_array(in, true, out);
  block.arrays[model::point_ids_of(mesh)] = get_array(in, true, out);
  return block;
}

Received exchange_parts(const std::map<int, base::ByteWriter>& parts,
                        const ExecutionContext& context) {
  std::vector<pillion_message> messages;
  for (const auto& [peer, part] : parts)
    messages.push_back({peer, 0, part.bytes().size(), part.bytes().data()});
  return stagehost::exchange(messages, context);
}

/// Empty if it is not known for all blocks.
std::vector<CellsByPlace::Version> versions_of(const std::vector<Block>& blocks,
                                               const std::string& mesh) {
  std::vector<CellsByPlace::Version> out;
  for (const auto& block : blocks) {
    const auto version = [&](const std::string& of) { return geometry_of(block, of).version; };
    const auto cells = version(model::topology_of(mesh)), at = version(model::coordinates_of(mesh)),
               ids = version(model::point_ids_of(mesh));
    if (cells == 0 || at == 0 || ids == 0) return {};
    out.push_back({block.id, block.box.extent(0), cells, at, ids});
  }
  return out;
}

/// Of a block: the cells that go to each rank as its own, and as copies.
struct Parts {
  std::map<int, std::vector<int64_t>> own, copies;
};

/// Whether all blocks that have cells have ids of points.
bool have_ids(const std::vector<Block>& blocks, const std::string& mesh) {
  return std::all_of(blocks.begin(), blocks.end(), [&](const Block& block) {
    return block.box.volume() == 0 || geometry_of(block, model::point_ids_of(mesh)).extents[0] > 0;
  });
}

/// By block. Copies that the program shares come only where no others do. [collective]
std::vector<Parts> parts_of(const std::vector<Block>& blocks, std::vector<OwnedCells>& cells,
                            int64_t layers, bool by_ids, const std::string& mesh,
                            const ExecutionContext& context) {
  std::vector<Parts> out(blocks.size());
  if (layers > 0)
    for (size_t b = 0; b < blocks.size(); ++b) {
      cells[b].points = keys_of(blocks[b], mesh, by_ids);
      const auto& flags = cells[b].topology.flags;
      for (size_t c = 0; c < flags.size(); ++c)
        if ((flags[c] & PILLION_CELL_DUPLICATE) != 0) cells[b].owners[c] = -1;
    }
  for (size_t b = 0; b < blocks.size(); ++b)
    for (size_t c = 0; c < cells[b].owners.size(); ++c)
      if (const int owner = cells[b].owners[c]; owner >= 0)
        out[b].own[owner].push_back(static_cast<int64_t>(c));
  if (layers == 0) return out;
  const auto near = ranks_near(cells, layers, context);
  for (size_t b = 0; b < blocks.size(); ++b)
    for (size_t c = 0; c < near[b].size(); ++c)
      for (const int rank : near[b][c]) out[b].copies[rank].push_back(static_cast<int64_t>(c));
  return out;
}

}  // namespace

const std::vector<Block>& CellsByPlace::bring(const std::vector<Block>& blocks,
                                              const layout::Request& request,
                                              const model::Mesh& mesh,
                                              const ExecutionContext& context) {
  auto versions = versions_of(blocks, mesh.name);
  const bool is_known = is_planned_ && peers_ == context.peers->size() && versions == versions_;
  double all_know = is_known ? 1 : 0;
  context.fence->before_collective();
  context.peers->reduce(&all_know, 1, comm::Operation::Min);
  if (all_know == 0) {
    is_planned_ = false;
    plan(blocks, request, mesh, context);
    peers_ = context.peers->size();
    is_planned_ = versions.size() == blocks.size();
    versions_ = std::move(versions);
  }
  move_values(blocks, request, mesh, context);
  return blocks_;
}

void CellsByPlace::plan(const std::vector<Block>& blocks, const layout::Request& request,
                        const model::Mesh& mesh, const ExecutionContext& context) {
  const auto layers = static_cast<int64_t>(request.halo);
  const auto topologies = checked_topologies(blocks, mesh, checked_);
  std::vector<std::vector<Place>> centres;
  for (size_t b = 0; b < blocks.size(); ++b)
    centres.push_back(centres_of(blocks[b], mesh, topologies[b]));
  const auto [division, by_ids] = division_of(centres, have_ids(blocks, mesh.name), context);
  std::vector<OwnedCells> cells;
  for (size_t b = 0; b < blocks.size(); ++b) {
    cells.push_back({topologies[b], {}, {}});
    for (const auto& centre : centres[b]) cells[b].owners.push_back(division.rank_of(centre));
  }
  auto moves = parts_of(blocks, cells, layers, by_ids, mesh.name, context);
  sent_.clear();
  std::map<int, base::ByteWriter> messages;
  for (const bool is_copy : {false, true})
    for (size_t b = 0; b < blocks.size(); ++b)
      for (auto& [peer, of_peer] : is_copy ? moves[b].copies : moves[b].own) {
        messages[peer].put(is_copy);
        auto points = put_geometry(blocks[b], mesh.name, topologies[b], of_peer, messages[peer]);
        sent_[peer].push_back({b, std::move(of_peer), std::move(points)});
      }
  const auto received = exchange_parts(messages, context);
  parts_ = {};
  places_.clear();
  std::vector<std::pair<int, Block>> copies;
  for (const auto& [peer, bytes] : received.bytes)
    for (base::ByteReader in(bytes); !in.done();) {
      const bool is_copy = in.get<bool>();
      auto block = take_geometry(in, mesh.name, parts_);
      if (is_copy) {
        copies.emplace_back(peer, std::move(block));
        continue;
      }
      places_[peer].push_back(parts_.blocks.size());
      parts_.blocks.push_back(std::move(block));
    }
  const size_t own = parts_.blocks.size();
  for (auto& [peer, block] : copies) {
    places_[peer].push_back(parts_.blocks.size());
    parts_.blocks.push_back(std::move(block));
  }
  ++version_;
  points_.reset();
  geometry_ = parts_.blocks;
  if (layers > 0 && own > 0) {
    points_ = points_of(parts_.blocks, mesh.name, by_ids);
    geometry_ = {joined(parts_.blocks, own, mesh.name, *points_, parts_)};
  }
  for (size_t b = 0; b < geometry_.size(); ++b) {
    geometry_[b].id = model::block_id(context.peers->rank(), static_cast<int32_t>(b));
    for (auto& [name, array] : geometry_[b].arrays) array.version = version_;
  }
}

void CellsByPlace::move_values(const std::vector<Block>& blocks, const layout::Request& request,
                               const model::Mesh& mesh, const ExecutionContext& context) {
  const auto fields = fields_of(request.fields, mesh, *context.catalogue);
  std::map<int, base::ByteWriter> messages;
  for (const auto& [peer, parts] : sent_)
    for (const auto& part : parts)
      for (const auto& [name, at_points] : fields)
        put_array(blocks[part.block].arrays.at(name), at_points ? part.points : part.cells,
                  messages[peer]);
  const auto received = exchange_parts(messages, context);
  values_ = {};
  auto parts = parts_.blocks;
  for (const auto& [peer, bytes] : received.bytes) {
    base::ByteReader in(bytes);
    for (const size_t part : places_.at(peer))
      for (const auto& [name, at_points] : fields)
        parts[part].arrays[name] = get_array(in, at_points, values_);
  }
  blocks_ = geometry_;
  for (const auto& [name, at_points] : fields) {
    if (points_)
      blocks_[0].arrays[name] = joined_array(parts, name, at_points ? &*points_ : nullptr, values_);
    else
      for (size_t b = 0; b < blocks_.size(); ++b) blocks_[b].arrays[name] = parts[b].arrays[name];
  }
}

}  // namespace pillion::stagehost
