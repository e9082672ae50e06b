// SPDX-License-Identifier: BSD-3-Clause
// A field to be moved by a plan: values of any size, which follow from the cell that they belong
// to, in boxes that lie in memory in any order on both sides.
#pragma once

#include <optional>

#include "../layout/random_boxes.hpp"
#include "redistribution/exchange.hpp"

namespace some_field {

using namespace pillion;
using model::Box;
using random_boxes::Cell;
using random_boxes::Random;
using redistribution::FieldArrays;
using redistribution::Redistribution;

/// Bits of which no two cells, fields, components or rounds have the same.
inline uint64_t bits_of(const Cell& cell, int field, int32_t component, int round) {
  uint64_t bits = 0;
  for (const int64_t value :
       {cell[0], cell[1], cell[2], int64_t{field}, int64_t{component}, int64_t{round}}) {
    bits = (bits ^ static_cast<uint64_t>(value + 1000)) * 0x9e3779b97f4a7c15u;
    bits ^= bits >> 29;
  }
  return bits * 0xbf58476d1ce4e5b9u;
}

/// A box and its memory.
struct Piece {
  static constexpr std::byte untouched{0x55};

  Piece(const Box& b, int32_t components, size_t element, Random& random) : box(b) {
    int64_t elements = 0;
    if (box.volume() > 0) strides = random_boxes::some_strides(box, components, random, elements);
    memory.assign(static_cast<size_t>(elements) * element, untouched);
  }
  /// Puts the upper bytes of a value in its place.
  void put(const Cell& cell, int32_t component, uint64_t bits, size_t element) {
    int64_t at = component * strides[3];
    for (size_t d = 0; d < 3; ++d) at += (cell[d] - box.lo[d]) * strides[d];
    bits >>= 8 * (8 - element);
    std::memcpy(memory.data() + static_cast<size_t>(at) * element, &bits, element);
  }

  Box box;
  std::array<int64_t, 4> strides{};
  std::vector<std::byte> memory;
};

class Field {
 public:
  /// `own` may be another on each rank.
  Field(const Redistribution& plan, int number, size_t element, int32_t components, Random& own)
      : number_(number) {
    arrays.element = element;
    arrays.components = components;
    for (const auto& box : plan.here()) from_.emplace_back(box, components, element, own);
    for (const auto& box : plan.boxes()) to_.emplace_back(box, components, element, own);
    for (auto& piece : from_)
      arrays.from.push_back({piece.memory.data(), piece.box.lo, piece.strides});
    for (auto& piece : to_) arrays.to.push_back({piece.memory.data(), piece.box.lo, piece.strides});
  }

  /// Values of a round here, and nothing there.
  void fill(int round) {
    for (auto& piece : from_) put_all(piece, round, [](const Cell& cell) { return cell; });
    for (auto& piece : to_) std::fill(piece.memory.begin(), piece.memory.end(), Piece::untouched);
  }

  /// Whether all is there that must be, and nothing else has been touched. `origin` says which
  /// cell's values a cell gets, or nothing if it gets none.
  template <class Origin>
  [[nodiscard]] bool has_arrived(int round, Origin&& origin) const {
    return std::all_of(to_.begin(), to_.end(), [&](const Piece& piece) {
      Piece expected = piece;
      std::fill(expected.memory.begin(), expected.memory.end(), Piece::untouched);
      put_all(expected, round, origin);
      return expected.memory == piece.memory;
    });
  }

  /// Makes what has arrived what another field sends.
  void pass_on(Field& next) const {
    next.number_ = number_;
    next.arrays.from.clear();
    for (const auto& piece : to_)
      next.arrays.from.push_back({piece.memory.data(), piece.box.lo, piece.strides});
  }

  FieldArrays arrays;

 private:
  template <class Origin>
  void put_all(Piece& piece, int round, Origin&& origin) const {
    random_boxes::each_cell(piece.box, [&](const Cell& cell) {
      const std::optional<Cell> source = origin(cell);
      for (int32_t c = 0; source && c < arrays.components; ++c)
        piece.put(cell, c, bits_of(*source, number_, c, round), arrays.element);
    });
  }

  int number_;
  std::vector<Piece> from_, to_;
};

/// One to four fields of any types; all ranks draw alike from `random`.
inline std::vector<std::unique_ptr<Field>> some_fields(const Redistribution& plan, Random& random,
                                                       Random& own) {
  std::vector<std::unique_ptr<Field>> fields;
  const int64_t count = 1 + random_boxes::below(random, 4);
  for (int f = 0; f < count; ++f) {
    const size_t element = random_boxes::below(random, 2) == 0 ? sizeof(float) : sizeof(int64_t);
    const auto components = static_cast<int32_t>(random_boxes::below(random, 2) == 0 ? 1 : 3);
    fields.push_back(std::make_unique<Field>(plan, f, element, components, own));
  }
  return fields;
}

inline std::vector<FieldArrays> arrays_of(const std::vector<std::unique_ptr<Field>>& fields) {
  std::vector<FieldArrays> all;
  for (const auto& field : fields) all.push_back(field->arrays);
  return all;
}

}  // namespace some_field
