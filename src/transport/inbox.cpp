// SPDX-License-Identifier: BSD-3-Clause
// Posting receives and taking in messages.
#include "transport/inbox.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "base/clock.hpp"
#include "base/text.hpp"

namespace pillion::transport {

size_t ExpectedSizes::of(int64_t message) const {
  constexpr size_t page = 4096;
  size_t most = 0;
  const int64_t last = message - static_cast<int64_t>(most_posted);
  const int64_t first = std::max(
      {int64_t{0}, last - static_cast<int64_t>(window) + 1, count_ - static_cast<int64_t>(kept)});
  for (int64_t m = first; m <= last; ++m)
    most = std::max(most, sizes_[static_cast<size_t>(m) % kept]);
  return std::max(least, (most + most / 8 + page - 1) / page * page);
}

// Idle memory that is too small goes first, since only more of it would be wanted.
void ReceiveRoom::free_idle(size_t wanted) {
  std::erase_if(buffers_, [&](const auto& buffer) {
    if (allocated_ + wanted <= budget_ || buffer.use_count() > 1) return false;
    allocated_ -= buffer->capacity();
    return true;
  });
}

std::shared_ptr<Buffer> ReceiveRoom::find(size_t size, bool must) {
  // A header must not take the memory of a field.
  const size_t too_large = std::max<size_t>(4 * size, 64 << 10);
  std::shared_ptr<Buffer>*best = nullptr, *largest = nullptr;
  for (auto& buffer : buffers_) {
    if (buffer.use_count() > 1) continue;
    if (buffer->capacity() > too_large) continue;
    if (buffer->capacity() >= size && (best == nullptr || buffer->capacity() < (*best)->capacity()))
      best = &buffer;
    if (largest == nullptr || buffer->capacity() > (*largest)->capacity()) largest = &buffer;
  }
  // Another thread may have read it last.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (best != nullptr) return *best;
  if (largest != nullptr) {  // none is large enough: the next one takes its place
    allocated_ -= (*largest)->capacity();
    buffers_.erase(buffers_.begin() + (largest - buffers_.data()));
  }
  free_idle(size);
  if (allocated_ + size > budget_ && !must) return {};
  // Page by page while a message comes, a core would need longer for pages than for the message.
  auto fresh = std::make_shared<Buffer>(size);
  fresh->touch();
  auto buffer = buffers_.emplace_back(std::move(fresh));
  allocated_ += size;
  peak_ = std::max(peak_, allocated_);
  return buffer;
}

// If this sidecar ends early MPI may still write what was coming whenever the program calls it.
Inbox::~Inbox() {
  const std::lock_guard lock(room_.mutex);
  for (auto& [rank, source] : sources_)
    for (auto& coming : source.coming) {
      if (coming.state != State::Posted && coming.state != State::Arriving) continue;
      try {
        comm::expect_mpi();
        if (coming.request.received() || coming.request.withdraw()) continue;
      } catch (const std::exception&) {  // MPI has ended
      }
      coming.message.buffer->abandon();
    }
}

// An announced message is received as soon as there is room, in the order of announcements.
void Inbox::settle(int rank, Coming& coming, bool must) {
  auto& message = coming.message;
  if (coming.state == State::Posted) {
    const auto size = coming.request.received();
    if (!size) return;
    message.size = *size;
    coming.state = State::Here;
    if (*size > sizeof(Announcement)) return;
    Announcement announced;
    if (*size == sizeof announced)
      std::memcpy(&announced, message.buffer->data(), sizeof announced);
    constexpr int64_t most = int64_t{1} << 46;
    if (announced.size <= static_cast<int64_t>(sizeof announced) || announced.size > most)
      base::fail(ErrorCode::Internal, "rank {} announced a message of {} bytes", rank,
                 announced.size);
    message = {nullptr, static_cast<size_t>(announced.size)};
    coming.state = State::Announced;
  }
  if (coming.state == State::Announced) {
    message.buffer = room_.find(message.size, must);
    if (!message.buffer) return;
    coming.request = comm::receive(wire_, message.buffer->data(), message.size, rank, large_tag_);
    coming.state = State::Arriving;
  }
  if (coming.state == State::Arriving) {
    const auto size = coming.request.received();
    if (!size) return;
    if (*size != message.size)
      base::fail(ErrorCode::Internal, "rank {} announced {} bytes and sent {}", rank, message.size,
                 *size);
    coming.state = State::Here;
  }
}

// Whether the next message is here. Receives of the same kind are posted in the order in which
// messages are sent: so none is looked at before it is known whether the one before was announced.
bool Inbox::advance(int rank, Source& source, bool must) {
  auto& coming = source.coming;
  for (size_t c = 0; c < coming.size(); ++c) {
    settle(rank, coming[c], must && c == 0);
    if (coming[c].state == State::Posted || coming[c].state == State::Announced) break;
  }
  while (coming.size() < most_posted && (source.is_expected || must)) {
    const auto number = source.sizes.count() + static_cast<int64_t>(coming.size());
    const size_t size = source.sizes.of(number);
    auto buffer = room_.find(size, must && coming.empty());
    if (!buffer) break;
    post(rank, source, size, std::move(buffer));
  }
  return !coming.empty() && coming.front().state == State::Here;
}

// What holds the memory is there before MPI may write to it.
void Inbox::post(int rank, Source& source, size_t size, std::shared_ptr<Buffer> buffer) {
  auto& next = source.coming.emplace_back();
  next.message.buffer = std::move(buffer);
  try {
    next.request = comm::receive(wire_, next.message.buffer->data(), size, rank, tag_);
  } catch (...) {
    source.coming.pop_back();
    throw;
  }
}

Inbox::Source& Inbox::source_of(int rank) {
  const auto at = sources_.find(rank);
  if (at != sources_.end()) return at->second;
  auto& source = sources_[rank];
  if (const auto known = sizes_.find(rank); known != sizes_.end()) {
    source.sizes = std::move(known->second);
    sizes_.erase(known);
  }
  return source;
}

// The last receive goes first: messages meet receives in the order in which these were posted. One
// that has met a message stays, and is taken when the rank sends again.
void Inbox::withdraw(int rank, Source& source) {
  source.is_expected = false;
  (void)advance(rank, source, false);
  auto& coming = source.coming;
  while (!coming.empty() && coming.back().state == State::Posted &&
         coming.back().request.withdraw())
    coming.pop_back();
}

void Inbox::expect(const std::set<int>& sources) {
  const std::lock_guard lock(room_.mutex);
  for (auto at = sources_.begin(); at != sources_.end();) {
    auto& [rank, source] = *at;
    if (!sources.contains(rank)) withdraw(rank, source);
    if (source.is_expected || !source.coming.empty()) {
      ++at;
      continue;
    }
    sizes_[rank] = std::move(source.sizes);
    at = sources_.erase(at);
  }
  for (const int rank : sources) {
    auto& source = source_of(rank);
    source.is_expected = true;
    (void)advance(rank, source, false);
  }
}

void Inbox::look() {
  const std::lock_guard lock(room_.mutex);
  for (auto& [rank, source] : sources_) (void)advance(rank, source, false);
}

namespace {

/// While it lives the program itself looks for messages, and the thread that helps would only be in
/// the way.
class Taking {
 public:
  explicit Taking(ReceiveRoom& room) : room_(room) { set(true); }
  Taking(const Taking&) = delete;
  Taking& operator=(const Taking&) = delete;
  ~Taking() {
    set(false);
    room_.taken();
  }

 private:
  void set(bool is_taking) {
    const std::lock_guard lock(room_.mutex);
    room_.is_taking = is_taking;
  }
  ReceiveRoom& room_;
};

}  // namespace

std::vector<Message> Inbox::take(const std::vector<int>& sources) {
  const Taking taking(room_);
  std::vector<Message> messages;
  messages.reserve(sources.size());
  const auto all_here = [&] {
    const std::lock_guard lock(room_.mutex);
    bool here = true;
    for (const int rank : sources)
      if (!advance(rank, source_of(rank), true)) here = false;
    return here;
  };
  // MPI moves a large message by one part in each call, so longer pauses would slow it down.
  constexpr base::Pauses pauses{20e-6, 200e-6};
  base::wait_until(all_here, std::numeric_limits<double>::infinity(), pauses);
  const std::lock_guard lock(room_.mutex);
  for (const int rank : sources) {
    auto& source = sources_.at(rank);
    source.sizes.add(source.coming.front().message.size);
    messages.push_back(std::move(source.coming.front().message));
    source.coming.pop_front();
  }
  return messages;
}

}  // namespace pillion::transport
