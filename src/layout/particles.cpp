// SPDX-License-Identifier: BSD-3-Clause
// Unpacking goes field by field through all messages. Particles by key are put in order by their
// keys first, so that every value is copied once, to its place.
#include "layout/particles.hpp"

#include <cstring>

#include "layout/key_order.hpp"

namespace pillion::layout {

using model::MeshBlocks;

namespace {

using Messages = std::vector<std::span<const std::byte>>;

/// A message being read field by field.
struct Source {
  int64_t owned, copies;
  const std::byte* at;
  [[nodiscard]] size_t count() const { return static_cast<size_t>(owned + copies); }
};

/// A field of what is unpacked.
struct Column {
  const model::Field* field;
  int32_t values;  ///< of one particle
  size_t record;   ///< bytes of them
};

std::vector<Column> columns_of(const Request& request, const model::Catalogue& catalogue) {
  std::vector<Column> columns;
  for (const auto& name : request.needed()) {
    const auto& field = catalogue.field(name);
    const int32_t values = model::values_of(catalogue.mesh(field.mesh), field);
    columns.push_back({&field, values, model::size_of(field.type) * static_cast<size_t>(values)});
  }
  return columns;
}

std::vector<Source> sources_of(const Messages& received, const std::vector<Column>& columns) {
  size_t record = 0;
  for (const auto& column : columns) record += column.record;
  std::vector<Source> sources;
  for (const auto& message : received) {
    if (message.empty()) continue;
    base::ByteReader in(message.data(), message.size());
    Source source{in.get<int64_t>(), in.get<int64_t>(), nullptr};
    source.at = in.take(0);
    if (message.size() != 2 * sizeof(int64_t) + record * source.count())
      base::fail(ErrorCode::Internal,
                 "a message of {} bytes is said to hold {} particles of {} bytes each",
                 message.size(), source.count(), record);
    sources.push_back(source);
  }
  return sources;
}

/// Owned particles of all sources, then their copies.
void join(std::vector<Source>& sources, int64_t owned, size_t record, std::byte* to) {
  std::byte* copies = to + record * static_cast<size_t>(owned);
  const auto put = [&](std::byte*& at, Source& source, int64_t count) {
    const size_t size = record * static_cast<size_t>(count);
    std::memcpy(at, source.at, size);
    at += size;
    source.at += size;
  };
  for (auto& source : sources) {
    put(to, source, source.owned);
    put(copies, source, source.copies);
  }
}

/// Finds the order of all particles by key, from sources that have not been read from yet.
void find_order(const std::vector<Source>& sources, const std::vector<Column>& columns,
                const std::string& key, KeyOrder& order) {
  size_t before = 0;
  const Column* found = nullptr;
  for (const auto& column : columns) {
    if (column.field->name == key) {
      found = &column;
      break;
    }
    before += column.record;
  }
  std::vector<KeyOrder::Keys> keys;
  for (const auto& source : sources)
    keys.push_back({source.at + before * source.count(), source.count()});
  order.find(keys, found->field->type == model::ElementType::Int32);
}

void put_in_order(std::vector<Source>& sources, const KeyOrder& order, size_t record,
                  std::byte* to) {
  std::vector<const std::byte*> from;
  for (auto& source : sources) {
    from.push_back(source.at);
    source.at += record * source.count();
  }
  order.gather(from, record, to);
}

}  // namespace

MeshBlocks unpack(const Messages& received, const Request& request,
                  const model::Catalogue& catalogue, UnpackingRoom& room) {
  const auto columns = columns_of(request, catalogue);
  auto sources = sources_of(received, columns);
  int64_t owned = 0, count = 0;
  for (const auto& source : sources) {
    owned += source.owned;
    count += source.owned + source.copies;
  }
  const bool by_key = request.kind == Kind::ByKey;
  if (by_key) find_order(sources, columns, request.key, room.order);
  room.fields.resize(columns.size());
  model::Block block{.id = 0, .box = {{0, 0, 0}, {count, 1, 1}}, .owned = owned, .arrays = {}};
  for (size_t c = 0; c < columns.size(); ++c) {
    const auto& [field, values, record] = columns[c];
    std::byte* const to = room.fields[c].of(record * static_cast<size_t>(count));
    if (by_key && !room.order.is_given()) put_in_order(sources, room.order, record, to);
    else join(sources, owned, record, to);
    block.arrays[field->name] = {to, field->type, values, {values, 0, 0, 1}};
  }
  MeshBlocks out;
  out.blocks.push_back(std::move(block));
  return out;
}

MeshBlocks unpack(const Messages& received, const Request& request,
                  const model::Catalogue& catalogue) {
  const auto room = std::make_shared<UnpackingRoom>();
  MeshBlocks out = unpack(received, request, catalogue, *room);
  room->order = {};
  out.keep.push_back(room);
  return out;
}

}  // namespace pillion::layout
