// SPDX-License-Identifier: BSD-3-Clause
// Compression of chunks by HDF5's filters. Each peer filters its own chunks, in a file that is in
// memory alone, so that the one who writes them has nothing to compute.
#pragma once

#include <cstddef>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <vector>

#include "../../common/hdf5.hpp"
#include "../../common/messages.hpp"
#include "chunks.hpp"

namespace pillion::stages::write_hdf5 {

class Compression {
 public:
  /// From the parameters `compression` and `shuffle`; fails if the library has no such filter.
  explicit Compression(const stage::Setup& setup);

  [[nodiscard]] bool is_on() const { return id_ != 0; }
  /// Puts the filters into the properties of a dataset before it is made.
  void put(hid_t properties) const;

 private:
  H5Z_filter_t id_ = 0;
  std::string name_;
  bool shuffles_ = false;
};

/// A chunk as a file has it.
struct FilteredChunk {
  uint32_t skipped = 0;  ///< a bit for each filter that was of no use
  Bytes bytes;
};

class ChunkFilter {
 public:
  explicit ChunkFilter(const Compression& compression);

  /// Components are the last axis of `extents`.
  [[nodiscard]] FilteredChunk operator()(std::span<const std::byte> chunk, hid_t type,
                                         const std::vector<hsize_t>& extents) const;

 private:
  const Compression& compression_;
  hdf5::Handle file_;
};

}  // namespace pillion::stages::write_hdf5
