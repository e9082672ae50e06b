// SPDX-License-Identifier: BSD-3-Clause
// Planning and packing. Everything is worked out from this rank's own blocks.
#include "transport/shipment.hpp"

#include <algorithm>

#include "layout/division.hpp"
#include "model/coarsen.hpp"

namespace pillion::transport {

using Layout = layout::Kind;
using layout::Moves;
using model::Block;
using model::Box;
using model::MeshBlocks;
using model::MeshKind;

namespace {

Item item_of(const std::string& name, const model::Array& array) {
  return {name, array.type, array.components};
}

std::vector<Item> items_of(const Block& block) {
  std::vector<Item> items;
  for (const auto& [name, array] : block.arrays) items.push_back(item_of(name, array));
  return items;
}

/// Blocks that have the same fields: their indices, by fields.
using Groups = std::vector<std::pair<std::vector<Item>, std::vector<size_t>>>;

Groups group(const std::vector<Block>& blocks) {
  Groups groups;
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].box.volume() == 0) continue;
    auto items = items_of(blocks[b]);
    const auto at =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == items; });
    if (at != groups.end()) at->second.push_back(b);
    else groups.push_back({std::move(items), {b}});
  }
  return groups;
}

}  // namespace

Shipment::Shipment(Meshes& meshes, int coarsening, const Destination& to) {
  const auto kind_of = [&](const std::string& name) {
    const auto route = to.routes->find(name);
    return route == to.routes->end() ? Layout::AsShared : route->second.kind;
  };
  const auto take = [&](const std::string& name, MeshBlocks& mesh) {
    meshes_[name] = std::move(mesh);
    mesh = {.blocks = {}, .keep = {}, .kind = meshes_[name].kind};
  };
  // Whatever the meshes are called, messages hold blocks first, then parts, then particles.
  for (auto& [name, mesh] : meshes)
    if (to.catalogue->mesh(name).kind == MeshKind::Uniform && kind_of(name) == Layout::AsShared)
      take_blocks(name, mesh, coarsening, to);
  for (auto& [name, mesh] : meshes)
    if (layout::is_division(kind_of(name))) {
      take(name, mesh);
      take_parts(name, coarsening, to);
    }
  for (auto& [name, mesh] : meshes)
    if (kind_of(name) != Layout::AsShared && !layout::is_division(kind_of(name))) {
      take(name, mesh);
      if (!take_particles(name, to)) std::swap(mesh, meshes_[name]);
    }
  std::erase_if(meshes, [&](const auto& entry) {
    return meshes_.contains(entry.first) && entry.second.blocks.empty();
  });
  settle(meshes, to);
}

void Shipment::count(const Item& item, int64_t cells) {
  bytes_[item.name] += cells * static_cast<int64_t>(item.bytes_per_cell());
}

void Shipment::add_block(const std::string& mesh, const Block& block, Load& load) {
  load.bill.blocks.push_back({mesh, block.id, block.box, block.owned, items_of(block)});
  for (const auto& [name, array] : block.arrays) {
    load.bits.push_back({&array, block.box, block.box, {0, 0, 0}, load.size});
    const auto item = item_of(name, array);
    count(item, block.box.volume());
    load.size =
        aligned(load.size + item.bytes_per_cell() * static_cast<size_t>(block.box.volume()));
  }
}

// Until sidecars have said whose blocks are whose, they go home.
void Shipment::take_blocks(const std::string& name, MeshBlocks& mesh, int coarsening,
                           const Destination& to) {
  const auto cuts = to.cuts->find(name);
  if (cuts == to.cuts->end()) return;
  const auto coarse = model::coarse_mesh(to.catalogue->mesh(name), coarsening);
  const Box domain{{0, 0, 0}, coarse.cells};
  const auto owner = [&](const Block& block) {
    return block.box.volume() == 0 ? to.home
                                   : redistribution::owner_of(block.box, domain, cuts->second);
  };
  auto& taken = meshes_[name];
  taken.keep = mesh.keep;
  const auto away = std::stable_partition(mesh.blocks.begin(), mesh.blocks.end(),
                                          [&](const Block& b) { return owner(b) == to.home; });
  std::move(away, mesh.blocks.end(), std::back_inserter(taken.blocks));
  mesh.blocks.erase(away, mesh.blocks.end());
  for (const auto& block : taken.blocks) add_block(name, block, loads_[owner(block)]);
}

void Shipment::take_parts(const std::string& name, int coarsening, const Destination& to) {
  const auto& mesh = meshes_[name];
  const auto coarse = model::coarse_mesh(to.catalogue->mesh(name), coarsening);
  const auto wanted = layout::wanted_of(to.routes->at(name), coarse, to.sidecars);
  for (const auto& [items, indices] : group(mesh.blocks)) {
    std::vector<Box> boxes;
    for (const size_t b : indices) boxes.push_back(mesh.blocks[b].box);
    for (const Moves& moves : layout::plan_moves(boxes, wanted)) {
      Load& load = loads_[moves.rank];
      auto& parts = load.bill.parts.emplace_back(Parts{name, items, {}});
      for (const auto& move : moves.moves) {
        parts.parts.push_back({move.to, move.region});
        const Block& block = mesh.blocks[indices[static_cast<size_t>(move.from)]];
        for (const auto& item : items) {
          load.bits.push_back(
              {&block.arrays.at(item.name), block.box, move.region, move.shift, load.size});
          const size_t bytes = item.bytes_per_cell() * static_cast<size_t>(move.region.volume());
          load.size += bytes;
          direct_ += static_cast<int64_t>(bytes);
        }
      }
      for (const auto& item : items) count(item, moves.cells);
      load.size = aligned(load.size);
    }
  }
}

