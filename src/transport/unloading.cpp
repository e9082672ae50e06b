// SPDX-License-Identifier: BSD-3-Clause
// Unloading shipments.
#include "transport/unloading.hpp"

#include <algorithm>

#include "layout/division.hpp"
#include "layout/boxes.hpp"
#include "model/coarsen.hpp"

namespace pillion::transport {

using layout::Arrived;
using Layout = layout::Kind;
using model::Block;
using model::Box;
using model::MeshKind;

namespace {

/// What a sidecar is told about a rank that sends its head to another.
enum class Notice : int64_t { Sends, SendsNothing, Absent };

}  // namespace

Unloading::Terms& Unloading::terms_of(const Announcement& agreed) {
  std::erase_if(terms_, [&](const auto& entry) {
    return agreed.sequence - entry.second.sequence > terms_last;
  });
  Terms& terms = terms_[due_set_of(agreed)];
  terms.sequence = agreed.sequence;
  return terms;
}

std::vector<int> Unloading::expected(const Announcement& agreed,
                                     const std::map<int, Announcement>& heads, Terms& terms) {
  std::set<int> absent;
  if (agreed.news || agreed.dropped) {
    std::map<int, base::ByteWriter> notices;
    const auto tell = [&](int sidecar, int rank, Notice notice) {
      notices[sidecar].put(static_cast<int64_t>(rank));
      notices[sidecar].put(notice);
    };
    for (const auto& [rank, head] : heads) {
      auto& targets = terms.targets[rank];
      if (head.dropped) {
        for (const int32_t s : targets) tell(s, rank, Notice::Absent);
      } else if (head.news) {
        const std::set<int32_t> now(head.targets.begin(), head.targets.end());
        for (const int32_t s : targets)
          if (!now.contains(s)) tell(s, rank, Notice::SendsNothing);
        for (const int32_t s : now) tell(s, rank, Notice::Sends);
        targets = now;
      }
    }
    std::map<int, base::Bytes> out;
    for (auto& [sidecar, writer] : notices) out[sidecar] = writer.take();
    for (const auto& [sidecar, bytes] : passing_on_(out))
      for (base::ByteReader in(bytes); !in.done();) {
        const auto rank = static_cast<int>(in.get<int64_t>());
        switch (in.get<Notice>()) {
          case Notice::Sends: terms.senders.insert(rank); break;
          case Notice::SendsNothing: terms.senders.erase(rank); break;
          case Notice::Absent: absent.insert(rank); break;
        }
      }
    known_.insert(terms.senders.begin(), terms.senders.end());
  }
  std::vector<int> senders;
  std::set_difference(terms.senders.begin(), terms.senders.end(), absent.begin(), absent.end(),
                      std::back_inserter(senders));
  return senders;
}

void Unloading::look() { inbox_.look({known_.begin(), known_.end()}); }

void Unloading::unload(const Announcement& agreed, const std::map<int, Announcement>& heads,
                       const Routes& routes, const model::Catalogue& catalogue, Cargo& cargo) {
  Terms& terms = terms_of(agreed);
  const auto senders = expected(agreed, heads, terms);
  const auto letters = inbox_.take(senders);
  if (!agreed.dropped) prepare(agreed, routes, catalogue, cargo);
  Dealt dealt;
  for (size_t i = 0; i < senders.size(); ++i) {
    size_t values = 0;
    const Bill& bill = bill_of(senders[i], letters[i], agreed, terms, values);
    if (!agreed.dropped) unload_body(bill, letters[i], values, cargo, dealt);
  }
  if (agreed.dropped) return;
  for (const auto& [mesh, route] : routes) {
    if (route.kind == Layout::AsShared || layout::is_division(route.kind)) continue;
    auto blocks = layout::unpack(dealt[mesh], route, catalogue);
    if (!agreed.scattered)
      cargo.arrived[mesh] = {.request = route, .blocks = blocks.blocks, .inner = {}};
    auto& all = cargo.meshes[mesh];
    std::move(blocks.blocks.begin(), blocks.blocks.end(), std::back_inserter(all.blocks));
    std::move(blocks.keep.begin(), blocks.keep.end(), std::back_inserter(all.keep));
  }
  add_boxes(cargo);
  if (agreed.news && side_.size() > 1) balance(agreed, routes, catalogue, terms, cargo);
}

const Bill& Unloading::bill_of(int sender, const Letter& letter, const Announcement& agreed,
                               Terms& terms, size_t& values) {
  base::ByteReader in(letter.buffer->data(), letter.size);
  const auto head = in.get<BodyHead>();
  if (head.sequence != agreed.sequence)
    base::fail(ErrorCode::Internal, "rank {} sent part of message {} where {} was expected", sender,
               head.sequence, agreed.sequence);
  const auto size = static_cast<size_t>(head.bill_size);
  values = values_offset(size);
  if (size > 0) {
    const std::byte* bill = in.take(size);
    terms.bills[sender] = read_bill({bill, bill + size});
  }
  return terms.bills.at(sender);
}

void Unloading::prepare(const Announcement& agreed, const Routes& routes,
                        const model::Catalogue& catalogue, Cargo& cargo) {
  landed_.clear();
  for (const auto& [name, route] : routes) {
    if (!layout::is_division(route.kind)) continue;
    const auto mesh = model::coarse_mesh(catalogue.mesh(name), agreed.coarsening);
    const auto wanted = layout::wanted_of(route, mesh, side_.size());
    auto& arrived = cargo.arrived[name];
    auto& landed = landed_[name];
    arrived.request = route;
    for (const auto& place : wanted.tiling.places_of(side_.rank())) {
      landed.places.push_back(arrived.blocks.size());
      if (place.box.volume() == 0) continue;
      const Box grown = wanted.grown(place.box);
      arrived.inner.push_back(place.box);
      arrived.blocks.push_back({place.number, grown, place.box.volume(), {}});
      arrived.cells += grown.volume();
    }
  }
}

void Unloading::make_room(const std::string& mesh, const Item& item, Arrived& arrived) {
  std::byte* at =
      rooms_[mesh + "/" + item.name].of(static_cast<size_t>(arrived.cells) * item.bytes_per_cell());
  for (auto& block : arrived.blocks) {
    block.arrays[item.name] = {at, item.type, item.components,
                               model::packed_strides(block.box, item.components)};
    at += static_cast<size_t>(block.box.volume()) * item.bytes_per_cell();
  }
}

size_t Unloading::unload_parts(const Parts& parts, const std::byte* from, Arrived& arrived) {
  auto& landed = landed_.at(parts.mesh);
  for (const auto& item : parts.items)
    if (!arrived.came.contains(item.name)) {
      arrived.came[item.name] = 0;
      make_room(parts.mesh, item, arrived);
    }
  const std::byte* at = from;
  for (const auto& part : parts.parts) {
    const size_t b = landed.places.at(static_cast<size_t>(part.to));
    Block& block = arrived.blocks.at(b);
    for (const auto& item : parts.items) {
      const auto& array = block.arrays.at(item.name);
      auto* data = static_cast<std::byte*>(const_cast<void*>(array.data));
      layout::copy_region({data, block.box.lo, array.strides},
                          layout::packed_at(at, part.region, item.components), part.region,
                          {0, 0, 0}, item.components, model::size_of(item.type));
      arrived.came[item.name] += part.region.volume();
      at += static_cast<size_t>(part.region.volume()) * item.bytes_per_cell();
    }
    const Box inner = layout::common(part.region, arrived.inner[b]);
    if (!layout::is_empty(inner)) landed.regions.push_back({b, inner, &parts});
  }
  return aligned(static_cast<size_t>(at - from));
}

void Unloading::unload_body(const Bill& bill, const Letter& letter, size_t at, Cargo& cargo,
                            Dealt& dealt) {
  const std::byte* const values = letter.buffer->data();
  for (const auto& whole : bill.blocks) {
    auto& mesh = cargo.meshes[whole.mesh];
    Block block{whole.id, whole.box, whole.owned, {}};
    for (const auto& item : whole.items) {
      block.arrays[item.name] = {values + at, item.type, item.components,
                                 model::packed_strides(whole.box, item.components)};
      at = aligned(at + static_cast<size_t>(whole.box.volume()) * item.bytes_per_cell());
    }
    mesh.blocks.push_back(std::move(block));
    mesh.keep.push_back(letter.buffer);
  }
  for (const auto& parts : bill.parts)
    at += unload_parts(parts, values + at, cargo.arrived.at(parts.mesh));
  for (const auto& mesh : bill.dealt) {
    int64_t size = 0;
    std::memcpy(&size, values + at, sizeof size);
    dealt[mesh].emplace_back(values + at + body_alignment, static_cast<size_t>(size));
    at = aligned(at + body_alignment + static_cast<size_t>(size));
  }
}

namespace {

/// A box of a block with some of its arrays, in the same memory.
Block part_of(const Block& block, const Box& box, const std::vector<std::string>& names) {
  Block part{block.id, box, box.volume(), {}};
  for (const auto& name : names) {
    auto array = block.arrays.at(name);
    int64_t offset = 0;
    for (size_t d = 0; d < 3; ++d) offset += (box.lo[d] - block.box.lo[d]) * array.strides[d];
    array.data = static_cast<const std::byte*>(array.data) +
                 offset * static_cast<int64_t>(model::size_of(array.type));
    part.arrays[name] = array;
  }
  return part;
}

std::vector<std::string> names_of(const std::vector<Item>& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

}  // namespace

// Where not every cell was shared, the regions that were are all that there is.
void Unloading::add_boxes(Cargo& cargo) {
  for (const auto& [name, landed] : landed_) {
    const auto& arrived = cargo.arrived.at(name);
    auto& mesh = cargo.meshes[name];
    const bool is_whole = std::all_of(arrived.came.begin(), arrived.came.end(),
                                      [&](const auto& c) { return c.second == arrived.cells; });
    if (!is_whole) {
      for (const auto& [b, region, parts] : landed.regions)
        mesh.blocks.push_back(part_of(arrived.blocks[b], region, names_of(parts->items)));
      continue;
    }
    std::vector<std::string> names;
    for (const auto& [field, cells] : arrived.came) names.push_back(field);
    for (size_t b = 0; b < arrived.blocks.size() && !names.empty(); ++b)
      mesh.blocks.push_back(part_of(arrived.blocks[b], arrived.inner[b], names));
  }
}

void Unloading::balance(const Announcement& agreed, const Routes& routes,
                        const model::Catalogue& catalogue, Terms& terms, const Cargo& cargo) {
  base::ByteWriter word;
  for (const auto& [name, route] : routes) {
    if (route.kind != Layout::AsShared || catalogue.mesh(name).kind != MeshKind::Uniform) continue;
    const auto mesh = model::coarse_mesh(catalogue.mesh(name), agreed.coarsening);
    std::vector<redistribution::Load> loads;
    if (const auto at = cargo.meshes.find(name); at != cargo.meshes.end())
      for (const auto& block : at->second.blocks) {
        auto& load = loads.emplace_back(redistribution::Load{block.box, 0});
        for (const auto& [field, array] : block.arrays)
          load.bytes += static_cast<int64_t>(model::size_of(array.type)) * array.components *
                        block.box.volume();
      }
    auto cuts = redistribution::balance(side_, loads, {{0, 0, 0}, mesh.cells}, side_.size());
    auto& before = terms.cuts[name];
    if (cuts == before) continue;
    before = std::move(cuts);
    word.put(due_set_of(agreed));
    word.put(name);
    word.put(before);
  }
  const auto bytes = word.take();
  word_.insert(word_.end(), bytes.begin(), bytes.end());
}

}  // namespace pillion::transport
