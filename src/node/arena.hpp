// SPDX-License-Identifier: BSD-3-Clause
// Who has which bytes of a ring: pieces are placed in order and freed in order, so it never
// fragments. Only numbers; the memory is somewhere else. The writer alone knows this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace pillion::node {

class Arena {
 public:
  explicit Arena(size_t capacity) : capacity_(capacity) {}

  /// Where a piece of `size` bytes would go, or nothing if there is no room for it now.
  [[nodiscard]] std::optional<size_t> find(size_t size) const;
  /// Places a piece for message `index`, larger than all before.
  std::optional<size_t> place(size_t size, int64_t index);
  /// Frees the pieces of all messages before `index`.
  void free_before(int64_t index);

  [[nodiscard]] size_t capacity() const { return capacity_; }
  [[nodiscard]] size_t in_use() const { return in_use_; }
  [[nodiscard]] size_t peak() const { return peak_; }

 private:
  struct Piece {
    int64_t index;
    size_t begin, end;
  };
  size_t capacity_;
  size_t in_use_ = 0;
  size_t peak_ = 0;
  std::deque<Piece> pieces_;
};

}  // namespace pillion::node
