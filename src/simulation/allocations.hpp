// SPDX-License-Identifier: BSD-3-Clause
// Memory that the session gives to the simulation for its blocks, several buffers for each,
// so that sidecars can read one in place while the simulation fills the next. Without node memory,
// or where that has no room, the buffers are private, and what is in them is copied as anything
// else. The session's own copies of values that stay are here, too.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "node/region_pool.hpp"
#include "simulation/memory_account.hpp"
#include "transport/transport.hpp"

namespace pillion::simulation {

class Allocations final : public transport::Lender {
 public:
  /// `segment` is null if sidecars do not share memory with this rank. `sender` has the budget for
  /// what is not the program's; null if there is none.
  explicit Allocations(const node::Segment* segment, transport::Sender* sender = nullptr);

  /// The first of `buffers` buffers for a block. Throws ErrorCode::Argument, or ErrorCode::State if
  /// the block has some already. They are private if node memory has no room.
  void* allocate(const std::string& field, int32_t block, size_t size, int32_t buffers);
  /// One buffer for a copy of values that stay as they are, which messages may always be in. Throws
  /// ErrorCode::State if the budget, and ErrorCode::File if node memory has no room.
  void* allocate_constant(const std::string& field, int32_t block, size_t size);
  /// A buffer for a copy that the session must have, which no sidecar reads: private if the budget
  /// has no room. What the block had before is let go.
  void* renew_copy(const std::string& field, int32_t block, size_t size);
  struct Swapped {
    std::byte* before;
    std::byte* now;
    size_t size;
  };
  /// Another buffer of the block than the one that was current, which no sidecar reads.
  Swapped swap(const std::string& field, int32_t block);
  /// The buffers of a block are no longer needed.
  void free(const std::string& field, int32_t block);

  /// Whether sidecars see this memory.
  [[nodiscard]] bool are_shared() const { return pool_ != nullptr; }
  /// Whether `data` lies in a buffer.
  [[nodiscard]] bool holds(const void* data) const { return holding(data) != nullptr; }
  /// Keeps the buffer that `data` lies in where it is, beyond free() and this. Throws
  /// ErrorCode::Argument if it lies in none.
  [[nodiscard]] std::shared_ptr<const void> keep(const void* data) const;

  std::optional<transport::Lent> find(const void* data) const override;
  /// What find() gave since last time is in message `index`.
  void lend(int64_t index);
  /// What find() gave since last time was not sent.
  void forget() {
    asked_.clear();
    asked_bytes_ = moved_bytes_ = 0;
    has_refused_ = false;
  }
  /// Bytes of the program's memory that sidecars would begin to read with it.
  [[nodiscard]] size_t asked() const { return asked_bytes_; }
  /// Whether find() refused a buffer since then because sidecars hold too much.
  [[nodiscard]] bool has_refused() const { return has_refused_; }
  /// Messages before `freed` are finished.
  void reclaim(int64_t freed);
  /// Bytes that the program has given back, and that only messages before number `index` are in.
  [[nodiscard]] size_t retired_before(int64_t index) const;
  [[nodiscard]] const transport::KeptMemory& kept() const { return account_.kept(); }
  [[nodiscard]] bool empty() const { return slots_.empty() && retired_.empty(); }
  /// Mappings that either side has of all this, at most.
  [[nodiscard]] size_t mappings() const { return pool_ ? pool_->slabs() : 0; }

 private:
  struct Piece;
  struct Slot {
    size_t size = 0;
    size_t wanted = 0;  ///< how many buffers the program asked for
    size_t current = 0;
    size_t held = 0;       ///< buffers that sidecars read
    bool is_copy = false;  ///< of the session's own
    std::vector<std::shared_ptr<Piece>> pieces{};
  };
  /// The memory of a buffer. Slots stay where they are as long as they are there.
  struct Stretch {
    const std::byte* begin;
    size_t size;
    Piece* piece;
    Slot* slot;
    transport::Lent lent;  ///< where it begins
  };
  using Blocks = std::unordered_map<int32_t, Slot>;

  enum class Place { Shared, Private, Any };
  std::shared_ptr<Piece> make(size_t size, Place place);
  void* put(const std::string& field, int32_t block, Slot slot);
  void check_free(std::string_view field, int32_t block);
  void add_piece(Slot& slot, std::shared_ptr<Piece> piece);
  /// Makes a buffer of a copy current that no sidecar reads.
  void turn(Slot& slot);
  /// Lets go of buffers of a copy that are neither current nor read. One may stay for the next
  /// time, but beside a private one there is no room.
  void prune(Slot& slot);
  [[nodiscard]] Slot* find_slot(std::string_view field, int32_t block);
  [[nodiscard]] Slot& slot(std::string_view field, int32_t block);
  /// The buffer that an address lies in, or null.
  [[nodiscard]] const Stretch* holding(const void* data) const;
  void sort() const;

  std::unique_ptr<node::RegionPool> pool_;  ///< null without node memory
  MemoryAccount account_;
  std::map<std::string, Blocks, std::less<>> slots_;
  /// Freed by the program, but still read.
  std::unordered_map<Piece*, std::shared_ptr<Piece>> retired_;
  /// All buffers by address, sorted when they are first looked for after a change. Blocks are
  /// looked for in the order in which they were made, so the next is near the last.
  mutable std::vector<Stretch> by_address_;
  mutable bool is_sorted_ = false;
  mutable size_t last_ =
      0;  ///< the one that was found last, and how far it was from the one before
  mutable size_t apart_ = 1;
  struct Reader {
    int64_t index;
    Piece* piece;
  };
  mutable std::vector<Piece*> asked_;
  mutable size_t asked_bytes_ = 0;  ///< of the program's, that no sidecar has read so far
  mutable bool has_refused_ = false;
  size_t moved_bytes_ = 0;  ///< of the largest message as last known, which need not be in the next
  std::deque<Reader> readers_;  ///< messages that are in buffers, in their order
};

}  // namespace pillion::simulation
