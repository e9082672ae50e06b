// SPDX-License-Identifier: BSD-3-Clause
// Encoding and decoding. A message is the length of the head, the head, and then the arrays at the
// offsets that the head gives.
#include "transport/announcement.hpp"

#include <cstring>

namespace pillion::transport {

using base::ByteReader;
using base::ByteWriter;

namespace {

constexpr size_t alignment = 64;

size_t align(size_t offset) { return (offset + alignment - 1) / alignment * alignment; }

void put_announcement(ByteWriter& out, const Announcement& head) {
  out.put(static_cast<int32_t>(head.kind));
  out.put(static_cast<int32_t>(head.dropped ? 1 : 0));
  out.put(head.coarsening);
  out.put(head.sequence);
  out.put(head.step);
  out.put(head.time);
  out.put(head.published);
  out.put(head.path);
  out.put(static_cast<int64_t>(head.statement.size()));
  out.put_raw(head.statement.data(), head.statement.size());
  out.put(head.time_units);
  out.put(head.due);
  out.put(static_cast<int64_t>(head.domains.size()));
  for (const auto& [mesh, domain] : head.domains) {
    out.put(mesh);
    out.put(domain);
  }
  out.put(static_cast<int64_t>(head.units.size()));
  for (const auto& [name, units] : head.units) {
    out.put(name);
    out.put(units);
  }
}

Announcement get_announcement(ByteReader& in) {
  Announcement head;
  head.kind = static_cast<Kind>(in.get<int32_t>());
  head.dropped = in.get<int32_t>() != 0;
  head.coarsening = in.get<int32_t>();
  head.sequence = in.get<int64_t>();
  head.step = in.get<int64_t>();
  head.time = in.get<double>();
  head.published = in.get<double>();
  head.path = in.get<std::string>();
  const auto said = static_cast<size_t>(in.get<int64_t>());
  const std::byte* statement = in.take(said);
  head.statement.assign(statement, statement + said);
  head.time_units = in.get<std::string>();
  head.due = in.get_vector<Due>();
  for (auto n = in.get<int64_t>(); n > 0; --n) {
    const auto mesh = in.get<std::string>();
    head.domains[mesh] = in.get<pillion_domain>();
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

std::optional<Lent> find_lent(const Lender* lender, const model::Array& array,
                              const model::Box& box) {
  if (lender == nullptr || array.strides != model::packed_strides(box, array.components)) return {};
  return lender->find(array.data);
}

}  // namespace

// The offsets stand in the head and depend on its length, so they are counted from its end.
Encoder::Encoder(const Announcement& head, const Meshes& meshes, const Lender* lender) {
  ByteWriter out;
  put_announcement(out, head);
  size_t offset = 0;
  out.put(static_cast<int64_t>(meshes.size()));
  for (const auto& [name, mesh] : meshes) {
    out.put(name);
    out.put(static_cast<int64_t>(mesh.blocks.size()));
    for (const auto& block : mesh.blocks) {
      out.put(block.number);
      out.put(block.box);
      out.put(block.owned);
      out.put(static_cast<int64_t>(block.arrays.size()));
      for (const auto& [field, array] : block.arrays) {
        out.put(field);
        out.put(static_cast<int32_t>(array.type));
        out.put(array.components);
        const auto bytes = model::size_of(array.type) * static_cast<size_t>(array.components) *
                           static_cast<size_t>(block.box.volume());
        bytes_[field] += static_cast<int64_t>(bytes);
        const auto lent = find_lent(lender, array, block.box);
        out.put(static_cast<int32_t>(lent ? 1 : 0));
        out.put(lent.value_or(Lent{0, 0, offset}));
        if (lent) continue;
        parts_.push_back({&array, &block.box, offset});
        offset = align(offset + bytes);
      }
    }
  }
  head_ = out.take();
  size_ = align(sizeof(int64_t) + head_.size()) + offset;
}

void Encoder::encode(std::byte* to) const {
  const auto length = static_cast<int64_t>(head_.size());
  std::memcpy(to, &length, sizeof length);
  std::memcpy(to + sizeof length, head_.data(), head_.size());
  std::byte* values = to + align(sizeof length + head_.size());
  for (const auto& part : parts_) model::pack(*part.array, *part.box, values + part.offset);
}

base::Bytes head_of(const Delivery& delivery) {
  int64_t length = 0;
  std::memcpy(&length, delivery.data, sizeof length);
  return {delivery.data, delivery.data + sizeof length + static_cast<size_t>(length)};
}

Announcement decode_head(const std::byte* message, size_t size) {
  ByteReader in = head_reader(message, size);
  return get_announcement(in);
}

Decoded decode(const std::byte* message, size_t size, std::shared_ptr<const void> keep,
               const Look& look) {
  ByteReader in = head_reader(message, size);
  int64_t length = 0;
  std::memcpy(&length, message, sizeof length);
  const std::byte* values = message + align(sizeof length + static_cast<size_t>(length));
  Decoded out;
  out.head = get_announcement(in);
  for (auto n = in.get<int64_t>(); n > 0; --n) {
    auto& mesh = out.meshes[in.get<std::string>()];
    mesh.keep.push_back(keep);
    for (auto b = in.get<int64_t>(); b > 0; --b) {
      model::Block block;
      block.number = in.get<int32_t>();
      block.box = in.get<model::Box>();
      block.owned = in.get<int64_t>();
      for (auto a = in.get<int64_t>(); a > 0; --a) {
        auto& array = block.arrays[in.get<std::string>()];
        array.type = static_cast<model::ElementType>(in.get<int32_t>());
        array.components = in.get<int32_t>();
        const bool is_lent = in.get<int32_t>() != 0;
        const auto where = in.get<Lent>();
        array.data = is_lent ? look(where) : values + where.offset;
        array.strides = model::packed_strides(block.box, array.components);
      }
      mesh.blocks.push_back(std::move(block));
    }
  }
  return out;
}

}  // namespace pillion::transport
