// SPDX-License-Identifier: BSD-3-Clause
// One binary file of a dataset, open for reading.
#pragma once

#include <cstddef>
#include <memory>
#include <pillion/idx/blocks.hpp>
#include <string>
#include <vector>

#include "selection.hpp"

namespace pillion::idx {

inline bool is_absent(const Entry& entry) { return entry.offset == 0 || entry.size == 0; }

class BlockFile {
 public:
  /// Nothing if there is no such file. Throws pillion::Error if it cannot be opened, or is shorter
  /// than the head of a file of this dataset.
  static std::unique_ptr<BlockFile> open(const std::string& path, const Dataset& dataset);
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  /// What the head says of blocks of a field, which are in this file and in order.
  [[nodiscard]] std::vector<Entry> entries(size_t field,
                                           std::span<const BlockOfLevel> blocks) const;
  /// Throws pillion::Error if a block is missing, cut short, or of a codec that is not read.
  void expect_readable(const Entry& entry, size_t field, int64_t block) const;
  /// Reads a block and makes samples of it again.
  void read(const Entry& entry, size_t field, int64_t block, std::vector<std::byte>& samples) const;

 private:
  BlockFile(std::string path, int file, int64_t size, const Dataset& dataset)
      : path_(std::move(path)), file_(file), size_(size), dataset_(dataset) {}
  /// Throws pillion::Error with the file and the block in front.
  [[noreturn]] void fail(size_t field, int64_t block, const std::string& why) const;
  void expect_there(const Entry& entry, size_t field, int64_t block) const;
  void read_at(int64_t offset, std::byte* to, size_t size) const;

  std::string path_;
  int file_;
  int64_t size_;
  const Dataset& dataset_;
};

}  // namespace pillion::idx
