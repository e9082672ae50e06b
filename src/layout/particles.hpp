// SPDX-License-Identifier: BSD-3-Clause
// Particles on the side that receives them: one block of what all ranks sent. Records are put in
// the order of their keys. Keys are mostly numbers up to how many there are, so they are sorted
// digit by digit, in as few digits as matter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/scratch_buffer.hpp"
#include "layout/particle_moves.hpp"

namespace pillion::layout {

class KeyOrder {
 public:
  struct Keys {
    const std::byte* data;  ///< int32 or int64, not aligned
    size_t count;
  };

  /// Finds the order, in the memory of the one before. Equal keys stay as they are given.
  void find(const std::vector<Keys>& lists, bool is_int32);

  /// Whether the order is that in which the keys were given.
  [[nodiscard]] bool is_given() const { return places_ == nullptr; }
  /// Copies the records of all lists to `to`, unless the order is the given one.
  void gather(const std::vector<const std::byte*>& lists, size_t record, std::byte* to) const;

 private:
  template <class T>
  void find_by(const std::vector<Keys>& lists);
  template <class Card>
  Card* in_room(base::ScratchBuffer& room) const;
  template <class Card>
  const Card* sorted(int key_bits);
  template <class Size>
  void gather_records(const std::vector<const std::byte*>& lists, Size size, std::byte* to) const;

  size_t count_ = 0;
  int list_bits_ = 0, index_bits_ = 0;
  const uint64_t* places_ = nullptr;  ///< by order; from the lowest bit: index, list, others
  base::ScratchBuffer cards_, aside_, places_room_;
};

/// One block made of what all ranks sent: owned particles first, then copies. ByKey: sorted by key.
model::MeshBlocks unpack(const std::vector<std::span<const std::byte>>& received,
                         const Request& request, const model::Catalogue& catalogue);

/// Memory for what is unpacked time after time.
struct UnpackingRoom {
  std::vector<base::ScratchBuffer> fields;
  KeyOrder order;
};

/// The same; the block stays in that room, and is good until the room is used again.
model::MeshBlocks unpack(const std::vector<std::span<const std::byte>>& received,
                         const Request& request, const model::Catalogue& catalogue,
                         UnpackingRoom& room);

}  // namespace pillion::layout
