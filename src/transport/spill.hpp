// SPDX-License-Identifier: BSD-3-Clause
// Messages that do not fit in memory go to a file without a name on a disk of the node, in order,
// and the file gives its space back as they are finished. A thread writes them, so that a slow disk
// delays no step. It makes no MPI call, takes no signal, and touches nothing but the file and what
// is queued.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "node/shared_file.hpp"
#include "transport/staging.hpp"

namespace pillion::transport {

class SpillFile {
 public:
  /// At most `limit` bytes wait in a file in `folder`, and at most `memory` bytes in memory until
  /// they are written, or one message. Throws ErrorCode::File.
  SpillFile(const std::string& folder, size_t limit, size_t memory);
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;
  /// Does not wait for a disk that hangs.
  ~SpillFile();

  [[nodiscard]] node::FileAddress address() const;
  /// Whether the disk has room. Where it was full, it has none until messages are finished.
  [[nodiscard]] bool fits(size_t size) const;
  /// Whether that holds, and memory is free now.
  [[nodiscard]] bool fits_now(size_t size) const {
    return fits(size) && (memory_ == 0 || memory_ + size <= most_memory_);
  }
  /// What is there already may be more.
  void set_limits(size_t limit, size_t memory) {
    limit_ = limit;
    most_memory_ = memory;
  }
  [[nodiscard]] size_t limit() const { return limit_; }
  /// Memory for a message, or null if there is no room now.
  std::byte* reserve(size_t size);

  /// A message on its way to the disk.
  struct Piece {
    int64_t index;
    uint64_t offset;
    Buffer buffer;
    size_t size;
    enum class State { Queued, Written, Failed };
    std::atomic<State> state{State::Queued};

    Piece(int64_t i, uint64_t o, Buffer b, size_t s)
        : index(i), offset(o), buffer(std::move(b)), size(s) {}
  };
  /// Has what was reserved last written, as message `index`. Does not wait.
  std::shared_ptr<const Piece> write(int64_t index);
  /// The memory of a piece that was written, or could not be, is needed no more.
  void release(const Piece& piece);
  /// Messages before `index` are finished.
  void free_before(int64_t index);
  /// Bytes in the file that are not finished.
  [[nodiscard]] size_t waiting() const { return waiting_; }
  /// Bytes of memory.
  [[nodiscard]] size_t memory() const { return memory_; }

 private:
  struct Writer;
  struct Place {
    int64_t index;
    uint64_t offset;
    size_t size;
  };
  std::shared_ptr<Writer> writer_;  ///< shared with the thread
  size_t limit_;
  size_t most_memory_;
  size_t waiting_ = 0;
  size_t memory_ = 0;
  uint64_t end_ = node::SharedFile::head;
  std::optional<Buffer> reserved_;
  size_t reserved_size_ = 0;
  std::deque<Place> places_;
};

/// The other end.
class SpillReader {
 public:
  SpillReader() = default;
  explicit SpillReader(const node::FileAddress& address)
      : file_(node::SharedFile::open(address, node::SharedFile::Access::Read)) {}
  /// Reads a message into memory of its own. Throws ErrorCode::File.
  [[nodiscard]] std::shared_ptr<Buffer> read(uint64_t offset, size_t size) const;

 private:
  node::SharedFile file_;
};

}  // namespace pillion::transport
