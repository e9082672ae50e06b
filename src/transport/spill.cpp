// SPDX-License-Identifier: BSD-3-Clause
// Writing, reading and forgetting spilled messages.
#include "transport/spill.hpp"

#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/default_environment.hpp"
#include "base/error.hpp"

namespace pillion::transport {
namespace {

/// Calls `piece(done)` until `size` bytes are through; it returns what pread and pwrite return.
template <class Move>
bool move_all(size_t size, Move&& move) {
  for (size_t done = 0; done < size;) {
    const auto moved = move(done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    done += static_cast<size_t>(moved);
  }
  return true;
}

}  // namespace

// What the thread uses. It outlives the SpillFile if the disk hangs.
struct SpillFile::Writer {
  explicit Writer(const std::string& folder) : file(node::SharedFile::make(folder, 0)) {}

  node::SharedFile file;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::shared_ptr<Piece>> queue;
  bool ends = false;
  bool works = false;  ///< on a piece, without the lock
  std::atomic<bool> is_full{false};
  std::atomic<int> unwritten{0};  ///< pieces that could not be written, and are in memory
  std::thread thread;

  bool write(const Piece& piece) const {
    return move_all(piece.size, [&](size_t done) {
      return pwrite(file.descriptor(), piece.buffer.data() + done, piece.size - done,
                    static_cast<off_t>(piece.offset + done));
    });
  }

  // The rank sleeps nowhere for this thread: it looks at the state of a piece when it comes by.
  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return ends || !queue.empty(); });
      if (ends) return;
      const auto piece = queue.front();
      queue.pop_front();
      works = true;
      lock.unlock();
      const bool written = write(*piece);
      if (!written) {
        is_full = true;
        ++unwritten;
        file.release(piece->offset, piece->size);
      }
      piece->state.store(written ? Piece::State::Written : Piece::State::Failed);
      lock.lock();
      works = false;
    }
  }
};

SpillFile::SpillFile(const std::string& folder, size_t limit, size_t memory)
    : writer_(std::make_shared<Writer>(folder)), limit_(limit), most_memory_(memory) {}

SpillFile::~SpillFile() {
  bool hangs = false;
  {
    const std::lock_guard lock(writer_->mutex);
    writer_->ends = true;
    hangs = writer_->works;
  }
  writer_->wake.notify_one();
  if (!writer_->thread.joinable()) return;
  if (hangs) writer_->thread.detach();
  else writer_->thread.join();
}

bool SpillFile::fits(size_t size) const {
  return !writer_->is_full.load() && waiting_ + size <= limit_;
}

node::FileAddress SpillFile::address() const { return writer_->file.address(); }

std::byte* SpillFile::reserve(size_t size) {
  if (!fits_now(size)) return nullptr;
  reserved_.emplace(size);
  reserved_size_ = size;
  return reserved_->data();
}

std::shared_ptr<const SpillFile::Piece> SpillFile::write(int64_t index) {
  // First, for the system may have no thread left.
  if (!writer_->thread.joinable())
    writer_->thread = base::start_thread([writer = writer_] { writer->run(); });
  if (places_.empty()) end_ = node::SharedFile::head;
  auto piece = std::make_shared<Piece>(index, end_, std::move(*reserved_), reserved_size_);
  reserved_.reset();
  places_.push_back({index, end_, piece->size});
  waiting_ += piece->size;
  memory_ += piece->size;
  end_ += piece->size;
  {
    const std::lock_guard lock(writer_->mutex);
    writer_->queue.push_back(piece);
  }
  writer_->wake.notify_one();
  return piece;
}

void SpillFile::release(const Piece& piece) {
  memory_ -= piece.size;
  if (piece.state.load() == Piece::State::Failed) --writer_->unwritten;
}

void SpillFile::free_before(int64_t index) {
  while (!places_.empty() && places_.front().index < index) {
    writer_->file.release(places_.front().offset, places_.front().size);
    waiting_ -= places_.front().size;
    places_.pop_front();
    if (writer_->unwritten == 0) writer_->is_full = false;
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
