// SPDX-License-Identifier: BSD-3-Clause
// Where the blocks that a driver shares lie: in memory of its own, at another address in every
// frame, so that nobody gets away with reading an old one; or, with --buffers N, in N buffers of
// the session's that take turns.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "driver.hpp"

namespace conformance {

class Memory {
 public:
  explicit Memory(const Arguments& arguments)
      : buffers_(static_cast<int32_t>(arguments.integer("buffers", 0))) {}

  /// Memory for the next `size` bytes of a block, which never needs more than `most`.
  char* next(const Player& player, const std::string& field, int32_t block, size_t size,
             size_t most) {
    if (buffers_ == 0) {
      auto& bytes = own_[{field, block}];
      old_.push_back(std::move(bytes));
      bytes.assign(size, '\0');
      return bytes.data();
    }
    void* data = nullptr;
    if (lent_[{field, block}]) {
      check(pillion_swap(player.session, field.c_str(), block, &data));
    } else {
      check(pillion_allocate(player.session, field.c_str(), block, most, buffers_, &data));
      lent_[{field, block}] = true;
    }
    return static_cast<char*>(data);
  }
  void take_back(const Player& player, const std::string& field, int32_t block) {
    check(pillion_unshare(player.session, field.c_str(), block));
    lent_.erase({field, block});
  }
  /// Says that everything is shared anew.
  void forget_old() { old_.clear(); }

 private:
  using Key = std::pair<std::string, int32_t>;
  int32_t buffers_;
  std::map<Key, bool> lent_;
  std::map<Key, std::vector<char>> own_;
  std::vector<std::vector<char>> old_;
};

}  // namespace conformance
