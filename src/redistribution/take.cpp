// SPDX-License-Identifier: BSD-3-Clause
// Taking publications.
#include "redistribution/take.hpp"

#include <algorithm>

#include "layout/boxes.hpp"
#include "layout/particles.hpp"
#include "model/coarsen.hpp"

namespace pillion::redistribution {

using layout::InLayout;
using model::Block;
using model::Box;

void Taker::begin(const Routes& routes, const model::Catalogue& catalogue, int coarsening, int rank,
                  int receivers, ReceivedMeshes& out) {
  incoming_.clear();
  particles_.clear();
  for (const auto& [name, route] : routes) {
    if (!layout::is_division(route.kind)) continue;
    const auto mesh = model::coarse_mesh(catalogue.mesh(name), coarsening);
    const auto wanted = layout::wanted_of(route, mesh, receivers);
    auto& laid_out = out[name].in_layout.emplace();
    auto& incoming = incoming_[name];
    laid_out.request = route;
    for (const auto& place : wanted.tiling.places_of(rank)) {
      incoming.places.push_back(laid_out.blocks.size());
      if (place.box.volume() == 0) continue;
      const Box grown = wanted.grown(place.box);
      laid_out.inner.push_back(place.box);
      laid_out.blocks.push_back({place.number, grown, place.box.volume(), {}});
      laid_out.cells += grown.volume();
    }
  }
}

void Taker::make_arrays(const std::string& mesh, const FieldType& field, InLayout& laid_out) {
  std::byte* at = rooms_[mesh + "/" + field.name].of(static_cast<size_t>(laid_out.cells) *
                                                     field.bytes_per_cell());
  for (auto& block : laid_out.blocks) {
    block.arrays[field.name] = {at, field.type, field.components,
                                model::packed_strides(block.box, field.components)};
    at += static_cast<size_t>(block.box.volume()) * field.bytes_per_cell();
  }
}

namespace {

/// The arrays of a field in all blocks, to be written.
FieldArrays targets_of(const std::vector<Block>& blocks, const FieldType& field) {
  FieldArrays out{field.components, model::size_of(field.type)};
  for (const auto& block : blocks) {
    const auto& array = block.arrays.at(field.name);
    out.to.push_back(
        {static_cast<std::byte*>(const_cast<void*>(array.data)), block.box.lo, array.strides});
  }
  return out;
}

}  // namespace

// Senders have the same fields as a rule, and a receiver may have thousands of boxes.
const std::vector<FieldArrays>& Taker::arrays_for(const RegionLayout& list, Incoming& incoming,
                                                  InLayout& laid_out) {
  for (const auto& [fields, arrays] : incoming.arrays)
    if (fields == list.fields) return arrays;
  auto& arrays = incoming.arrays.emplace_back(list.fields, std::vector<FieldArrays>()).second;
  for (const auto& field : list.fields) {
    if (laid_out.came.try_emplace(field.name, 0).second) make_arrays(list.mesh, field, laid_out);
    arrays.push_back(targets_of(laid_out.blocks, field));
  }
  return arrays;
}

size_t Taker::take_regions(const RegionLayout& list, const std::byte* from, ReceivedMeshes& out) {
  auto& laid_out = out.at(list.mesh).in_layout.value();
  auto& incoming = incoming_.at(list.mesh);
  const auto& arrays = arrays_for(list, incoming, laid_out);
  const std::byte* at = from;
  for (const auto& [to, box] : list.regions) {
    const size_t b = incoming.places.at(static_cast<size_t>(to));
    at = unpack({0, static_cast<int32_t>(b), box, {}}, arrays, at);
    for (const auto& field : list.fields) laid_out.came.at(field.name) += box.volume();
    const Box inner = layout::common(box, laid_out.inner[b]);
    if (!layout::is_empty(inner)) incoming.regions.push_back({b, inner, &list});
  }
  return aligned(static_cast<size_t>(at - from));
}

void Taker::take(const MessageLayout& layout, const std::byte* values,
                 const std::shared_ptr<const void>& keep, ReceivedMeshes& out) {
  size_t at = 0;
  for (const auto& sent : layout.blocks) {
    auto& mesh = out[sent.mesh];
    Block block = block_of(sent);
    for (const auto& field : sent.fields) {
      block.arrays.at(field.name).data = values + at;
      at = aligned(at + static_cast<size_t>(sent.box.volume()) * field.bytes_per_cell());
    }
    mesh.blocks.push_back(std::move(block));
    mesh.keep.push_back(keep);
  }
  for (const auto& list : layout.regions) at += take_regions(list, values + at, out);
  for (const auto& mesh : layout.particles) {
    int64_t size = 0;
    std::memcpy(&size, values + at, sizeof size);
    particles_[mesh].emplace_back(values + at + message_alignment, static_cast<size_t>(size));
    at = aligned(at + message_alignment + static_cast<size_t>(size));
  }
}

void Taker::finish(const Routes& routes, const model::Catalogue& catalogue, bool scattered,
                   ReceivedMeshes& out) {
  for (const auto& [name, route] : routes) {
    if (route.kind == layout::Kind::AsShared || layout::is_division(route.kind)) continue;
    auto block = layout::unpack(particles_[name], route, catalogue);
    auto& mesh = out[name];
    if (!scattered) mesh.in_layout.emplace(InLayout{route, block.blocks, {}});
    std::move(block.blocks.begin(), block.blocks.end(), std::back_inserter(mesh.blocks));
    std::move(block.keep.begin(), block.keep.end(), std::back_inserter(mesh.keep));
  }
  add_boxes(out);
}

namespace {

std::vector<std::string> names_of(const std::vector<FieldType>& fields) {
  std::vector<std::string> names;
  for (const auto& field : fields) names.push_back(field.name);
  return names;
}

/// A box of a block with some of its arrays, in the same memory.
Block part_of(const Block& block, const Box& box, const std::vector<std::string>& names) {
  Block part{block.id, box, box.volume(), {}};
  for (const auto& name : names) {
    auto array = block.arrays.at(name);
    array.data =
        layout::address(layout::source_of(array, block.box), box.lo, model::size_of(array.type));
    part.arrays[name] = array;
  }
  return part;
}

}  // namespace

// Where not every cell was shared, the regions that were are all that there is.
void Taker::add_boxes(ReceivedMeshes& out) const {
  for (const auto& [name, incoming] : incoming_) {
    auto& mesh = out.at(name);
    const auto& laid_out = *mesh.in_layout;
    const bool is_whole = std::all_of(laid_out.came.begin(), laid_out.came.end(),
                                      [&](const auto& c) { return c.second == laid_out.cells; });
    if (!is_whole) {
      for (const auto& [b, box, list] : incoming.regions)
        mesh.blocks.push_back(part_of(laid_out.blocks[b], box, names_of(list->fields)));
      continue;
    }
    std::vector<std::string> names;
    for (const auto& [field, cells] : laid_out.came) names.push_back(field);
    for (size_t b = 0; b < laid_out.blocks.size() && !names.empty(); ++b)
      mesh.blocks.push_back(part_of(laid_out.blocks[b], laid_out.inner[b], names));
  }
}

}  // namespace pillion::redistribution
