// SPDX-License-Identifier: BSD-3-Clause
// Memory that is used again and again for something of another size each time. It is not cleared,
// since clearing costs as much as filling it, and lies in large pages where there are any.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace pillion::base {

class ScratchBuffer {
 public:
  /// Room for `size` bytes, at least one; the contents are lost if it must grow.
  std::byte* of(size_t size) {
    if (!bytes_ || size >= capacity_) grow(size);
    return bytes_.get();
  }

  /// Frees the memory if it is much more than `size` bytes.
  void shrink(size_t size) {
    constexpr size_t little = size_t{1} << 20;
    if (capacity_ <= 2 * size + little) return;
    bytes_.reset();
    capacity_ = 0;
  }
  [[nodiscard]] size_t capacity() const { return capacity_; }
  /// Where it is now; null before it is asked for.
  [[nodiscard]] const std::byte* data() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  // Sizes that go up and down a little do not make it grow each time.
  void grow(size_t size) {
    constexpr size_t large_page = size_t{2} << 20, line = 64;
    bytes_.reset();
    capacity_ = 0;
    const size_t unit = size < large_page ? line : large_page;
    const size_t wanted = (size + size / 8 + unit) / unit * unit;
    bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(unit, wanted)));
    if (!bytes_) throw std::bad_alloc();
    capacity_ = wanted;
    if (unit == large_page) madvise(bytes_.get(), wanted, MADV_HUGEPAGE);
  }

  std::unique_ptr<std::byte, Free> bytes_;
  size_t capacity_ = 0;
};

}  // namespace pillion::base
