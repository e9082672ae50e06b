// SPDX-License-Identifier: BSD-3-Clause
// Particles on the side that receives them: one block of what all ranks sent. Records are put in
// the order of their keys. Keys are mostly different numbers up to how many there are, so lower
// keys are counted; other keys are sorted digit by digit, in as few digits as matter.
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
  [[nodiscard]] bool is_given() const { return is_given_; }
  /// Unless it is: writes some keys in their order, from place `first` on, to `keys`, and the
  /// addresses of their records. `lists`: where the records of each list begin.
  void locate(size_t first, size_t count, const std::vector<const std::byte*>& lists, size_t record,
              const std::byte** records, std::byte* keys) const;

 private:
  template <class T>
  void find_by(const std::vector<Keys>& lists);
  template <class T>
  bool place_by_bits(const std::vector<Keys>& lists, T lowest, uint64_t width);
  template <class Card>
  Card* in_room(base::ScratchBuffer& room) const;
  template <class Card>
  void sort(int key_bits);
  template <class Card>
  void locate_by(size_t first, size_t count, const std::vector<const std::byte*>& lists,
                 size_t record, const std::byte** records, std::byte* keys) const;

  size_t count_ = 0;
  int list_bits_ = 0, index_bits_ = 0;
  bool is_given_ = true, is_int32_ = false, is_wide_ = false;
  uint64_t lowest_ = 0;
  const void* order_ = nullptr;  ///< cards, from the lowest bit: index, list, key less the lowest
  base::ScratchBuffer cards_, aside_;
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
