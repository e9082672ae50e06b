// SPDX-License-Identifier: BSD-3-Clause
// Memory that is used again and again for something of another size each time. It is not cleared,
// since clearing costs as much as filling it, and lies in large pages where there are any.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace pillion::base {

class ScratchBuffer {
 public:
  /// Room for `size` bytes, at least one; the contents are lost if it must grow.
  std::byte* of(size_t size) {
    if (!bytes_ || size >= capacity_) grow(size);
    return bytes_.get();
  }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  void grow(size_t size);

  std::unique_ptr<std::byte, Free> bytes_;
  size_t capacity_ = 0;
};

}  // namespace pillion::base
