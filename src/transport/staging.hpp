// SPDX-License-Identifier: BSD-3-Clause
// Staging memory within a budget of bytes. Buffers are used again, since touching fresh memory
// costs more than copying into it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace pillion::transport {

/// Memory aligned to 64 bytes.
class Buffer {
 public:
  explicit Buffer(size_t capacity);
  [[nodiscard]] std::byte* data() const { return memory_.get(); }
  [[nodiscard]] size_t capacity() const { return capacity_; }
  /// Makes the system provide all pages now, so that none is missing when a message comes.
  void touch();
  /// Never frees the memory: for messages in flight whose end no receiver will report.
  void abandon();

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  size_t capacity_ = 0;
};

class Staging {
 public:
  explicit Staging(size_t budget) : budget_(budget) {}

  /// A buffer of at least `size` bytes, or nothing if those in use leave no room for it.
  std::optional<Buffer> take(size_t size);
  void give_back(Buffer buffer);
  [[nodiscard]] bool fits(size_t size) const { return in_use_ + size <= budget_; }

  /// Buffers in use stay, whatever the budget is; idle ones may go.
  void set_budget(size_t bytes);
  [[nodiscard]] size_t budget() const { return budget_; }
  [[nodiscard]] size_t in_use() const { return in_use_; }
  [[nodiscard]] size_t peak() const { return peak_; }

 private:
  size_t budget_;
  size_t in_use_ = 0;  ///< capacity of buffers that were taken
  size_t idle_ = 0;    ///< capacity of buffers that wait
  size_t peak_ = 0;
  std::vector<Buffer> free_;
};

}  // namespace pillion::transport
