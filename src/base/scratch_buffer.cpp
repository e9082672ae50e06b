// SPDX-License-Identifier: BSD-3-Clause
#include "base/scratch_buffer.hpp"

#include <sys/mman.h>

#include <new>

namespace pillion::base {

// Sizes that go up and down a little do not make it grow each time.
void ScratchBuffer::grow(size_t size) {
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

}  // namespace pillion::base
