// SPDX-License-Identifier: BSD-3-Clause
// Writing, reading and forgetting spilled messages.
#include "transport/spill.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace pillion::transport {
namespace {

/// Calls `piece(done)` until `size` bytes are through; it returns what pread and pwrite return.
template <class Piece>
bool move_all(size_t size, Piece&& piece) {
  for (size_t done = 0; done < size;) {
    const auto moved = piece(done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    done += static_cast<size_t>(moved);
  }
  return true;
}

}  // namespace

SpillFile::SpillFile(const std::string& folder, size_t limit)
    : file_(node::SharedFile::make(folder, 0)), limit_(limit) {}

std::byte* SpillFile::reserve(size_t size) {
  if (!fits(size)) return nullptr;
  if (!buffer_ || buffer_->capacity() < size) buffer_.emplace(size);
  size_ = size;
  return buffer_->data();
}

uint64_t SpillFile::write(int64_t index) {
  if (pieces_.empty()) end_ = 0;
  const uint64_t at = end_;
  errno = 0;
  const bool written = move_all(size_, [&](size_t done) {
    return pwrite(file_.descriptor(), buffer_->data() + done, size_ - done,
                  static_cast<off_t>(at + done));
  });
  if (!written) {
    const int error = errno;
    file_.release(at, size_);
    base::fail(ErrorCode::File, "a publication of {} bytes cannot be spilled: {}", size_,
               std::strerror(error));
  }
  pieces_.push_back({index, at, size_});
  waiting_ += size_;
  end_ = at + size_;
  return at;
}

void SpillFile::free_before(int64_t index) {
  while (!pieces_.empty() && pieces_.front().index < index) {
    file_.release(pieces_.front().offset, pieces_.front().size);
    waiting_ -= pieces_.front().size;
    pieces_.pop_front();
  }
}

std::shared_ptr<Buffer> SpillReader::read(uint64_t offset, size_t size) const {
  auto buffer = std::make_shared<Buffer>(size);
  errno = 0;
  const bool whole = move_all(size, [&](size_t done) {
    return pread(file_.descriptor(), buffer->data() + done, size - done,
                 static_cast<off_t>(offset + done));
  });
  if (!whole)
    base::fail(ErrorCode::File, "a spilled publication of {} bytes cannot be read: {}", size,
               errno == 0 ? "the file is too short" : std::strerror(errno));
  return buffer;
}

}  // namespace pillion::transport
