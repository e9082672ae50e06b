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

namespace {

/// Of one field in a box that a message names. Extents are bounded, so that nothing overflows.
size_t checked_bytes(const Box& box, const FieldType& field) {
  constexpr int64_t most = int64_t{1} << 48;
  const auto type = static_cast<int32_t>(field.type);
  int64_t cells = 1;
  bool fits = type >= static_cast<int32_t>(model::ElementType::Int32) &&
              model::is_known(static_cast<pillion_type>(type)) && field.components > 0 &&
              field.components <= 1 << 16;
  for (int axis = 0; axis < 3 && fits; ++axis) {
    const int64_t lo = box.lo[axis], hi = box.hi[axis];
    fits = lo > -most && hi < most && hi >= lo;
    if (fits && hi > lo) fits = cells <= most / (hi - lo);
    if (fits) cells *= hi - lo;
  }
  if (!fits)
    base::fail(ErrorCode::Internal, "a message has a box of field '{}' of no possible size",
               field.name);
  return static_cast<size_t>(cells) * field.bytes_per_cell();
}

bool contains(const Box& outer, const Box& inner) {
  for (int axis = 0; axis < 3; ++axis)
    if (inner.lo[axis] < outer.lo[axis] || inner.hi[axis] > outer.hi[axis]) return false;
  return true;
}

}  // namespace

// Senders have the same fields as a rule, and a receiver may have thousands of boxes.
const std::vector<FieldArrays>& Taker::arrays_for(const std::string& mesh,
                                                  const std::vector<FieldType>& wanted,
                                                  Incoming& incoming, InLayout& laid_out) {
  for (const auto& [fields, arrays] : incoming.arrays)
    if (fields == wanted) return arrays;
  auto& arrays = incoming.arrays.emplace_back(wanted, std::vector<FieldArrays>()).second;
  for (const auto& field : wanted) {
    (void)checked_bytes({}, field);
    if (laid_out.came.try_emplace(field.name, 0).second) make_arrays(mesh, field, laid_out);
    for (const auto& block : laid_out.blocks) {
      const auto& array = block.arrays.at(field.name);
      if (array.type != field.type || array.components != field.components)
        base::fail(ErrorCode::Internal, "two messages have field '{}' in different types",
                   field.name);
    }
    arrays.push_back(targets_of(laid_out.blocks, field));
  }
  return arrays;
}

namespace {

/// The values of a message, from the first to the last.
class Values {
 public:
  explicit Values(std::span<const std::byte> all) : all_(all) {}
  /// The next `size` bytes.
  const std::byte* take(size_t size) {
    if (size > all_.size() - at_)
      base::fail(ErrorCode::Internal,
                 "a message of {} bytes of values describes {} more after byte {}", all_.size(),
                 size, at_);
    const std::byte* begin = all_.data() + at_;
    at_ += size;
    return begin;
  }
  /// The same up to where the next list or array begins; there may be none.
  const std::byte* take_aligned(size_t size) {
    const auto* begin = take(size);
    at_ = std::min(aligned(at_), all_.size());
    return begin;
  }

 private:
  std::span<const std::byte> all_;
  size_t at_ = 0;
};

/// How field number `f` of a block is kept.
Keeping keeping_of(const BlockLayout& block, size_t f) {
  return f < block.keeping.size() ? block.keeping[f] : Keeping{};
}

size_t bytes_of(const RegionLayout& list, const std::vector<FieldType>& fields) {
  size_t bytes = 0;
  for (const auto& [to, box] : list.regions)
    for (const auto& field : fields)
      if (__builtin_add_overflow(bytes, checked_bytes(box, field), &bytes))
        base::fail(ErrorCode::Internal, "a message has regions of mesh '{}' of no possible size",
                   list.mesh);
  return bytes;
}

}  // namespace

void keep(const MessageLayout& layout, std::span<const std::byte> all, KeptArrays& kept) {
  if (!brings_new(layout)) return;
  Values values(all);
  for (const auto& block : layout.blocks)
    for (size_t f = 0; f < block.fields.size(); ++f) {
      const auto [version, left_out] = keeping_of(block, f);
      const size_t bytes = checked_bytes(block.box, block.fields[f]);
      const auto* data = left_out != 0 ? nullptr : values.take_aligned(bytes);
      if (version != 0) kept.add(block.fields[f].name, block.id, version, data, bytes);
    }
  for (const auto& list : layout.regions) {
    (void)values.take_aligned(bytes_of(list, list.fields));
    if (list.constants.empty()) continue;
    const size_t bytes = bytes_of(list, list.constants);
    const auto* data = list.keeping.left_out != 0 ? nullptr : values.take_aligned(bytes);
    if (list.keeping.version != 0)
      kept.add(list.kept_as, list.group, list.keeping.version, data, bytes);
  }
  kept.end_message();
}

