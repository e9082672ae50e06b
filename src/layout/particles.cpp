// SPDX-License-Identifier: BSD-3-Clause
// Keys that differ, as a rule, and leave few numbers out: a key's place is how many are lower.
// Other keys: counting sort by one digit after the other, the lowest first (H. Hollerith's way with
// cards). A card is one number: the key, less the lowest of all, above the list and the index in
// the list.
// Unpacking goes field by field through all messages. Particles by key are put in order by their
// keys first, so that every value is copied once, to its place.
#include "layout/particles.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

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
      range.sorted = static_cast<int>(range.sorted) & static_cast<int>(range.highest <= key);
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
void KeyOrder::sort(int key_bits) {
  constexpr int most_bits = 11;
  const int digits = (key_bits + most_bits - 1) / most_bits;
  Card *from = in_room<Card>(cards_), *to = in_room<Card>(aside_);
  for (int d = 0; d < digits; ++d) {
    const int begin = key_bits * d / digits, end = key_bits * (d + 1) / digits;
    sort_by_digit(from, count_, list_bits_ + index_bits_ + begin, end - begin, to);
    std::swap(from, to);
  }
  order_ = from;
}

/// If keys differ and are close to each other: the place of a card is how many lower keys there
/// are, which a bit for each key tells. Whether that is so.
template <class T>
bool KeyOrder::place_by_bits(const std::vector<Keys>& lists, T lowest, uint64_t width) {
  struct Word {
    uint64_t keys = 0;   ///< which of 64 there are
    uint64_t lower = 0;  ///< how many there are in all words before
  };
  if (width / 64 >= count_) return false;
  const auto size = static_cast<size_t>(width / 64) + 1;
  auto* const words = reinterpret_cast<Word*>(cards_.of(size * sizeof(Word)));
  std::fill_n(words, size, Word{});
  const auto each = [&](auto&& use) {
    for (size_t l = 0; l < lists.size(); ++l)
      for (size_t i = 0; i < lists[l].count; ++i)
        use(static_cast<uint64_t>(read<T>(lists[l].data, i)) - static_cast<uint64_t>(lowest), l, i);
  };
  each([&](uint64_t key, size_t, size_t) { words[key / 64].keys |= uint64_t{1} << key % 64; });
  uint64_t keys = 0;
  for (size_t w = 0; w < size; ++w) {
    words[w].lower = keys;
    keys += static_cast<uint64_t>(std::popcount(words[w].keys));
  }
  if (keys != count_) return false;
  auto* const to = in_room<uint64_t>(aside_);
  each([&](uint64_t key, size_t l, size_t i) {
    const Word& word = words[key / 64];
    const uint64_t lower = word.keys & ((uint64_t{1} << key % 64) - 1);
    to[word.lower + static_cast<uint64_t>(std::popcount(lower))] =
        ((key << list_bits_) | l) << index_bits_ | i;
  });
  order_ = to;
  return true;
}

template <class T>
void KeyOrder::find_by(const std::vector<Keys>& lists) {
  size_t longest = 0;
  count_ = 0;
  for (const auto& list : lists) {
    count_ += list.count;
    longest = std::max(longest, list.count);
  }
  const auto range = range_of<T>(lists);
  is_given_ = range.sorted;
  if (is_given_) return;
  const T lowest = range.lowest;
  lowest_ = static_cast<uint64_t>(lowest);
  const int key_bits = std::bit_width(range.width());
  list_bits_ = std::bit_width(lists.size());
  index_bits_ = std::bit_width(longest);
  is_wide_ = key_bits + list_bits_ + index_bits_ > 64;
  if (!is_wide_ && place_by_bits<T>(lists, lowest, range.width())) return;
  const auto write_and_sort = [&]<class Card>(Card) {
    write_cards(lists, lowest, list_bits_, index_bits_, in_room<Card>(cards_));
    sort<Card>(key_bits);
  };
  is_wide_ ? write_and_sort(Wide{}) : write_and_sort(uint64_t{});
}

