// SPDX-License-Identifier: BSD-3-Clause
// Memory of a segment for values that stay. A file in memory can only be mapped piece by piece, and
// a process may have some ten thousand pieces; so blocks get parts of slabs, which are mapped as a
// whole by either side, and parts that are given back are used again. A program that allocates at
// every regrid has as many mappings, and as large a file, after ten thousand of them as after one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "node/segment.hpp"

namespace pillion::node {

class RegionPool {
  struct State;

 public:
  /// The segment must stay as long as regions are taken.
  explicit RegionPool(const Segment& segment);

  /// A part of a slab. It may outlive the pool and the segment.
  class Region {
   public:
    Region() = default;
    Region(Region&& other) noexcept;
    Region& operator=(Region&& other) noexcept;
    /// Leaves the memory as it is, for sidecars that still read it.
    ~Region() = default;

    [[nodiscard]] std::byte* data() const { return data_; }
    /// Bytes of memory that it takes.
    [[nodiscard]] size_t size() const { return size_; }
    /// Offset in the segment and size of the slab, which readers map.
    [[nodiscard]] uint64_t slab_offset() const { return slab_offset_; }
    [[nodiscard]] uint64_t slab_size() const { return slab_size_; }
    /// Of the region in its slab.
    [[nodiscard]] uint64_t offset() const { return offset_; }
    /// Gives the memory back to the pool and to the machine: zeros are left.
    void give_back();

   private:
    friend class RegionPool;
    std::shared_ptr<State> state_;
    std::byte* data_ = nullptr;
    uint64_t slab_offset_ = 0, slab_size_ = 0, offset_ = 0;
    size_t slab_ = 0, size_ = 0;
  };

  /// Memory that is zero, aligned to 64 bytes and, from a page on, to pages. Throws
  /// ErrorCode::File if there is none.
  Region take(size_t size);
  [[nodiscard]] size_t slabs() const;

 private:
  const Segment& segment_;
  std::shared_ptr<State> small_, large_;  ///< below a page, and in pages
};

}  // namespace pillion::node
