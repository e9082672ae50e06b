// SPDX-License-Identifier: BSD-3-Clause
// Where the samples of an IDX dataset are: which blocks there are, what part of the grid each of
// them covers, and where they lie in their files. Whatever is not compressed has its place by rule,
// so that any rank can write any part of it without asking anybody.
#pragma once

#include <cstdint>
#include <map>
#include <pillion/idx/dataset.hpp>
#include <span>
#include <string>
#include <vector>

namespace pillion::idx {

/// Samples at origin + k * stride, 0 <= k < extent.
struct Grid {
  Point origin{}, extent{1, 1, 1}, stride{1, 1, 1};

  /// The lowest and one past the highest index.
  [[nodiscard]] Point lo() const { return origin; }
  [[nodiscard]] Point hi() const;
  [[nodiscard]] int64_t samples() const { return extent[0] * extent[1] * extent[2]; }
  bool operator==(const Grid&) const = default;
};

/// What a block covers, of the whole grid of the bitmask. Block 0 holds the levels up to
/// bits_per_block, every other block is part of one level.
Grid grid_of(const Dataset& dataset, int64_t block);

/// Whether any of its samples is in the dataset's box: others are not stored.
bool is_present(const Dataset& dataset, int64_t block);

/// One binary file: its head is a table of what lies where.
class File {
 public:
  /// File number `number`, whose first block is number * blocks_per_file.
  File(const Dataset& dataset, int64_t number);

  [[nodiscard]] int64_t first_block() const { return first_; }
  /// The blocks that exist, in order.
  [[nodiscard]] std::span<const int64_t> present() const { return present_; }
  /// Where blocks that are not compressed begin, in order of fields and then of blocks. The block
  /// must be present.
  [[nodiscard]] int64_t offset(size_t field, int64_t block) const;
  /// The first byte after the table, on a page of its own.
  [[nodiscard]] int64_t begin() const { return begins_.front(); }
  [[nodiscard]] int64_t end() const { return begins_.back(); }

 private:
  int64_t first_;
  std::vector<int64_t> present_, sizes_, begins_;  ///< the last two by field; where all end
};

/// What the head of a file says of one block of one field.
struct Entry {
  int64_t offset = 0;
  uint32_t size = 0;  ///< stored bytes; 0 if the block is not there
  uint32_t flags = 0;

  [[nodiscard]] Codec codec() const { return static_cast<Codec>(flags & 0xF); }
  /// Whether samples are in the order of the block's grid, first axis fastest, rather than by HZ.
  [[nodiscard]] bool row_major() const { return (flags & 0x10) != 0; }
};

/// Bytes of a file's head: entry of field f and block b at place f * blocks_per_file + (b - first).
constexpr int64_t head_size(int64_t fields, int64_t blocks_per_file) {
  return 40 + 40 * fields * blocks_per_file;
}
std::vector<std::byte> head_of(std::span<const Entry> entries);
std::vector<Entry> entries_of(std::span<const std::byte> head);

/// The head of a file of blocks that are not compressed.
std::vector<Entry> raw_entries(const Dataset& dataset, const File& file);

}  // namespace pillion::idx