void KeyOrder::find(const std::vector<Keys>& lists, bool is_int32) {
  is_int32_ = is_int32;
  is_int32 ? find_by<int32_t>(lists) : find_by<int64_t>(lists);
}

template <class Card>
void KeyOrder::locate_by(size_t first, size_t count, const std::vector<const std::byte*>& lists,
                         size_t record, const std::byte** records, std::byte* keys) const {
  const uint64_t indices = (uint64_t{1} << index_bits_) - 1;
  const uint64_t numbers = (uint64_t{1} << list_bits_) - 1;
  const Card* card = static_cast<const Card*>(order_) + first;
  for (size_t i = 0; i < count; ++i) {
    const auto place = static_cast<uint64_t>(card[i]);
    records[i] = lists[(place >> index_bits_) & numbers] + (place & indices) * record;
  }
  const auto write_keys = [&]<class T>(T) {
    for (size_t i = 0; i < count; ++i) {
      const auto above = static_cast<uint64_t>(card[i] >> (index_bits_ + list_bits_));
      const T key = static_cast<T>(lowest_ + above);
      std::memcpy(keys + i * sizeof key, &key, sizeof key);
    }
  };
  is_int32_ ? write_keys(int32_t{}) : write_keys(int64_t{});
}

void KeyOrder::locate(size_t first, size_t count, const std::vector<const std::byte*>& lists,
                      size_t record, const std::byte** records, std::byte* keys) const {
  is_wide_ ? locate_by<Wide>(first, count, lists, record, records, keys)
           : locate_by<uint64_t>(first, count, lists, record, records, keys);
}

using model::MeshBlocks;

