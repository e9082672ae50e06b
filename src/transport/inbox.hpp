// SPDX-License-Identifier: BSD-3-Clause
// Messages from several ranks. Receives are posted before messages come, at most two for each
// rank, and within a budget of memory: so the next publication travels while sidecars are busy with
// this one. Both ends work out from the sizes of earlier messages how large the posted receive is.
// A larger message is announced in its place, and follows with a tag of its own.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "comm/message.hpp"
#include "transport/staging.hpp"

namespace pillion::transport {

/// How many receives are posted for each sender.
constexpr size_t most_posted = 2;

/// How large the receives are that are posted for the messages of one sender: as large as the
/// largest of the last sixteen that were already taken when the receive was posted, and a little
/// more.
class ExpectedSizes {
 public:
  static constexpr size_t least = 4096;
  /// Of the receive for message number `message`, counted from 0; all up to number `message` -
  /// most_posted were added.
  [[nodiscard]] size_t of(int64_t message) const;
  void add(size_t size) { sizes_[static_cast<size_t>(count_++) % kept] = size; }
  /// How many were added.
  [[nodiscard]] int64_t count() const { return count_; }

 private:
  static constexpr size_t window = 16, kept = window + most_posted;
  std::array<size_t, kept> sizes_{};  ///< of the last ones; by number, modulo `kept`
  int64_t count_ = 0;
};

/// Stands in the place of a message that follows; any other message is longer.
struct Announcement {
  int64_t size = 0;
};

struct Message {
  std::shared_ptr<Buffer> buffer;
  size_t size = 0;
};

/// Memory for what one process receives, and the lock for all calls of MPI that receive it. Memory
/// is counted when it is allocated, and kept for the next message.
class ReceiveRoom {
 public:
  explicit ReceiveRoom(size_t budget) : budget_(budget) {}

  std::mutex mutex;
  bool is_taking = false;               ///< the program itself looks for messages; under the lock
  std::function<void()> taken = [] {};  ///< called when it does so no more

  /// Memory of at least that size; null if the budget has no room for it, unless it `must` be. The
  /// lock is held.
  std::shared_ptr<Buffer> find(size_t size, bool must);
  [[nodiscard]] size_t budget() const { return budget_; }
  [[nodiscard]] size_t allocated() const { return allocated_; }
  [[nodiscard]] size_t peak() const { return peak_; }

 private:
  void free_idle(size_t wanted);

  size_t budget_, allocated_ = 0, peak_ = 0;
  std::vector<std::shared_ptr<Buffer>> buffers_;  ///< idle when no other object holds them
};

class Inbox {
 public:
  /// `large_tag` is for messages that were announced.
  Inbox(const comm::Communicator& wire, int tag, int large_tag, ReceiveRoom& room)
      : wire_(wire), tag_(tag), large_tag_(large_tag), room_(room) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;
  ~Inbox();

  /// Posts receives for these ranks, from now on, as far as there is room, and withdraws those of
  /// all others, but for messages that have come already. Waits for nothing.
  void expect(const std::set<int>& sources);
  /// Takes in what has come from ranks that are expected. Waits for nothing; any thread.
  void look();
  /// The next message of each source, in their order. Waits without burning a core. The messages
  /// have room whatever the budget is.
  std::vector<Message> take(const std::vector<int>& sources);
  /// For how many ranks there are receives or messages, for tests.
  [[nodiscard]] size_t sources() const { return sources_.size(); }

 private:
  enum class State { Posted, Announced, Arriving, Here };
  struct Coming {
    Message message;
    comm::Request request;
    State state = State::Posted;
  };
  struct Source {
    ExpectedSizes sizes;
    std::deque<Coming> coming;
    bool is_expected = true;
  };
  Source& source_of(int rank);
  void withdraw(int rank, Source& source);
  void post(int rank, Source& source, size_t size, std::shared_ptr<Buffer> buffer);
  bool advance(int rank, Source& source, bool must);
  void settle(int rank, Coming& coming, bool must);

  const comm::Communicator& wire_;
  int tag_, large_tag_;
  ReceiveRoom& room_;
  std::map<int, Source> sources_;
  std::map<int, ExpectedSizes> sizes_;  ///< of ranks that are not expected, for when they are again
};

}  // namespace pillion::transport
