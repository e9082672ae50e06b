// SPDX-License-Identifier: BSD-3-Clause
// Packing, unpacking, and message layouts as bytes.
#include "redistribution/message_layout.hpp"

#include "base/copy.hpp"

namespace pillion::redistribution {

using base::ByteReader;
using base::ByteWriter;
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

namespace {

void put_fields(ByteWriter& out, const std::vector<FieldType>& fields) {
  out.put(static_cast<int64_t>(fields.size()));
  for (const auto& field : fields) {
    out.put(field.name);
    out.put(static_cast<int32_t>(field.type));
    out.put(field.components);
  }
}

std::vector<FieldType> get_fields(ByteReader& in) {
  std::vector<FieldType> fields(static_cast<size_t>(in.get<int64_t>()));
  for (auto& field : fields) {
    field.name = in.get<std::string>();
    field.type = static_cast<model::ElementType>(in.get<int32_t>());
    field.components = in.get<int32_t>();
  }
  return fields;
}

}  // namespace

base::Bytes bytes_of(const MessageLayout& layout) {
  ByteWriter out;
  out.put(static_cast<int64_t>(layout.blocks.size()));
  for (const auto& block : layout.blocks) {
    out.put(block.mesh);
    out.put(block.id);
    out.put(block.box);
    out.put(block.owned);
    put_fields(out, block.fields);
  }
  out.put(static_cast<int64_t>(layout.regions.size()));
  for (const auto& list : layout.regions) {
    out.put(list.mesh);
    put_fields(out, list.fields);
    out.put(list.regions);
  }
  out.put(static_cast<int64_t>(layout.particles.size()));
  for (const auto& mesh : layout.particles) out.put(mesh);
  return out.take();
}

MessageLayout read_message_layout(const base::Bytes& bytes) {
  ByteReader in(bytes);
  MessageLayout layout;
  layout.blocks.resize(static_cast<size_t>(in.get<int64_t>()));
  for (auto& block : layout.blocks) {
    block.mesh = in.get<std::string>();
    block.id = in.get<int64_t>();
    block.box = in.get<model::Box>();
    block.owned = in.get<int64_t>();
    block.fields = get_fields(in);
  }
  layout.regions.resize(static_cast<size_t>(in.get<int64_t>()));
  for (auto& list : layout.regions) {
    list.mesh = in.get<std::string>();
    list.fields = get_fields(in);
    list.regions = in.get_vector<RegionLayout::Region>();
  }
  for (auto n = in.get<int64_t>(); n > 0; --n) layout.particles.push_back(in.get<std::string>());
  return layout;
}

}  // namespace pillion::redistribution