namespace {

using Messages = std::vector<std::span<const std::byte>>;

/// A field of what is unpacked.
struct Column {
  const model::Field* field = nullptr;
  int32_t values = 0;  ///< of one particle
  size_t size = 0;     ///< bytes of them
  size_t offset = 0;   ///< in a record
  std::byte* to = nullptr;
};

/// Fields that are packed together.
struct Group {
  std::vector<Column> columns;
  size_t record = 0;  ///< bytes of one particle
};

std::vector<Group> groups_of(const Request& request, const model::Catalogue& catalogue) {
  std::vector<Group> groups;
  for (const auto& names : field_groups(request)) {
    Group& group = groups.emplace_back();
    for (const auto& name : names) {
      const auto& field = catalogue.field(name);
      const int32_t values = model::values_of(catalogue.mesh(field.mesh), field);
      const size_t size = model::size_of(field.type) * static_cast<size_t>(values);
      group.columns.push_back({&field, values, size, group.record});
      group.record += size;
    }
  }
  return groups;
}

/// A message being read group by group.
struct RecordSource {
  size_t owned, copies;
  const std::byte* at;
  [[nodiscard]] size_t count() const { return owned + copies; }
};

std::vector<RecordSource> sources_of(const Messages& received, const std::vector<Group>& groups) {
  size_t record = 0;
  for (const auto& group : groups) record += group.record;
  std::vector<RecordSource> sources;
  for (const auto& message : received) {
    if (message.empty()) continue;
    base::ByteReader in(message.data(), message.size());
    const auto owned = in.get<int64_t>(), copies = in.get<int64_t>();
    const auto most = static_cast<int64_t>(message.size());
    if (owned < 0 || owned > most || copies < 0 || copies > most ||
        message.size() != 2 * sizeof(int64_t) + record * static_cast<size_t>(owned + copies))
      base::fail(ErrorCode::Internal,
                 "the header of a message of {} bytes announces {} particles of {} bytes each",
                 message.size(), owned + copies, record);
    sources.push_back({static_cast<size_t>(owned), static_cast<size_t>(copies), in.take(0)});
  }
  return sources;
}

/// Takes the records of a group that follow each other to places from `first` on.
void take_run(const Group& group, const std::byte* from, size_t count, size_t first) {
  const size_t step = group.columns.size() == 1 ? count : particle_tile;
  for (size_t done = 0; done < count; done += step)
    for (const auto& column : group.columns)
      with_size(column.size, [&](auto size) {
        const size_t now = std::min(count - done, step);
        std::byte* const to = column.to + (first + done) * size;
        const std::byte* const at = from + done * group.record + column.offset;
        if (size == group.record) std::memcpy(to, at, now * size);
        else
          for (size_t i = 0; i < now; ++i) std::memcpy(to + i * size, at + i * group.record, size);
      });
}

/// Owned particles of all sources, then their copies.
void join(const Group& group, std::vector<RecordSource>& sources, size_t owned) {
  size_t first = 0, first_copy = owned;
  for (auto& source : sources) {
    take_run(group, source.at, source.owned, first);
    take_run(group, source.at + source.owned * group.record, source.copies, first_copy);
    first += source.owned;
    first_copy += source.copies;
    source.at += source.count() * group.record;
  }
}

/// The records of a group in the order of keys, and the keys. While those of a tile are copied,
/// those of the next one are fetched: nothing else could know which they are.
void put_in_order(const Group& keys, const Group& group, const std::vector<RecordSource>& sources,
                  size_t count, const KeyOrder& order) {
  std::vector<const std::byte*> lists;
  for (const auto& source : sources) lists.push_back(source.at + keys.record * source.count());
  constexpr size_t tile_size = 64;
  std::array<std::array<const std::byte*, tile_size>, 2> records;
  const auto locate = [&](size_t first, auto& tile) {
    const size_t now = std::min(count - std::min(first, count), tile_size);
    order.locate(first, now, lists, group.record, tile.data(),
                 keys.columns[0].to + first * keys.record);
    std::fill(tile.begin() + static_cast<std::ptrdiff_t>(now), tile.end(), lists[0]);
  };
  locate(0, records[0]);
  for (size_t first = 0, turn = 0; first < count; first += tile_size, turn = 1 - turn) {
    const auto &tile = records[turn], &next = records[1 - turn];
    locate(first + tile_size, records[1 - turn]);
    const size_t now = std::min(count - first, tile_size);
    for (const auto& column : group.columns)
      with_size(column.size, [&](auto size) {
        std::byte* const to = column.to + first * size;
        const std::byte* const end = to + now * size;
        size_t i = 0;
        if (column.offset == 0)
          for (std::byte* at = to; at != end; at += size, ++i) {
            __builtin_prefetch(next[i]);
            __builtin_prefetch(next[i] + group.record - 1);
            std::memcpy(at, tile[i], size);
          }
        else
          for (std::byte* at = to; at != end; at += size, ++i)
            std::memcpy(at, tile[i] + column.offset, size);
      });
  }
}

}  // namespace

MeshBlocks unpack(const Messages& received, const Request& request,
                  const model::Catalogue& catalogue, UnpackingRoom& room) {
  auto groups = groups_of(request, catalogue);
  auto sources = sources_of(received, groups);
  size_t owned = 0, count = 0;
  for (const auto& source : sources) {
    owned += source.owned;
    count += source.count();
  }
  const auto particles = static_cast<int64_t>(count);
  model::Block block{.id = 0,
                     .box = {{0, 0, 0}, {particles, 1, 1}},
                     .owned = static_cast<int64_t>(owned),
                     .arrays = {}};
  room.fields.resize(request.needed().size());
  auto memory = room.fields.begin();
  for (auto& group : groups)
    for (auto& column : group.columns) {
      column.to = memory++->of(column.size * count);
      base::count_copy(base::CopyKind::Unpack, column.size * count);
      block.arrays[column.field->name] = {
          column.to, column.field->type, column.values, {column.values, 0, 0, 1}};
    }
  bool is_in_order = true;
  if (request.kind == Kind::ByKey) {
    std::vector<KeyOrder::Keys> keys;
    for (const auto& source : sources) keys.push_back({source.at, source.count()});
    room.order.find(keys, groups[0].columns[0].field->type == model::ElementType::Int32);
    is_in_order = room.order.is_given();
  }
  if (is_in_order)
    for (const auto& group : groups) join(group, sources, owned);
  else put_in_order(groups[0], groups[1], sources, count, room.order);
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
