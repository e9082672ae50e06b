// SPDX-License-Identifier: BSD-3-Clause
// Taking copies. What is read from the run's memory may be anything until the last look whether
// this job was evicted: lengths are read once, and nothing leaves here before.
#include "transport/copying_receiver.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/default_environment.hpp"
#include "base/error.hpp"

namespace pillion::transport {

namespace {

constexpr std::chrono::milliseconds look_again(100);

}  // namespace

CopyingReceiver::CopyingReceiver(std::unique_ptr<NodeReceiver> from, WantedValues wanted,
                                 std::function<bool()> leave)
    : from_(std::move(from)), wanted_(std::move(wanted)), leave_(std::move(leave)) {
  from_->set_give_up([this] { return stopped_ || leave_(); });
  thread_ = base::start_thread([this] { take(); });
}

void CopyingReceiver::stop() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

void CopyingReceiver::take() noexcept {
  std::exception_ptr failure;
  try {
    // A fast run always has the next message, so that `next` alone would never give up.
    while (await_room()) {
      const auto deliveries = from_->next();
      orphaned_ = from_->is_orphaned();
      if (!deliveries) break;
      from_->begin();
      auto copy = this->copy(*deliveries);
      if (!copy) break;
      from_->finish(0, {}, {});
      const std::lock_guard lock(mutex_);
      waiting_heads_ += copy->heads;
      queue_.push_back(std::move(*copy));
      changed_.notify_one();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  evicted_ = from_->is_evicted();
  ended_ = true;
  changed_.notify_one();
}

// While this waits the run keeps its messages, as for a job that cannot copy, and may evict the
// job.
bool CopyingReceiver::await_room() {
  std::unique_lock lock(mutex_);
  while (!stopped_ && !leave_()) {
    if (waiting_heads_ <= wanted_.heads) return true;
    changed_.wait_for(lock, look_again);  // the stages' thread takes the next message
  }
  return false;
}

namespace {

/// The head alone, or with room for the values behind it.
Delivery copy_head(const Delivery& from) {
  int64_t length = 0;
  if (from.size >= sizeof length) std::memcpy(&length, from.data, sizeof length);
  if (from.size < sizeof length || length < 0 ||
      static_cast<uint64_t>(length) > from.size - sizeof length)
    base::fail(ErrorCode::Internal, "a message of {} bytes has a head of {}", from.size, length);
  const size_t size = sizeof length + static_cast<size_t>(length);
  const auto buffer = std::make_shared<Buffer>(size);
  std::memcpy(buffer->data(), &length, sizeof length);
  std::memcpy(buffer->data() + sizeof length, from.data + sizeof length, size - sizeof length);
  return {from.source, buffer->data(), size, buffer};
}

Delivery with_room_for_values(const Delivery& head, size_t size) {
  const auto buffer = std::make_shared<Buffer>(size);
  std::memcpy(buffer->data(), head.data, head.size);
  return {head.source, buffer->data(), size, buffer};
}

}  // namespace

std::optional<CopyingReceiver::Copy> CopyingReceiver::copy(const std::vector<Delivery>& from) {
  Copy copy;
  try {
    for (const auto& delivery : from) {
      auto& mine = copy.deliveries.emplace_back(copy_head(delivery));
      copy.heads += sizeof(Copy) + sizeof(Delivery) + sizeof(Buffer) + mine.size;
      if (!is_wanted(decode_head(mine.data, mine.size))) continue;
      mine = with_room_for_values(mine, delivery.size);
      copy_values(delivery, mine, copy);
    }
  } catch (const std::exception&) {
    if (!from_->is_evicted()) throw;
  }
  if (from_->is_evicted()) return {};
  ++messages_;
  constexpr int64_t lifetime = 64;
  std::erase_if(kept_, [&](const auto& k) { return messages_ - k.second.used > lifetime; });
  return copy;
}

bool CopyingReceiver::is_wanted(const PublicationHeader& header) const {
  return header.kind == MessageKind::Publication && !header.dropped &&
         std::any_of(header.due.begin(), header.due.end(), [&](const Due& due) {
           return due.analysis >= wanted_.first && due.analysis - wanted_.first < wanted_.count;
         });
}

// An array is in the message, at the same place as in the copy, or in memory that is lent.
void CopyingReceiver::copy_values(const Delivery& from, const Delivery& to, Copy& copy) {
  std::map<const std::byte*, Place> places;
  const auto decoded = decode(to.data, to.size, to.keep, [&](const Lent& lent, size_t bytes) {
    const auto* data = from_->look(from.source, lent, bytes);
    places[data] = {from.source, lent.region, lent.offset};
    return data;
  });
  auto* const begin = const_cast<std::byte*>(to.data);  // of the buffer, which is ours
  for (const auto& [name, mesh] : decoded.meshes)
    for (const auto& block : mesh.blocks)
      for (const auto& [field, array] : block.arrays) {
        const auto* data = static_cast<const std::byte*>(array.data);
        const size_t bytes = model::bytes_of(array, block.box);
        if (bytes == 0 || !wanted_.fields.contains(field)) continue;
        if (const auto lent = places.find(data); lent != places.end()) {
          auto& own = copy.lent[lent->second];
          if (own && own->capacity() >= bytes) continue;  // fields may begin at the same place
          own = copy_of(lent->second, data, bytes, array.version);
        } else {
          std::memcpy(begin + (data - begin), from.data + (data - begin), bytes);
        }
      }
}

// Whether the run has overwritten what is being copied is found before the copy is used.
std::shared_ptr<Buffer> CopyingReceiver::copy_of(const Place& place, const std::byte* data,
                                                 size_t bytes, int64_t version) {
  if (const auto kept = kept_.find(place); version != 0 && kept != kept_.end() &&
                                           kept->second.version == version &&
                                           kept->second.values->capacity() >= bytes) {
    kept->second.used = messages_;
    return kept->second.values;
  }
  auto values = std::make_shared<Buffer>(bytes);
  std::memcpy(values->data(), data, bytes);
  if (version != 0) kept_[place] = {version, values, messages_};
  return values;
}

std::optional<std::vector<Delivery>> CopyingReceiver::next() {
  std::unique_lock lock(mutex_);
  while (queue_.empty() && !ended_) {
    if (leave_()) return {};
    // The thread that copies wakes it; now and then it looks whether it must leave.
    changed_.wait_for(lock, look_again);
  }
  if (queue_.empty() && failure_) std::rethrow_exception(failure_);
  if (queue_.empty()) return {};
  current_ = std::move(queue_.front());
  queue_.pop_front();
  waiting_heads_ -= current_.heads;
  changed_.notify_one();
  return current_.deliveries;
}

bool CopyingReceiver::is_evicted() const {
  const std::lock_guard lock(mutex_);
  return evicted_ && queue_.empty();
}

void CopyingReceiver::finish(int64_t sequence, const std::set<int32_t>& disabled,
                             const std::string& /*failure*/) {
  from_->report(sequence, disabled);
}

const std::byte* CopyingReceiver::look(int source, const Lent& lent, size_t /*bytes*/) {
  const auto at = current_.lent.find({source, lent.region, lent.offset});
  return at == current_.lent.end() ? nullptr : at->second->data();
}

}  // namespace pillion::transport
