// SPDX-License-Identifier: BSD-3-Clause
// Messages that do not fit in memory go to a file without a name on a disk of the node, in order,
// and the file gives its space back as they are finished.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "node/shared_file.hpp"
#include "transport/staging.hpp"

namespace pillion::transport {

class SpillFile {
 public:
  /// At most `limit` bytes wait in a file in `folder`. Throws ErrorCode::File.
  SpillFile(const std::string& folder, size_t limit);

  [[nodiscard]] int descriptor() const { return file_.descriptor(); }
  [[nodiscard]] bool fits(size_t size) const { return waiting_ + size <= limit_; }
  /// Memory for a message, or null if the limit is reached.
  std::byte* reserve(size_t size);
  /// Writes what was reserved last; returns where. Throws ErrorCode::File, and nothing was written.
  uint64_t write(int64_t index);
  /// Messages before `index` are finished.
  void free_before(int64_t index);
  [[nodiscard]] size_t waiting() const { return waiting_; }

 private:
  struct Piece {
    int64_t index;
    uint64_t offset;
    size_t size;
  };
  node::SharedFile file_;
  size_t limit_;
  size_t waiting_ = 0;
  uint64_t end_ = 0;
  std::optional<Buffer> buffer_;
  size_t size_ = 0;
  std::deque<Piece> pieces_;
};

/// The other end.
class SpillReader {
 public:
  SpillReader() = default;
  SpillReader(int process, int descriptor) : file_(node::SharedFile::open(process, descriptor)) {}
  /// Reads a message into memory of its own. Throws ErrorCode::File.
  [[nodiscard]] std::shared_ptr<Buffer> read(uint64_t offset, size_t size) const;

 private:
  node::SharedFile file_;
};

}  // namespace pillion::transport
