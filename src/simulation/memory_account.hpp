// SPDX-License-Identifier: BSD-3-Clause
// The account of what this rank has of Pillion's memory beside messages: copies that stay, and what
// the program has given back while sidecars still read it. What the program holds is its own, even
// while sidecars read it. All changes reach the sender at once, which has the budget.
#pragma once

#include <cstddef>

#include "transport/transport.hpp"

namespace pillion::simulation {

class MemoryAccount {
 public:
  /// Without a `sender` there is no budget, and all of it is only counted.
  explicit MemoryAccount(transport::Sender* sender = nullptr) : sender_(sender) {}

  /// Whether a copy may be made in memory that sidecars see; `in_message` bytes of the largest
  /// message need not be in it then.
  [[nodiscard]] bool may_keep(size_t bytes, size_t in_message) const {
    return sender_ == nullptr || sender_->may_keep(bytes, in_message);
  }
  void add_copy(size_t bytes, bool shared) {
    (shared ? kept_.shared : kept_.own) += bytes;
    tell();
  }
  void remove_copy(size_t bytes, bool shared) {
    (shared ? kept_.shared : kept_.own) -= bytes;
    tell();
  }
  /// Memory was given back that sidecars read, `of_program` bytes of it by the program.
  void retire(size_t bytes, size_t of_program) {
    kept_.retired += bytes;
    lent_ -= of_program;
    tell();
  }
  /// They have finished with it.
  void reclaim(size_t bytes) {
    kept_.retired -= bytes;
    tell();
  }

  /// Whether sidecars may read `bytes` more of the program's memory: it may give all that they read
  /// back at any time, and then that must have room. As long as it has given nothing back that is
  /// still read, they may read as much as they like: a field may be larger than the budget.
  [[nodiscard]] bool may_lend(size_t bytes) const {
    return kept_.retired == 0 || sender_ == nullptr || lent_ + bytes <= sender_->room_to_retire();
  }
  /// The program's memory that sidecars begin or cease to read.
  void lend(size_t bytes) { lent_ += bytes; }
  void take_back(size_t bytes) { lent_ -= bytes; }

  [[nodiscard]] const transport::KeptMemory& kept() const { return kept_; }

 private:
  void tell() {
    if (sender_ != nullptr) sender_->set_kept(kept_);
  }
  transport::Sender* sender_;
  transport::KeptMemory kept_;
  size_t lent_ = 0;  ///< that the program holds, and sidecars read
};

}  // namespace pillion::simulation
