// SPDX-License-Identifier: BSD-3-Clause
// Counting sort by one digit after the other, the lowest first (H. Hollerith's way with cards). A
// card is one number: the key, less the lowest of all, above the list and the index in the list.
// Unpacking goes field by field through all messages. Particles by key are put in order by their
// keys first, so that every value is copied once, to its place.
#include "layout/particles.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/copy.hpp"

namespace pillion::layout {

namespace {

__extension__ using Wide = unsigned __int128;

template <class T>
T read(const std::byte* from, size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof value, sizeof value);
  return value;
}

template <class T>
struct KeyRange {
  T lowest = std::numeric_limits<T>::max(), highest = std::numeric_limits<T>::min();
  bool sorted = true;
  [[nodiscard]] uint64_t width() const {
    return static_cast<uint64_t>(highest) - static_cast<uint64_t>(lowest);
  }
};

template <class T>
KeyRange<T> range_of(const std::vector<KeyOrder::Keys>& lists) {
  KeyRange<T> range;
  for (const auto& list : lists)
    for (size_t i = 0; i < list.count; ++i) {
      const T key = read<T>(list.data, i);
      range.sorted = range.sorted && range.highest <= key;
      range.lowest = std::min(range.lowest, key);
      range.highest = std::max(range.highest, key);
    }
  return range;
}

template <class Card, class T>
void write_cards(const std::vector<KeyOrder::Keys>& lists, T lowest, int list_bits, int index_bits,
                 Card* card) {
  for (size_t l = 0; l < lists.size(); ++l)
    for (size_t i = 0; i < lists[l].count; ++i) {
      const uint64_t key =
          static_cast<uint64_t>(read<T>(lists[l].data, i)) - static_cast<uint64_t>(lowest);
      *card++ = ((Card{key} << list_bits) | l) << index_bits | i;
    }
}

template <class Card>
void sort_by_digit(const Card* from, size_t count, int shift, int bits, Card* to) {
  const auto digit = [&](Card card) {
    return static_cast<size_t>(card >> shift) & ((size_t{1} << bits) - 1);
  };
  std::vector<size_t> next(size_t{1} << bits);
  for (size_t i = 0; i < count; ++i) ++next[digit(from[i])];
  std::exclusive_scan(next.begin(), next.end(), next.begin(), size_t{0});
  for (size_t i = 0; i < count; ++i) to[next[digit(from[i])]++] = from[i];
}

}  // namespace

template <class Card>
Card* KeyOrder::in_room(base::ScratchBuffer& room) const {
  return reinterpret_cast<Card*>(room.of(count_ * sizeof(Card)));
}

template <class Card>
const Card* KeyOrder::sorted(int key_bits) {
  constexpr int most_bits = 11;
  const int digits = (key_bits + most_bits - 1) / most_bits;
  Card *from = in_room<Card>(cards_), *to = in_room<Card>(aside_);
  for (int d = 0; d < digits; ++d) {
    const int begin = key_bits * d / digits, end = key_bits * (d + 1) / digits;
    sort_by_digit(from, count_, list_bits_ + index_bits_ + begin, end - begin, to);
    std::swap(from, to);
  }
  return from;
}

template <class T>
void KeyOrder::find_by(const std::vector<Keys>& lists) {
  size_t longest = 0;
  count_ = 0;
  places_ = nullptr;
  for (const auto& list : lists) {
    count_ += list.count;
    longest = std::max(longest, list.count);
  }
  const auto range = range_of<T>(lists);
  if (range.sorted) return;
  const int key_bits = std::bit_width(range.width());
  list_bits_ = std::bit_width(lists.size());
  index_bits_ = std::bit_width(longest);
  if (key_bits + list_bits_ + index_bits_ <= 64) {
    write_cards(lists, range.lowest, list_bits_, index_bits_, in_room<uint64_t>(cards_));
    places_ = sorted<uint64_t>(key_bits);
    return;
  }
  write_cards(lists, range.lowest, list_bits_, index_bits_, in_room<Wide>(cards_));
  const auto* cards = sorted<Wide>(key_bits);
  auto* places = in_room<uint64_t>(places_room_);
  for (size_t i = 0; i < count_; ++i) places[i] = static_cast<uint64_t>(cards[i]);
  places_ = places;
}

void KeyOrder::find(const std::vector<Keys>& lists, bool is_int32) {
  is_int32 ? find_by<int32_t>(lists) : find_by<int64_t>(lists);
}

/// `size` is an integral constant or, for sizes out of the ordinary, a variable.
template <class Size>
void KeyOrder::gather_records(const std::vector<const std::byte*>& lists, Size size,
                              std::byte* to) const {
  const uint64_t indices = (uint64_t{1} << index_bits_) - 1;
  const uint64_t numbers = (uint64_t{1} << list_bits_) - 1;
  const auto record = [&](size_t i) {
    const uint64_t place = places_[i];
    return lists[(place >> index_bits_) & numbers] + (place & indices) * size;
  };
  constexpr size_t ahead = 24;  // nothing else could know what is read next
  for (size_t i = 0; i < count_; ++i, to += size) {
    __builtin_prefetch(record(std::min(i + ahead, count_ - 1)));
    std::memcpy(to, record(i), size);
  }
}

void KeyOrder::gather(const std::vector<const std::byte*>& lists, size_t record,
                      std::byte* to) const {
  if (is_given()) return;
  switch (record) {
    case 4: return gather_records(lists, std::integral_constant<size_t, 4>(), to);
    case 8: return gather_records(lists, std::integral_constant<size_t, 8>(), to);
    case 12: return gather_records(lists, std::integral_constant<size_t, 12>(), to);
    case 24: return gather_records(lists, std::integral_constant<size_t, 24>(), to);
    default: return gather_records(lists, record, to);
  }
}

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
                 "the header of a message of {} bytes announces {} particles of {} bytes each",
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
    base::count_copy(base::CopyKind::Unpack, record * static_cast<size_t>(count));
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
