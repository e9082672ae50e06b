// SPDX-License-Identifier: BSD-3-Clause
// Encoding and decoding. A message is the length of the head, the head, and then the arrays. The
// head is the header, the layout of the blocks, and for each array where it is.
#include "transport/publication_header.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/copy.hpp"
#include "base/copy_threads.hpp"
#include "redistribution/message_layout.hpp"

namespace pillion::transport {

using base::ByteReader;
using base::ByteWriter;

namespace {

ByteReader head_reader(const std::byte* message, size_t size) {
  ByteReader in(message, size);
  const auto length = static_cast<size_t>(in.get<int64_t>());
  return {in.take(length), length};
}

/// The head with its length, which head_reader() has checked.
size_t length_of_head(const std::byte* message) {
  int64_t length = 0;
  std::memcpy(&length, message, sizeof length);
  return sizeof length + static_cast<size_t>(length);
}

PublicationHeader read_header(ByteReader& in) {
  auto head = in.get<PublicationHeader>();
  if (head.kind < MessageKind::Publication || head.kind > MessageKind::Give || head.coarsening < 0)
    base::fail(ErrorCode::Internal, "a message is of kind {} and {} times coarser",
               static_cast<int>(head.kind), head.coarsening);
  return head;
}

/// Where an array is: after the head, in memory that is lent, or with the receiver since an earlier
/// message.
enum class PlaceKind : int64_t { Here = 0, Lent = 1, Kept = 2 };
struct Place {
  PlaceKind kind = PlaceKind::Here;
  Lent where;
  int64_t version = 0;
};

}  // namespace

Encoder::Encoder(const PublicationHeader& head, const Meshes& meshes, const Lender* lender,
                 const SentArrays* sent)
    : sent_(sent) {
  redistribution::MessageLayout layout;
  for (const auto& [name, mesh] : meshes) {
    layout.meshes[name] = mesh.kind;
    for (const auto& block : mesh.blocks) {
      layout.blocks.push_back(redistribution::layout_of(name, block));
      for (const auto& [field, array] : block.arrays) {
        const auto bytes = model::bytes_of(array, block.box);
        auto& of_field = bytes_[field];
        of_field.all += static_cast<int64_t>(bytes);
        const auto box = model::box_of(array, block.box);
        const bool is_packed =
            !array.is_apart() && array.strides == model::packed_strides(box, array.components);
        parts_.push_back({&array, &block, box, bytes, &field, &of_field, is_packed, true, 0});
      }
    }
  }
  ByteWriter out;
  out.put(head);
  out.put(layout);
  head_ = out.take();
  places_ = head_.size();
  head_.resize(places_ + parts_.size() * sizeof(Place));
  lay_out(lender);
}

void Encoder::take_from(const std::vector<const model::Array*>& arrays) {
  for (size_t p = 0; p < parts_.size(); ++p) parts_[p].array = arrays.at(p);
}

// Offsets of values are counted from the end of the head. Arrays are far from each other in memory.
void Encoder::lay_out(const Lender* lender) {
  size_t offset = 0;
  lent_ = 0;
  brings_new_ = false;
  for (auto& [field, bytes] : bytes_) bytes.lent = bytes.left_out = 0;
  std::byte* to = head_.data() + places_;
  for (size_t p = 0; p < parts_.size(); ++p) {
    constexpr size_t ahead = 8;
    if (p + ahead < parts_.size()) __builtin_prefetch(parts_[p + ahead].array);
    auto& part = parts_[p];
    const auto lent = lender != nullptr && part.is_packed ? lender->find(part.array->data)
                                                          : std::optional<Lent>();
    const int64_t version = part.array->version;
    const bool is_kept = version != 0 && sent_ != nullptr && !lent &&
                         sent_->has(*part.field, part.block->id, version);
    part.is_here = !lent && !is_kept;
    part.offset = offset;
    const auto kind = lent ? PlaceKind::Lent : is_kept ? PlaceKind::Kept : PlaceKind::Here;
    const Place place{kind, lent.value_or(Lent{0, 0, offset}), version};
    std::memcpy(to, &place, sizeof place);
    to += sizeof place;
    const auto bytes = static_cast<int64_t>(part.bytes);
    if (lent) {
      lent_ += bytes;
      part.of_field->lent += bytes;
    } else if (is_kept) {
      part.of_field->left_out += bytes;
    } else {
      offset = redistribution::aligned(offset + part.bytes);
      brings_new_ = brings_new_ || (version != 0 && sent_ != nullptr);
    }
  }
  size_ = redistribution::aligned(sizeof(int64_t) + head_.size()) + offset;
}

void Encoder::note_in(SentArrays& sent) const {
  if (!brings_new_) return;
  for (const auto& part : parts_)
    if (part.array->version != 0) sent.add(*part.field, part.block->id, part.array->version);
  sent.end_message();
}

void Encoder::renew(const PublicationHeader& head, const Lender* lender) {
  std::byte* to = head_.data();
  const auto put = [&](const auto& number) {
    std::memcpy(to, &number, sizeof number);
    to += sizeof number;
  };
  std::apply([&](auto... number) { (put(head.*number), ...); }, PublicationHeader::numbers());
  const auto put_all = [&](const auto& items) {
    put(static_cast<int64_t>(items.size()));
    const size_t bytes = items.size() * sizeof items[0];
    if (bytes > 0) std::memcpy(to, items.data(), bytes);
    to += bytes;
  };
  put_all(head.due);
  put_all(head.scalars);
  lay_out(lender);
}

namespace {

/// Packs an array by several threads: each takes a range along the last axis that has one.
void pack(const model::Array& array, const model::Box& box, size_t bytes, std::byte* to,
          base::Copy how, base::CopyThreads* threads) {
  const int axis = box.extent(2) > 1 ? 2 : box.extent(1) > 1 ? 1 : 0;
  const auto extent = static_cast<size_t>(box.extent(axis));
  // More parts than threads, for one that wakes up late.
  const size_t parts = threads == nullptr
                           ? 1
                           : std::min({extent, bytes / base::CopyThreads::smallest_part,
                                       size_t{4} * static_cast<size_t>(threads->count())});
  if (parts < 2 || threads->count() < 2) return model::pack(array, box, to, how);
  const auto a = static_cast<size_t>(axis);
  const auto element = static_cast<int64_t>(model::size_of(array.type));
  const int64_t packed = model::packed_strides(box, array.components)[a] * element;
  threads->run(parts, [&](size_t n) {
    const auto begin = static_cast<int64_t>(extent * n / parts);
    const auto end = static_cast<int64_t>(extent * (n + 1) / parts);
    model::Array part = array;
    part.data = static_cast<const std::byte*>(array.data) + begin * array.strides[a] * element;
    model::Box range = box;
    range.lo[a] = box.lo[a] + begin;
    range.hi[a] = box.lo[a] + end;
    model::pack(part, range, to + begin * packed, how);
  });
}

}  // namespace

void Encoder::encode(std::byte* to, base::Copy how, base::CopyThreads* threads) const {
  const auto length = static_cast<int64_t>(head_.size());
  std::memcpy(to, &length, sizeof length);
  constexpr size_t large = 4096;
  if (how == base::Copy::Streaming && head_.size() >= large)
    base::stream(to + sizeof length, head_.data(), head_.size());
  else std::memcpy(to + sizeof length, head_.data(), head_.size());
  std::byte* values = to + redistribution::aligned(sizeof length + head_.size());
  for (const auto& part : parts_)
    if (part.is_here) {
      pack(*part.array, part.box, part.bytes, values + part.offset, how, threads);
      base::count_copy(base::CopyKind::Pack, part.bytes);
    }
}

DueSet due_set_of(const PublicationHeader& head) {
  DueSet due;
  due.reserve(1 + head.due.size());
  due.push_back(head.coarsening);
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
  (void)head_reader(delivery.data, delivery.size);  // checks its length
  return {delivery.data, delivery.data + length_of_head(delivery.data)};
}

PublicationHeader decode_head(const std::byte* message, size_t size) {
  auto in = head_reader(message, size);
  return read_header(in);
}

namespace {

/// Bytes of a packed array.
size_t bytes_of(const redistribution::FieldType& field, const model::Box& of_block) {
  const model::Box box = field.has_extents ? model::Box{{0, 0, 0}, field.extents} : of_block;
  uint64_t bytes = model::size_of(field.type);
  bool fits = field.components > 0 && model::is_known(static_cast<pillion_type>(field.type));
  for (int axis = 0; axis < 3; ++axis) {
    int64_t extent = 0;
    fits = fits && !__builtin_sub_overflow(box.hi[axis], box.lo[axis], &extent) && extent >= 0 &&
           !__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes);
  }
  fits = fits && !__builtin_mul_overflow(bytes, static_cast<uint64_t>(field.components), &bytes) &&
         bytes <= uint64_t{1} << 62;
  if (!fits)
    base::fail(ErrorCode::Internal, "a message has a block of field '{}' of no possible size",
               field.name);
  return bytes;
}

/// Finds arrays of one message.
struct ArrayFinder {
  const std::byte* message;
  size_t size;
  size_t values;  ///< offset of the first array
  const Look& look;

