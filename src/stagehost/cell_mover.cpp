// SPDX-License-Identifier: BSD-3-Clause
// One message for each pair of ranks has all that moves between them: points and cells if these are
// others than before, and in the next one values. With layers of copies, ranks find first which of
// their cells are near those of others, and receivers join what arrives.
#include "stagehost/cell_mover.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "comm/agreement.hpp"
#include "stagehost/block_geometry.hpp"
#include "stagehost/cell_layers.hpp"
#include "stagehost/cell_parts.hpp"
#include "stagehost/peer_messages.hpp"

namespace pillion::stagehost {

using layout::Request;
using model::Block;
using model::Topology;

namespace {

/// A field of a request.
struct MovedField {
  std::string name;
  bool at_points;
  bool is_constant;
};
using Fields = std::vector<MovedField>;

Fields fields_of(const std::vector<std::string>& names, const model::Mesh& mesh,
                 const model::Catalogue& catalogue) {
  Fields out;
  for (const auto& name : names) {
    const auto& field = catalogue.field(name);
    out.push_back(
        {name, model::centering_of(mesh, field) == model::Centering::Point, field.is_constant});
  }
  return out;
}

/// By constant field and block: 0 if it is not known.
std::vector<int64_t> constant_versions(const std::vector<Block>& blocks, const Fields& fields) {
  std::vector<int64_t> out;
  for (const auto& field : fields)
    if (field.is_constant)
      for (const auto& block : blocks) out.push_back(block.arrays.at(field.name).version);
  return out;
}

Received exchange_parts(const std::map<int, base::ByteWriter>& parts,
                        const ExecutionContext& context) {
  std::vector<pillion_message> messages;
  for (const auto& [peer, part] : parts)
    messages.push_back({peer, 0, part.bytes().size(), part.bytes().data()});
  return stagehost::exchange(messages, context);
}

/// Empty if it is not known for all blocks.
std::vector<CellMover::Version> versions_of(const std::vector<Block>& blocks,
                                            const std::string& mesh) {
  std::vector<CellMover::Version> out;
  for (const auto& block : blocks) {
    const auto version = [&](const std::string& of) { return geometry_of(block, of).version; };
    const auto cells = version(model::topology_of(mesh)), at = version(model::coordinates_of(mesh)),
               ids = version(model::point_ids_of(mesh));
    if (cells == 0 || at == 0 || ids == 0) return {};
    out.push_back({block.id, block.box.extent(0), cells, at, ids});
  }
  return out;
}

/// Whether all blocks that have cells have ids of points.
bool have_ids(const std::vector<Block>& blocks, const std::string& mesh) {
  return std::all_of(blocks.begin(), blocks.end(), [&](const Block& block) {
    return block.box.volume() == 0 || geometry_of(block, model::point_ids_of(mesh)).extents[0] > 0;
  });
}

/// Copies that the program shares come only where no others do, and not by key: their values need
/// not be those of the cell, nor the key.
void leave_out_copies(const std::vector<Topology>& topologies, CellOwners& owners) {
  for (size_t b = 0; b < topologies.size(); ++b)
    for (size_t c = 0; c < topologies[b].flags.size(); ++c)
      if ((topologies[b].flags[c] & PILLION_CELL_DUPLICATE) != 0) owners[b][c] = -1;
}

/// By block.
std::vector<CellMoves> moves_to(const CellOwners& owners) {
  std::vector<CellMoves> out(owners.size());
  for (size_t b = 0; b < owners.size(); ++b)
    for (size_t c = 0; c < owners[b].size(); ++c)
      if (const int owner = owners[b][c]; owner >= 0)
        out[b].own[owner].push_back(static_cast<int64_t>(c));
  return out;
}

/// Adds copies for the ranks whose own cells are near. [collective]
void add_copies(const std::vector<Block>& blocks, const std::vector<Topology>& topologies,
                CellOwners owners, int64_t layers, bool by_ids, const std::string& mesh,
                const ExecutionContext& context, std::vector<CellMoves>& moves) {
  std::vector<OwnedCells> cells;
  for (size_t b = 0; b < blocks.size(); ++b)
    cells.push_back({topologies[b], keys_of(blocks[b], mesh, by_ids), std::move(owners[b])});
  const auto near = ranks_near(cells, layers, context);
  for (size_t b = 0; b < blocks.size(); ++b)
    for (size_t c = 0; c < near[b].size(); ++c)
      for (const int rank : near[b][c]) moves[b].copies[rank].push_back(static_cast<int64_t>(c));
}

/// The first cells of a block in the order of their keys, those of one key in the order of their
/// ids, if they have any; then the others.
std::vector<int64_t> order_of(const Topology& topology, const std::vector<int64_t>& keys) {
  std::vector<int64_t> out(static_cast<size_t>(topology.cells()));
  std::iota(out.begin(), out.end(), int64_t{0});
  const auto place = [&](int64_t cell) {
    const auto at = static_cast<size_t>(cell);
    return std::pair(keys[at], topology.ids.empty() ? 0 : topology.ids[at]);
  };
  std::stable_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(keys.size()),
                   [&](int64_t a, int64_t b) { return place(a) < place(b); });
  return out;
}

Topology topology_in(const Block& block, const std::string& mesh) {
  const auto& bytes = geometry_of(block, model::topology_of(mesh));
  return model::read_topology(
      {static_cast<const std::byte*>(bytes.data), static_cast<size_t>(bytes.extents[0])});
}

}  // namespace

