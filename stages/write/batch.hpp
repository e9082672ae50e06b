// SPDX-License-Identifier: BSD-3-Clause
// Bytes that lie one after the other in memory and in a file, written at once.
#pragma once

#include <filesystem>
#include <span>

#include "files.hpp"

namespace pillion::stages {

class Batch {
 public:
  explicit Batch(OpenFiles& files) : files_(files) {}

  /// The bytes must stay as they are until the next flush.
  void write(const std::filesystem::path& path, std::span<const std::byte> bytes, int64_t offset) {
    const bool joins = bytes.data() == bytes_.data() + bytes_.size() && path == path_ &&
                       offset == offset_ + static_cast<int64_t>(bytes_.size());
    if (joins && !bytes_.empty()) {
      bytes_ = {bytes_.data(), bytes_.size() + bytes.size()};
      return;
    }
    flush();
    path_ = path;
    offset_ = offset;
    bytes_ = bytes;
  }
  void flush() {
    if (!bytes_.empty()) files_.write(path_, bytes_, offset_);
    bytes_ = {};
  }

 private:
  OpenFiles& files_;
  std::filesystem::path path_;
  int64_t offset_ = 0;
  std::span<const std::byte> bytes_;
};

}  // namespace pillion::stages
