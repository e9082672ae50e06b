// SPDX-License-Identifier: BSD-3-Clause
// Blocks that lie one after the other in a file, written at once.
#pragma once

#include <filesystem>

#include "exchange.hpp"
#include "files.hpp"

namespace pillion::stages {

class Batch {
 public:
  explicit Batch(OpenFiles& files) : files_(files) { buffer_.reserve(most); }

  /// Room for bytes at an offset of a file, good until the next call.
  std::byte* room(const std::filesystem::path& path, int64_t offset, size_t size) {
    const bool joins = path == path_ && offset == begin_ + static_cast<int64_t>(buffer_.size()) &&
                       buffer_.size() + size <= most;
    if (!joins) {
      flush();
      path_ = path;
      begin_ = offset;
    }
    buffer_.resize(buffer_.size() + size);
    return buffer_.data() + buffer_.size() - size;
  }
  void flush() {
    if (!buffer_.empty()) files_.write(path_, buffer_, begin_);
    buffer_.clear();
  }

 private:
  static constexpr size_t most = size_t{8} << 20;
  OpenFiles& files_;
  std::filesystem::path path_;
  int64_t begin_ = 0;
  Bytes buffer_;
};

}  // namespace pillion::stages