/// Whether the cells that were sent still have the keys for which they were.
bool CellMover::has_keys(const CellKeys& keys) const {
  if (keys.size() != keys_.size()) return false;
  for (const auto& [peer, parts] : sent_)
    for (const auto& part : parts)
      for (const int64_t cell : part.cells) {
        const auto c = static_cast<size_t>(cell);
        if (!keys.empty() && keys[part.block][c] != keys_[part.block][c]) return false;
      }
  return true;
}

const std::vector<Block>& CellMover::bring(const std::vector<Block>& blocks, const Request& request,
                                           const model::Mesh& mesh,
                                           const ExecutionContext& context) {
  auto versions = versions_of(blocks, mesh.name);
  // Ids are cells' own, so they have the versions of these.
  CellKeys keys;
  if (!request.key.empty()) keys = keys_from_field(blocks, mesh, request.key);
  const bool is_known =
      is_planned_ && peers_ == context.peers->size() && versions == versions_ && has_keys(keys);
  auto constants = constant_versions(blocks, fields_of(request.fields, mesh, *context.catalogue));
  const bool has_constants = is_known && constants == constant_versions_ &&
                             std::count(constants.begin(), constants.end(), 0) == 0;
  constexpr uint32_t known = 1, ids = 2, same = 4;
  const uint32_t all = context.fence->common_before_collective(
      (is_known ? known : 0) | (have_ids(blocks, mesh.name) ? ids : 0) |
      (has_constants ? same : 0));
  if ((all & known) == 0) {
    is_planned_ = false;
    keys_ = std::move(keys);
    plan(blocks, request, mesh, (all & ids) != 0, context);
    peers_ = context.peers->size();
    is_planned_ = versions.size() == blocks.size();
    versions_ = std::move(versions);
  }
  constant_versions_.clear();  // a rank that fails knows nothing of what it has
  move_values(blocks, request, mesh, (all & same) == 0, context);
  constant_versions_ = std::move(constants);
  return blocks_;
}

void CellMover::plan(const std::vector<Block>& blocks, const Request& request,
                     const model::Mesh& mesh, bool by_ids, const ExecutionContext& context) {
  const auto layers = static_cast<int64_t>(request.halo);
  const bool by_key = request.kind == layout::Kind::ByKey;
  const auto topologies = checked_topologies(blocks, mesh, checked_);
  if (by_key && request.key.empty()) keys_ = keys_from_ids(blocks, mesh, topologies);
  auto owners = by_key ? owners_by_key(keys_, context.peers->size())
                       : owners_by_place(blocks, mesh, topologies, context);
  if (by_key || layers > 0) leave_out_copies(topologies, owners);
  auto moves = moves_to(owners);
  if (layers > 0)
    add_copies(blocks, topologies, std::move(owners), layers, by_ids, mesh.name, context, moves);
  const auto arrived = move_geometry(blocks, topologies, std::move(moves), mesh.name, context);
  points_.reset();
  order_.reset();
  geometry_ = parts_.blocks;
  if ((by_key || layers > 0) && arrived.own > 0) {
    points_ = points_of(parts_.blocks, mesh.name, by_ids);
    geometry_ = {joined(parts_.blocks, arrived.own, mesh.name, *points_, parts_)};
  }
  if (by_key && arrived.own > 0) put_in_order(arrived.keys, mesh.name);
  ++version_;
  for (size_t b = 0; b < geometry_.size(); ++b) {
    geometry_[b].id = model::block_id(context.peers->rank(), static_cast<int32_t>(b));
    for (auto& [name, array] : geometry_[b].arrays) array.version = version_;
  }
  if (request.key.empty()) keys_.clear();
}