void Taker::take_regions(const RegionLayout& list, const std::byte* values,
                         const std::byte* constants, ReceivedMeshes& out) {
  const auto found = incoming_.find(list.mesh);
  if (found == incoming_.end())
    base::fail(ErrorCode::Internal, "a message has regions of mesh '{}', which no stage divides",
               list.mesh);
  auto& laid_out = out.at(list.mesh).in_layout.value();
  auto& incoming = found->second;
  const auto place_of = [&](const RegionLayout::Region& region) {
    const size_t b = region.to >= 0 && static_cast<size_t>(region.to) < incoming.places.size()
                         ? incoming.places[static_cast<size_t>(region.to)]
                         : laid_out.blocks.size();
    if (b >= laid_out.blocks.size() || !contains(laid_out.blocks[b].box, region.box))
      base::fail(ErrorCode::Internal, "a message has cells {} of mesh '{}', which are not wanted",
                 model::to_string(region.box, 3), list.mesh);
    return b;
  };
  for (const bool is_constant : {false, true}) {
    const auto& fields = is_constant ? list.constants : list.fields;
    const auto* from = is_constant ? constants : values;
    const auto& arrays = arrays_for(list.mesh, fields, incoming, laid_out);
    for (const auto& region : list.regions) {
      const auto b = static_cast<int32_t>(place_of(region));
      from = unpack({0, b, region.box, {}}, arrays, from);
      for (const auto& field : fields) laid_out.came.at(field.name) += region.box.volume();
    }
  }
  for (const auto& region : list.regions) {
    const size_t b = place_of(region);
    const Box inner = layout::common(region.box, laid_out.inner[b]);
    if (!layout::is_empty(inner)) incoming.regions.push_back({b, inner, &list});
  }
}

void Taker::take(const MessageLayout& layout, std::span<const std::byte> all,
                 const std::shared_ptr<const void>& keep, ReceivedMeshes& out,
                 const KeptArrays* kept) {
  Values values(all);
  const auto kept_values = [&](const std::string& field, int64_t block, int64_t version,
                               size_t bytes) {
    if (kept == nullptr)
      base::fail(ErrorCode::Internal, "a message leaves out '{}', and nothing is kept", field);
    return kept->find(field, block, version, bytes);
  };
  for (const auto& sent : layout.blocks) {
    auto& mesh = out[sent.mesh];
    for (const auto& field : sent.fields) (void)checked_bytes(sent.box, field);
    Block block = block_of(sent);
    for (size_t f = 0; f < sent.fields.size(); ++f) {
      const auto& field = sent.fields[f];
      const auto [version, left_out] = keeping_of(sent, f);
      const size_t bytes = checked_bytes(sent.box, field);
      auto& array = block.arrays.at(field.name);
      array.version = version;
      if (left_out == 0) {
        array.data = values.take_aligned(bytes);
      } else {
        mesh.keep.push_back(kept_values(field.name, sent.id, version, bytes));
        array.data = mesh.keep.back().get();
      }
    }
    mesh.blocks.push_back(std::move(block));
    mesh.keep.push_back(keep);
  }
  for (const auto& list : layout.regions) {
    const auto* changing = values.take_aligned(bytes_of(list, list.fields));
    const size_t bytes = bytes_of(list, list.constants);
    std::shared_ptr<const std::byte[]> held;
    if (list.keeping.left_out != 0)
      held = kept_values(list.kept_as, list.group, list.keeping.version, bytes);
    take_regions(list, changing, held ? held.get() : values.take_aligned(bytes), out);
  }
  for (const auto& mesh : layout.particles) {
    int64_t size = 0;
    std::memcpy(&size, values.take(message_alignment), sizeof size);
    const auto bytes = static_cast<size_t>(size);
    particles_[mesh].emplace_back(values.take_aligned(bytes), bytes);
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

std::vector<std::string> names_of(const RegionLayout& list) {
  std::vector<std::string> names;
  for (const auto* fields : {&list.fields, &list.constants})
    for (const auto& field : *fields) names.push_back(field.name);
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
        mesh.blocks.push_back(part_of(laid_out.blocks[b], box, names_of(*list)));
      continue;
    }
    std::vector<std::string> names;
    for (const auto& [field, cells] : laid_out.came) names.push_back(field);
    for (size_t b = 0; b < laid_out.blocks.size() && !names.empty(); ++b)
      mesh.blocks.push_back(part_of(laid_out.blocks[b], laid_out.inner[b], names));
  }
}

}  // namespace pillion::redistribution
