// SPDX-License-Identifier: BSD-3-Clause
// Packing, unpacking, and the layouts of blocks.
#include "redistribution/message_layout.hpp"

#include "base/copy.hpp"

namespace pillion::redistribution {

using base::CopyKind;
using layout::Move;
using layout::Moves;

namespace {

size_t bytes_of(const Move& move, const FieldArrays& field) {
  return field.element * static_cast<size_t>(field.components) *
         static_cast<size_t>(move.region.volume());
}

}  // namespace

size_t bytes_per_cell(std::span<const FieldArrays> fields) {
  size_t bytes = 0;
  for (const auto& field : fields) bytes += field.element * static_cast<size_t>(field.components);
  return bytes;
}

std::byte* pack(const Move& move, std::span<const FieldArrays> fields, std::byte* to) {
  std::byte* const begin = to;
  for (const auto& field : fields) {
    layout::copy_region(layout::packed_at(to, move.region, field.components),
                        field.from[static_cast<size_t>(move.from)], move.region, move.shift,
                        field.components, field.element);
    to += bytes_of(move, field);
  }
  base::count_copy(CopyKind::Pack, static_cast<size_t>(to - begin));
  return to;
}

const std::byte* unpack(const Move& move, std::span<const FieldArrays> fields,
                        const std::byte* from) {
  const std::byte* const begin = from;
  for (const auto& field : fields) {
    layout::copy_region(field.to[static_cast<size_t>(move.to)],
                        layout::packed_at(from, move.region, field.components), move.region,
                        {0, 0, 0}, field.components, field.element);
    from += bytes_of(move, field);
  }
  base::count_copy(CopyKind::Unpack, static_cast<size_t>(from - begin));
  return from;
}

void copy(const Moves& moves, std::span<const FieldArrays> fields) {
  for (const auto& move : moves.moves)
    for (const auto& field : fields) {
      layout::copy_region(field.to[static_cast<size_t>(move.to)],
                          field.from[static_cast<size_t>(move.from)], move.region, move.shift,
                          field.components, field.element);
      base::count_copy(CopyKind::Local, bytes_of(move, field));
    }
}

RegionLayout regions_of(const Moves& moves) {
  RegionLayout out;
  for (const auto& move : moves.moves) out.regions.push_back({move.to, move.region});
  return out;
}

Moves moves_of(const RegionLayout& regions, int sender) {
  Moves moves{sender, {}, 0};
  for (const auto& [to, box] : regions.regions) {
    moves.moves.push_back({0, static_cast<int32_t>(to), box, {}});
    moves.cells += box.volume();
  }
  return moves;
}

bool brings_new(const MessageLayout& layout) {
  const auto is_new = [](const Keeping& k) { return k.version != 0 && k.left_out == 0; };
  return std::any_of(layout.blocks.begin(), layout.blocks.end(),
                     [&](const BlockLayout& block) {
                       return std::any_of(block.keeping.begin(), block.keeping.end(), is_new);
                     }) ||
         std::any_of(layout.regions.begin(), layout.regions.end(),
                     [&](const RegionLayout& list) { return is_new(list.keeping); });
}

FieldType type_of(const std::string& name, const model::Array& array) {
  return {name, array.type, array.components, array.centering, array.extents, array.has_extents};
}

BlockLayout layout_of(const std::string& mesh, const model::Block& block) {
  BlockLayout out{.mesh = mesh,
                  .id = block.id,
                  .box = block.box,
                  .owned = block.owned,
                  .level = block.level,
                  .topology_version = block.topology_version,
                  .geometry_version = block.geometry_version};
  for (const auto& [name, array] : block.arrays) out.fields.push_back(type_of(name, array));
  return out;
}

model::Block block_of(const BlockLayout& layout) {
  model::Block block{.id = layout.id,
                     .box = layout.box,
                     .owned = layout.owned,
                     .arrays = {},
                     .level = layout.level,
                     .topology_version = layout.topology_version,
                     .geometry_version = layout.geometry_version};
  for (const auto& field : layout.fields) {
    auto& array = block.arrays[field.name] = {.type = field.type,
                                              .components = field.components,
                                              .centering = field.centering,
                                              .extents = field.extents,
                                              .has_extents = field.has_extents};
    array.strides = model::packed_strides(model::box_of(array, layout.box), field.components);
  }
  return block;
}

}  // namespace pillion::redistribution