CellMover::Arrived CellMover::move_geometry(const std::vector<Block>& blocks,
                                            const std::vector<Topology>& topologies,
                                            std::vector<CellMoves> moves, const std::string& mesh,
                                            const ExecutionContext& context) {
  sent_.clear();
  std::map<int, base::ByteWriter> messages;
  for (const bool is_copy : {false, true})
    for (size_t b = 0; b < blocks.size(); ++b)
      for (auto& [peer, of_peer] : is_copy ? moves[b].copies : moves[b].own) {
        auto& message = messages[peer];
        message.put(is_copy);
        std::vector<int64_t> keys;
        if (!keys_.empty())
          for (const int64_t cell : of_peer) keys.push_back(keys_[b][static_cast<size_t>(cell)]);
        message.put(keys);
        auto points = put_geometry(blocks[b], mesh, topologies[b], of_peer, message);
        sent_[peer].push_back({b, std::move(of_peer), std::move(points)});
      }
  const auto received = exchange_parts(messages, context);
  parts_ = {};
  places_.clear();
  Arrived out;
  std::vector<std::pair<int, Block>> copies;
  for (const auto& [peer, bytes] : received.bytes)
    for (base::ByteReader in(bytes); !in.done();) {
      const bool is_copy = in.get<bool>();
      const auto keys = in.get_vector<int64_t>();
      auto block = take_geometry(in, mesh, parts_);
      if (is_copy) {
        copies.emplace_back(peer, std::move(block));
        continue;
      }
      out.keys.insert(out.keys.end(), keys.begin(), keys.end());
      places_[peer].push_back(parts_.blocks.size());
      parts_.blocks.push_back(std::move(block));
    }
  out.own = parts_.blocks.size();
  for (auto& [peer, block] : copies) {
    places_[peer].push_back(parts_.blocks.size());
    parts_.blocks.push_back(std::move(block));
  }
  return out;
}

void CellMover::put_in_order(const std::vector<int64_t>& keys, const std::string& mesh) {
  const auto& block = geometry_.front();
  const auto topology = topology_in(block, mesh);
  order_ = CellOrder{order_of(topology, keys), {}};
  base::ByteWriter writer;
  order_->points = put_geometry(block, mesh, topology, order_->cells, writer);
  const auto bytes = writer.take();
  base::ByteReader reader(bytes);
  geometry_ = {take_geometry(reader, mesh, parts_)};
}

void CellMover::move_values(const std::vector<Block>& blocks, const Request& request,
                            const model::Mesh& mesh, bool all, const ExecutionContext& context) {
  auto fields = fields_of(request.fields, mesh, *context.catalogue);
  const auto before = std::exchange(blocks_, geometry_);
  if (!all)
    for (const auto& field : fields)
      for (size_t b = 0; b < blocks_.size() && field.is_constant; ++b)
        blocks_[b].arrays[field.name] = before[b].arrays.at(field.name);
  if (!all) std::erase_if(fields, [](const MovedField& field) { return field.is_constant; });
  std::map<int, base::ByteWriter> messages;
  for (const auto& [peer, parts] : sent_)
    for (const auto& part : parts)
      for (const auto& field : fields)
        put_array(blocks[part.block].arrays.at(field.name),
                  field.at_points ? part.points : part.cells, messages[peer]);
  const auto received = exchange_parts(messages, context);
  values_ = {};
  if (all) constants_ = {};
  const auto memory_of = [&](const MovedField& field) -> model::MeshBlocks& {
    return field.is_constant ? constants_ : values_;
  };
  auto parts = parts_.blocks;
  for (const auto& [peer, bytes] : received.bytes) {
    base::ByteReader in(bytes);
    for (const size_t part : places_.at(peer))
      for (const auto& field : fields)
        parts[part].arrays[field.name] = take_array(in, field.at_points, memory_of(field));
  }
  for (const auto& field : fields) {
    const auto& [name, at_points, is_constant] = field;
    if (!points_) {
      for (size_t b = 0; b < blocks_.size(); ++b) blocks_[b].arrays[name] = parts[b].arrays[name];
      continue;
    }
    auto& array = blocks_[0].arrays[name];
    array = joined_array(parts, name, at_points ? &*points_ : nullptr, memory_of(field));
    if (order_)
      array = selected(array, at_points ? order_->points : order_->cells, memory_of(field));
  }
}

}  // namespace pillion::stagehost