// What is wrong with particles is for the stage to say: they go home then.
bool Shipment::take_particles(const std::string& name, const Destination& to) {
  const auto& request = to.routes->at(name);
  const auto domain = to.domains->find(name);
  try {
    if (request.kind == Layout::Spatial && domain == to.domains->end())
      base::fail(ErrorCode::Sharing, "mesh '{}' has no domain", name);
    for (const auto& block : meshes_[name].blocks)
      for (const auto& field : request.needed())
        if (!block.arrays.contains(field))
          base::fail(ErrorCode::Sharing, "block {} comes without '{}'", block.number(), field);
    auto& moves = particles_.emplace_back(
        request.kind == Layout::ByKey
            ? layout::ParticleMoves::by_key(meshes_[name], request, to.sidecars)
            : layout::ParticleMoves::spatial(meshes_[name], request, domain->second, to.sidecars));
    for (const int rank : moves.ranks()) {
      Load& load = loads_[rank];
      load.bill.dealt.push_back(name);
      load.deals.push_back({&moves, rank, load.size});
      load.size = aligned(load.size + body_alignment + moves.size_for(rank));
      direct_ += static_cast<int64_t>(moves.size_for(rank));
    }
  } catch (const Error&) {
    scattered_ = true;
    return false;
  }
  for (const auto& block : meshes_[name].blocks)
    for (const auto& field : request.needed())
      count(item_of(field, block.arrays.at(field)), block.owned);
  return true;
}

void Shipment::settle(const Meshes& left, const Destination& to) {
  base::ByteWriter terms;
  for (auto& [sidecar, load] : loads_) {
    load.bill_bytes = bytes_of(load.bill);
    terms.put(static_cast<int64_t>(sidecar));
    terms.put(static_cast<int64_t>(load.bill_bytes.size()));
    terms.put_raw(load.bill_bytes.data(), load.bill_bytes.size());
  }
  // What stays counts when sidecars balance.
  for (const auto& [name, mesh] : left)
    if (to.catalogue->mesh(name).kind == MeshKind::Uniform)
      for (const auto& block : mesh.blocks) terms.put(block.box);
  terms_ = terms.take();
}

std::vector<int32_t> Shipment::sidecars() const {
  std::vector<int32_t> out;
  for (const auto& [sidecar, load] : loads_) out.push_back(sidecar);
  return out;
}

bool Shipment::is_lasting() const { return particles_.empty() && !scattered_; }

void Shipment::lay_out(bool with_bills) {
  with_bills_ = with_bills;
  pieces_.clear();
  size_ = 0;
  for (const auto& [sidecar, load] : loads_) {
    const size_t size = values_offset(with_bills ? load.bill_bytes.size() : 0) + load.size;
    pieces_.push_back({sidecar, size_, size});
    size_ = aligned(size_ + size);
  }
}

void Shipment::encode(std::byte* to, int64_t sequence) const {
  auto piece = pieces_.begin();
  for (const auto& [sidecar, load] : loads_) {
    std::byte* at = to + piece->offset;
    const size_t bill_size = with_bills_ ? load.bill_bytes.size() : 0;
    const BodyHead head{sequence, static_cast<int64_t>(bill_size)};
    std::memcpy(at, &head, sizeof head);
    std::memcpy(at + sizeof head, load.bill_bytes.data(), bill_size);
    at += values_offset(bill_size);
    for (const auto& bit : load.bits)
      layout::copy_region(layout::packed_at(at + bit.offset, bit.region, bit.array->components),
                          layout::source_of(*bit.array, bit.box), bit.region, bit.shift,
                          bit.array->components, model::size_of(bit.array->type));
    for (const auto& deal : load.deals) {
      const auto size = static_cast<int64_t>(deal.moves->size_for(deal.rank));
      std::memcpy(at + deal.offset, &size, sizeof size);
      deal.moves->pack(deal.rank, at + deal.offset + body_alignment);
    }
    ++piece;
  }
}

DueSet due_set_of(const Announcement& head) {
  DueSet due{head.coarsening};
  for (const auto& d : head.due) due.push_back(d.analysis);
  return due;
}

bool Told::knows(const DueSet& due, const base::Bytes& terms, int64_t sequence) const {
  const auto at = entries_.find(due);
  return at != entries_.end() && sequence - at->second.sequence <= terms_last &&
         at->second.terms == terms;
}

void Told::note(const DueSet& due, const base::Bytes& terms, int64_t sequence) {
  std::erase_if(entries_, [&](const auto& e) { return sequence - e.second.sequence > terms_last; });
  auto& entry = entries_[due];
  entry.sequence = sequence;
  if (entry.terms != terms) entry.terms = terms;
}

}  // namespace pillion::transport
