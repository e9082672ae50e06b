// SPDX-License-Identifier: BSD-3-Clause
// Memory that the session gives to the simulation for its blocks, several buffers for each,
// so that sidecars can read one in place while the simulation fills the next. Without node memory
// the buffers are private, and what is in them is copied as anything else.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "transport/transport.hpp"

namespace pillion::node {
class Segment;
}

namespace pillion::simulation {

class Allocations final : public transport::Lender {
 public:
  /// `segment` is null if sidecars do not share memory with this rank.
  explicit Allocations(node::Segment* segment) : segment_(segment) {}

  /// The first of `buffers` buffers for a block. Throws ErrorCode::Argument, or ErrorCode::State if
  /// the block has some already.
  void* allocate(const std::string& field, int32_t block, size_t size, int32_t buffers);
  struct Swapped {
    std::byte* before;
    std::byte* now;
    size_t size;
  };
  /// Another buffer of the block than the one that was current, which no sidecar reads.
  Swapped swap(const std::string& field, int32_t block);
  /// The buffers of a block are no longer needed.
  void free(const std::string& field, int32_t block);

  /// Keeps the buffer that `data` lies in where it is, beyond free() and this. Throws
  /// ErrorCode::Argument if it lies in none.
  [[nodiscard]] std::shared_ptr<const void> keep(const void* data) const;

  std::optional<transport::Lent> find(const void* data) const override;
  /// What find() gave since last time is in message `index`.
  void lend(int64_t index);
  /// What find() gave since last time was not sent.
  void forget() { asked_.clear(); }
  /// Messages before `freed` are finished.
  void reclaim(int64_t freed);
  [[nodiscard]] bool empty() const { return slots_.empty() && retired_.empty(); }

 private:
  struct Piece;
  struct Slot {
    size_t size = 0;
    size_t wanted = 0;  ///< how many buffers the program asked for
    size_t current = 0;
    std::vector<std::shared_ptr<Piece>> pieces;
    [[nodiscard]] std::shared_ptr<Piece> holding(const void* data) const;
  };
  std::shared_ptr<Piece> make(size_t size) const;
  [[nodiscard]] Slot& slot(const std::string& field, int32_t block);

  node::Segment* segment_;
  std::map<std::pair<std::string, int32_t>, Slot> slots_;
  std::vector<std::shared_ptr<Piece>> retired_;  ///< freed by the program, but still read
  mutable std::vector<Piece*> asked_;
};

}  // namespace pillion::simulation