  [[nodiscard]] const std::byte* at(const Place& place, size_t bytes) const {
    if (place.kind == PlaceKind::Lent && look) return look(place.where, bytes);
    const bool fits = place.kind == PlaceKind::Here && values <= size &&
                      place.where.offset <= size - values &&
                      bytes <= size - values - place.where.offset;
    if (!fits && bytes > 0)
      base::fail(ErrorCode::Internal, "a message of {} bytes has an array of {} bytes at {}", size,
                 bytes, place.where.offset);
    return fits ? message + values + place.where.offset : nullptr;
  }
};

}  // namespace

Decoded decode(const std::byte* message, size_t size, std::shared_ptr<const void> keep,
               const Look& look, const KeptArrays* kept) {
  ByteReader in = head_reader(message, size);
  const ArrayFinder arrays{message, size, redistribution::aligned(length_of_head(message)), look};
  Decoded out;
  out.head = read_header(in);
  const auto layout = in.get<redistribution::MessageLayout>();
  for (const auto& [name, kind] : layout.meshes) {
    auto& mesh = out.meshes[name];
    mesh.keep.push_back(keep);
    mesh.kind = kind;
  }
  for (const auto& sent : layout.blocks) {
    const auto mesh = out.meshes.find(sent.mesh);
    if (mesh == out.meshes.end())
      base::fail(ErrorCode::Internal, "a message has a block of mesh '{}', which it does not name",
                 sent.mesh);
    for (const auto& field : sent.fields) (void)bytes_of(field, sent.box);
    auto block = redistribution::block_of(sent);
    for (const auto& field : sent.fields) {
      const auto place = in.get<Place>();
      const size_t bytes = bytes_of(field, sent.box);
      auto& array = block.arrays.at(field.name);
      array.version = place.version;
      if (place.kind == PlaceKind::Kept && kept != nullptr) {
        mesh->second.keep.push_back(kept->find(field.name, sent.id, place.version, bytes));
        array.data = mesh->second.keep.back().get();
      } else {
        array.data = arrays.at(place, bytes);
      }
    }
    mesh->second.blocks.push_back(std::move(block));
  }
  return out;
}

void keep(const Decoded& decoded, KeptArrays& kept) {
  for (const auto& [name, mesh] : decoded.meshes)
    for (const auto& block : mesh.blocks)
      for (const auto& [field, array] : block.arrays)
        if (array.version != 0)
          kept.add(field, block.id, array.version, array.data, model::bytes_of(array, block.box));
  kept.end_message();
}

}  // namespace pillion::transport
