// SPDX-License-Identifier: BSD-3-Clause
// Planning and packing of particles. A message holds the numbers of owned and copied particles and
// then, field by field, the values of the owned ones followed by the copies.
#include "layout/particles.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "layout/cell.hpp"
#include "layout/owner.hpp"

namespace pillion::layout {

using base::Bytes;
using model::Array;
using model::Block;
using model::MeshBlocks;

std::vector<std::string> Request::needed() const {
  std::vector<std::string> names = fields;
  for (const auto* extra : {&key, &position, &select})
    if (!extra->empty() && std::find(names.begin(), names.end(), *extra) == names.end())
      names.push_back(*extra);
  return names;
}

namespace {

/// A particle to be sent, displaced by whole edges of the domain.
struct Item {
  int32_t block;
  std::array<int8_t, 3> edges;
  int64_t index;
};

/// What one rank is sent.
struct Parcel {
  std::vector<Item> owned;
  std::vector<Item> copies;
};

int64_t integer_at(const Array& array, int64_t index) {
  const int64_t at = index * array.strides[0];
  return array.type == model::ElementType::Int32 ? static_cast<const int32_t*>(array.data)[at]
                                                 : static_cast<const int64_t*>(array.data)[at];
}

Vector vector_at(const Array& array, int64_t index) {
  Vector v{};
  for (int c = 0; c < 3; ++c) {
    const int64_t at = index * array.strides[0] + c * array.strides[3];
    v[c] = array.type == model::ElementType::Float32 ? static_cast<const float*>(array.data)[at]
                                                     : static_cast<const double*>(array.data)[at];
  }
  return v;
}

/// Calls visit(block number, index) for every particle that the request selects.
template <class Visit>
void for_each_selected(const MeshBlocks& mine, const Request& request, Visit&& visit) {
  for (size_t b = 0; b < mine.blocks.size(); ++b) {
    const Block& block = mine.blocks[b];
    const Array* select = request.select.empty() ? nullptr : &block.arrays.at(request.select);
    for (int64_t i = 0; i < block.owned; ++i) {
      if (select != nullptr && std::find(request.select_values.begin(), request.select_values.end(),
                                         integer_at(*select, i)) == request.select_values.end())
        continue;
      visit(static_cast<int32_t>(b), i);
    }
  }
}

/// Appends the values of one field for a list of items.
void put_values(const MeshBlocks& mine, const std::string& field, const std::vector<Item>& items,
                std::byte*& to) {
  int32_t at = -1;
  const Array* array = nullptr;
  size_t element = 0;
  bool packed = false;
  for (const Item& item : items) {
    if (item.block != at) {
      at = item.block;
      array = &mine.blocks[static_cast<size_t>(at)].arrays.at(field);
      element = model::size_of(array->type);
      packed = array->strides[3] == 1 || array->components == 1;
    }
    const auto* from = static_cast<const std::byte*>(array->data) +
                       item.index * array->strides[0] * static_cast<int64_t>(element);
    if (packed) {
      const size_t size = element * static_cast<size_t>(array->components);
      std::memcpy(to, from, size);
      to += size;
      continue;
    }
    for (int32_t c = 0; c < array->components; ++c, to += element)
      std::memcpy(to, from + c * array->strides[3] * static_cast<int64_t>(element), element);
  }
}

template <class T>
void displace(std::byte* values, const std::vector<Item>& items, const Cell& cell) {
  for (size_t i = 0; i < items.size(); ++i) {
    const auto& e = items[i].edges;
    if (e[0] == 0 && e[1] == 0 && e[2] == 0) continue;
    const Vector shift = cell.shift({e[0], e[1], e[2]});
    for (int c = 0; c < 3; ++c) {
      T value;
      std::byte* at = values + (3 * i + static_cast<size_t>(c)) * sizeof(T);
      std::memcpy(&value, at, sizeof value);
      value = static_cast<T>(value + shift[c]);
      std::memcpy(at, &value, sizeof value);
    }
  }
}

/// Bytes per particle of one field; 0 if this rank has no block to tell from.
size_t bytes_per_particle(const MeshBlocks& mine, const std::string& field) {
  if (mine.blocks.empty()) return 0;
  const Array& array = mine.blocks.front().arrays.at(field);
  return model::size_of(array.type) * static_cast<size_t>(array.components);
}

Bytes pack_parcel(const MeshBlocks& mine, const Request& request, const Parcel& parcel,
                  const Cell* cell) {
  if (parcel.owned.empty() && parcel.copies.empty()) return {};
  size_t record = 0;
  for (const auto& field : request.needed()) record += bytes_per_particle(mine, field);
  const int64_t counts[2] = {static_cast<int64_t>(parcel.owned.size()),
                             static_cast<int64_t>(parcel.copies.size())};
  Bytes bytes(sizeof counts + record * (parcel.owned.size() + parcel.copies.size()));
  std::memcpy(bytes.data(), counts, sizeof counts);
  std::byte* to = bytes.data() + sizeof counts;
  for (const auto& field : request.needed())
    for (const auto* items : {&parcel.owned, &parcel.copies}) {
      std::byte* begin = to;
      put_values(mine, field, *items, to);
      if (cell == nullptr || field != request.position) continue;
      const bool single = mine.blocks.front().arrays.at(field).type == model::ElementType::Float32;
      single ? displace<float>(begin, *items, *cell) : displace<double>(begin, *items, *cell);
    }
  return bytes;
}

std::vector<Bytes> pack_parcels(const MeshBlocks& mine, const Request& request,
                                const std::vector<Parcel>& parcels, const Cell* cell) {
  std::vector<Bytes> out;
  for (const auto& parcel : parcels) out.push_back(pack_parcel(mine, request, parcel, cell));
  return out;
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// Deals particles to the parts of a regular division.
class Dealer {
 public:
  Dealer(const Cell& cell, double halo, int ranks)
      : cell_(cell), parts_(division(ranks, cell.widths())), parcels_(static_cast<size_t>(ranks)) {
    for (int d = 0; d < 3; ++d) {
      reach_[d] = halo / cell.widths()[d];
      if (cell.periodic(d) && reach_[d] > 1)
        base::fail(ErrorCode::Stage,
                   "a halo of {} exceeds the periodic domain, which is {} wide along axis {}", halo,
                   cell.widths()[d], d);
    }
  }

  void deal(int32_t block, int64_t index, const Vector& position) {
    const Vector f = cell_.fractional(position);
    std::array<Span, 3> spans;
    for (int d = 0; d < 3; ++d) {
      if (!std::isfinite(f[d]))
        base::fail(ErrorCode::Stage, "particle {} of block {} has a position that is not finite",
                   index, block);
      spans[d] = span(d, f[d]);
    }
    for (int64_t z = spans[2].first; z <= spans[2].last; ++z)
      for (int64_t y = spans[1].first; y <= spans[1].last; ++y)
        for (int64_t x = spans[0].first; x <= spans[0].last; ++x)
          send(block, index, spans, {x, y, z});
  }
  std::vector<Parcel>& parcels() { return parcels_; }

 private:
  /// Parts along one direction, counted on through the periodic images.
  struct Span {
    int64_t first, last, home, wrap;
  };

  [[nodiscard]] Span span(int d, double f) const {
    constexpr double safety = 1e-9;  // a copy too many is harmless, one too few is not
    const int parts = parts_[d];
    const double wrap = cell_.periodic(d) ? std::floor(f) : 0.0;
    const double inside = f - wrap;
    const auto part = [&](double at) { return static_cast<int64_t>(std::floor(at * parts)); };
    Span s{part(inside - reach_[d] - safety), part(inside + reach_[d] + safety), part(inside),
           static_cast<int64_t>(wrap)};
    const auto clamp = [&](int64_t p) { return std::clamp<int64_t>(p, 0, parts - 1); };
    s.home = clamp(s.home);
    if (!cell_.periodic(d)) s.first = clamp(s.first), s.last = clamp(s.last);
    return s;
  }

  void send(int32_t block, int64_t index, const std::array<Span, 3>& spans, const Index& at) {
    int64_t rank = 0;
    bool home = true;
    Item item{block, {}, index};
    for (int d = 2; d >= 0; --d) {
      const int64_t image = floor_div(at[d], parts_[d]);
      rank = rank * parts_[d] + (at[d] - image * parts_[d]);
      const int64_t edges = -image - spans[d].wrap;
      if (edges < -127 || edges > 127)
        base::fail(ErrorCode::Stage, "particle {} of block {} lies {} periods outside the domain",
                   index, block, edges);
      item.edges[d] = static_cast<int8_t>(edges);
      home = home && at[d] == spans[d].home;
    }
    Parcel& parcel = parcels_[static_cast<size_t>(rank)];
    (home ? parcel.owned : parcel.copies).push_back(item);
  }

  const Cell& cell_;
  std::array<int, 3> parts_;
  Vector reach_{};
  std::vector<Parcel> parcels_;
};

/// The order that sorts keys, or nothing if they are sorted.
std::vector<int64_t> sorting_order(const Array& key, int64_t count) {
  std::vector<int64_t> keys(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) keys[i] = integer_at(key, i);
  if (std::is_sorted(keys.begin(), keys.end())) return {};
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
  return order;
}

void reorder(std::byte* values, size_t record, const std::vector<int64_t>& order) {
  const Bytes old(values, values + record * order.size());
  for (size_t i = 0; i < order.size(); ++i)
    std::memcpy(values + i * record, old.data() + static_cast<size_t>(order[i]) * record, record);
}

}  // namespace

std::vector<Bytes> pack_by_key(const MeshBlocks& mine, const Request& request, int ranks) {
  std::vector<Parcel> parcels(static_cast<size_t>(ranks));
  for_each_selected(mine, request, [&](int32_t block, int64_t index) {
    const auto& keys = mine.blocks[static_cast<size_t>(block)].arrays.at(request.key);
    const auto owner = static_cast<size_t>(owner_of(integer_at(keys, index), ranks));
    parcels[owner].owned.push_back({block, {}, index});
  });
  return pack_parcels(mine, request, parcels, nullptr);
}

std::vector<Bytes> pack_spatial(const MeshBlocks& mine, const Request& request,
                                const pillion_domain& domain, int ranks) {
  const Cell cell(domain);
  Dealer dealer(cell, request.halo, ranks);
  for_each_selected(mine, request, [&](int32_t block, int64_t index) {
    const auto& positions = mine.blocks[static_cast<size_t>(block)].arrays.at(request.position);
    dealer.deal(block, index, vector_at(positions, index));
  });
  return pack_parcels(mine, request, dealer.parcels(), &cell);
}

MeshBlocks unpack(const std::vector<Bytes>& received, const Request& request,
                  const model::Catalogue& catalogue) {
  struct Source {
    int64_t owned, copies;
    const std::byte* at;
  };
  std::vector<Source> sources;
  int64_t owned = 0, count = 0;
  for (const auto& bytes : received) {
    if (bytes.empty()) continue;
    Source source{0, 0, bytes.data() + 2 * sizeof(int64_t)};
    std::memcpy(&source.owned, bytes.data(), sizeof(int64_t));
    std::memcpy(&source.copies, bytes.data() + sizeof(int64_t), sizeof(int64_t));
    owned += source.owned;
    count += source.owned + source.copies;
    sources.push_back(source);
  }
  MeshBlocks out;
  Block block{.number = 0, .box = {{0, 0, 0}, {count, 1, 1}}, .owned = owned, .arrays = {}};
  for (const auto& name : request.needed()) {
    const auto& field = catalogue.field(name);
    const size_t record = model::size_of(field.type) * static_cast<size_t>(field.components);
    auto memory = std::make_shared<Bytes>(record * static_cast<size_t>(count) + 1);
    std::byte* own = memory->data();
    std::byte* copy = own + record * static_cast<size_t>(owned);
    for (auto& source : sources) {
      for (auto [to, n] : {std::pair(&own, source.owned), std::pair(&copy, source.copies)}) {
        const size_t size = record * static_cast<size_t>(n);
        std::memcpy(*to, source.at, size);
        *to += size;
        source.at += size;
      }
    }
    block.arrays[name] = {
        memory->data(), field.type, field.components, {field.components, 0, 0, 1}};
    out.keep.push_back(std::move(memory));
  }
  if (request.kind == Kind::ByKey) {
    const auto order = sorting_order(block.arrays.at(request.key), count);
    if (!order.empty())
      for (const auto& [name, array] : block.arrays)
        reorder(const_cast<std::byte*>(static_cast<const std::byte*>(array.data)),
                model::size_of(array.type) * static_cast<size_t>(array.components), order);
  }
  out.blocks.push_back(std::move(block));
  return out;
}

}  // namespace pillion::layout
