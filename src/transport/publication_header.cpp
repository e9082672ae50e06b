// SPDX-License-Identifier: BSD-3-Clause
// Encoding and decoding. A message is the length of the head, the head, and then the arrays at the
// offsets that the head gives.
#include "transport/publication_header.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/copy.hpp"

namespace pillion::transport {

using base::ByteReader;
using base::ByteWriter;

namespace {

/// The numbers of a head, which come first.
struct Numbers {
  static constexpr int32_t schema_changed = 1, scattered = 2;  // of `direct`
  int32_t kind, dropped, coarsening, direct;
  int64_t sequence, step;
  double time, published;
};

Numbers numbers_of(const PublicationHeader& head) {
  return {static_cast<int32_t>(head.kind),
          head.dropped ? 1 : 0,
          head.coarsening,
          (head.schema_changed ? Numbers::schema_changed : 0) |
              (head.scattered ? Numbers::scattered : 0),
          head.sequence,
          head.step,
          head.time,
          head.published};
}

/// A record behind its size, so that a reader can skip what it does not know of it.
template <class Record>
void put_record(ByteWriter& out, const Record& record) {
  out.put(static_cast<int64_t>(sizeof record));
  out.put(record);
}

/// What the writer did not know is 0.
template <class Record>
Record get_record(ByteReader& in) {
  const auto size = static_cast<size_t>(in.get<int64_t>());
  const std::byte* bytes = in.take(size);
  Record record{};
  std::memcpy(static_cast<void*>(&record), bytes, std::min(size, sizeof record));
  return record;
}

void put_announcement(ByteWriter& out, const PublicationHeader& head) {
  out.put(numbers_of(head));
  out.put(static_cast<int64_t>(head.due.size()));
  for (const auto& due : head.due) out.put(due);
  out.put(head.targets);
  out.put(head.path);
  out.put(static_cast<int64_t>(head.statement.size()));
  out.put_raw(head.statement.data(), head.statement.size());
  out.put(head.time_units);
  out.put(static_cast<int64_t>(head.domains.size()));
  for (const auto& [mesh, domain] : head.domains) {
    out.put(mesh);
    put_record(out, domain);
  }
  out.put(static_cast<int64_t>(head.units.size()));
  for (const auto& [name, units] : head.units) {
    out.put(name);
    out.put(units);
  }
}

PublicationHeader get_announcement(ByteReader& in) {
  PublicationHeader head;
  const auto numbers = in.get<Numbers>();
  head.kind = static_cast<MessageKind>(numbers.kind);
  head.dropped = numbers.dropped != 0;
  head.coarsening = numbers.coarsening;
  head.schema_changed = (numbers.direct & Numbers::schema_changed) != 0;
  head.scattered = (numbers.direct & Numbers::scattered) != 0;
  head.sequence = numbers.sequence;
  head.step = numbers.step;
  head.time = numbers.time;
  head.published = numbers.published;
  head.due = in.get_vector<Due>();
  head.targets = in.get_vector<int32_t>();
  head.path = in.get<std::string>();
  const auto said = static_cast<size_t>(in.get<int64_t>());
  const std::byte* statement = in.take(said);
  head.statement.assign(statement, statement + said);
  head.time_units = in.get<std::string>();
  for (auto n = in.get<int64_t>(); n > 0; --n) {
    const auto mesh = in.get<std::string>();
    head.domains[mesh] = get_record<pillion_domain>(in);
  }
  for (auto n = in.get<int64_t>(); n > 0; --n) {
    const auto name = in.get<std::string>();
    head.units[name] = in.get<std::string>();
  }
  return head;
}

ByteReader head_reader(const std::byte* message, size_t size) {
  ByteReader in(message, size);
  const auto length = static_cast<size_t>(in.get<int64_t>());
  return {in.take(length), length};
}

}  // namespace

namespace {

/// Where an array is: after the head, or in memory that is lent.
struct Place {
  int64_t is_lent = 0;
  Lent where;
};

/// What a message says of a mesh, of each of its blocks, and of each array. Members are only
/// appended.
struct MeshRecord {
  int32_t kind = 0;
  int32_t coarsening = 0;
  int32_t metric = PILLION_CARTESIAN;
  int32_t levels = 1;
};
struct BlockRecord {
  int64_t id = 0;
  model::Box box;
  int64_t owned = 0, total = 0;
  int64_t topology_version = 0, geometry_version = 0;
  int32_t level = 0, reserved = 0;
};
struct ArrayRecord {
  int32_t type = 0, components = 0;
  int32_t centering = 0, point_axes = 0;
  Place place;
};

std::optional<Lent> find_lent(const Lender* lender, const model::Array& array,
                              const model::Box& box) {
  if (lender == nullptr || array.strides != model::packed_strides(box, array.components)) return {};
  return lender->find(array.data);
}

}  // namespace

Encoder::Encoder(const PublicationHeader& head, const Meshes& meshes, const Lender* lender) {
  ByteWriter out;
  put_announcement(out, head);
  out.put(static_cast<int64_t>(meshes.size()));
  for (const auto& [name, mesh] : meshes) {
    out.put(name);
    put_record(out, MeshRecord{static_cast<int32_t>(mesh.kind), head.coarsening});
    out.put(static_cast<int64_t>(mesh.blocks.size()));
    for (const auto& block : mesh.blocks) {
      put_record(out, BlockRecord{block.id, block.box, block.owned, block.box.volume(),
                                  block.topology_version, block.geometry_version, block.level});
      out.put(static_cast<int64_t>(block.arrays.size()));
      for (const auto& [field, array] : block.arrays) {
        out.put(field);
        const auto bytes = model::size_of(array.type) * static_cast<size_t>(array.components) *
                           static_cast<size_t>(block.box.volume());
        bytes_[field] += static_cast<int64_t>(bytes);
        const size_t place = out.bytes().size() + sizeof(int64_t) + offsetof(ArrayRecord, place);
        parts_.push_back({&array, &block.box, bytes, place, false, 0});
        put_record(out, ArrayRecord{static_cast<int32_t>(array.type),
                                    array.components,
                                    static_cast<int32_t>(array.centering),
                                    0,
                                    {}});
      }
    }
  }
  head_ = out.take();
  lay_out(lender);
}

// Offsets of values are counted from the end of the head.
void Encoder::lay_out(const Lender* lender) {
  size_t offset = 0;
  lent_ = 0;
  for (auto& part : parts_) {
    const auto lent = find_lent(lender, *part.array, *part.box);
    part.is_lent = lent.has_value();
    part.offset = offset;
    const Place place{lent ? 1 : 0, lent.value_or(Lent{0, 0, offset})};
    std::memcpy(head_.data() + part.place, &place, sizeof place);
    if (lent) lent_ += static_cast<int64_t>(part.bytes);
    else offset = redistribution::aligned(offset + part.bytes);
  }
  size_ = redistribution::aligned(sizeof(int64_t) + head_.size()) + offset;
}

void Encoder::renew(const PublicationHeader& head, const Lender* lender) {
  const auto numbers = numbers_of(head);
  std::memcpy(head_.data(), &numbers, sizeof numbers);
  std::memcpy(head_.data() + sizeof numbers + sizeof(int64_t), head.due.data(),
              head.due.size() * sizeof(Due));
  lay_out(lender);
}

void Encoder::encode(std::byte* to, base::Copy how) const {
  const auto length = static_cast<int64_t>(head_.size());
  std::memcpy(to, &length, sizeof length);
  std::memcpy(to + sizeof length, head_.data(), head_.size());
  std::byte* values = to + redistribution::aligned(sizeof length + head_.size());
  for (const auto& part : parts_)
    if (!part.is_lent) {
      model::pack(*part.array, *part.box, values + part.offset, how);
      base::count_copy(base::CopyKind::Pack, part.bytes);
    }
}

DueSet due_set_of(const PublicationHeader& head) {
  DueSet due{head.coarsening};
  for (const auto& d : head.due) due.push_back(d.analysis);
  return due;
}

bool SchemaCache::has(const DueSet& due, const base::Bytes& schema, int64_t sequence) const {
  const auto at = entries_.find(due);
  return at != entries_.end() && sequence - at->second.sequence <= schema_lifetime &&
         at->second.schema == schema;
}

void SchemaCache::keep(const DueSet& due, const base::Bytes& schema, int64_t sequence) {
  std::erase_if(entries_,
                [&](const auto& e) { return sequence - e.second.sequence > schema_lifetime; });
  auto& entry = entries_[due];
  entry.sequence = sequence;
  if (entry.schema != schema) entry.schema = schema;
}

base::Bytes head_of(const Delivery& delivery) {
  int64_t length = 0;
  std::memcpy(&length, delivery.data, sizeof length);
  return {delivery.data, delivery.data + sizeof length + static_cast<size_t>(length)};
}

PublicationHeader decode_head(const std::byte* message, size_t size) {
  ByteReader in = head_reader(message, size);
  return get_announcement(in);
}

Decoded decode(const std::byte* message, size_t size, std::shared_ptr<const void> keep,
               const Look& look) {
  ByteReader in = head_reader(message, size);
  int64_t length = 0;
  std::memcpy(&length, message, sizeof length);
  const std::byte* values =
      message + redistribution::aligned(sizeof length + static_cast<size_t>(length));
  Decoded out;
  out.head = get_announcement(in);
  for (auto n = in.get<int64_t>(); n > 0; --n) {
    auto& mesh = out.meshes[in.get<std::string>()];
    mesh.keep.push_back(keep);
    mesh.kind = static_cast<model::MeshKind>(get_record<MeshRecord>(in).kind);
    for (auto b = in.get<int64_t>(); b > 0; --b) {
      const auto said = get_record<BlockRecord>(in);
      model::Block block{.id = said.id,
                         .box = said.box,
                         .owned = said.owned,
                         .arrays = {},
                         .level = said.level,
                         .topology_version = said.topology_version,
                         .geometry_version = said.geometry_version};
      for (auto a = in.get<int64_t>(); a > 0; --a) {
        auto& array = block.arrays[in.get<std::string>()];
        const auto of = get_record<ArrayRecord>(in);
        array.type = static_cast<model::ElementType>(of.type);
        array.components = of.components;
        array.centering = static_cast<model::Centering>(of.centering);
        const auto& place = of.place;
        array.data = place.is_lent != 0 ? look(place.where) : values + place.where.offset;
        array.strides = model::packed_strides(block.box, array.components);
      }
      mesh.blocks.push_back(std::move(block));
    }
  }
  return out;
}

}  // namespace pillion::transport
