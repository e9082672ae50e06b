// SPDX-License-Identifier: BSD-3-Clause
// What attached jobs may hold, and when the simulation takes it back. Messages are freed in
// order, so one that a job holds keeps all later ones, also those of the run's own analyses. What
// attached jobs alone hold is theirs only up to the limit that the owner of the run has set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace pillion::policy {

/// What this rank sees when a publication of the run's own analyses has no room.
struct RoomTaken {
  size_t wanted = 0;          ///< bytes of the publication
  size_t capacity = 0;        ///< bytes of this rank's memory for messages
  size_t in_use = 0;          ///< of them
  size_t by_attached = 0;     ///< of that, held by attached jobs alone
  size_t limit = 0;           ///< of that, as the owner of the run says
  int64_t oldest = 0;         ///< number of the oldest message that is held
  bool fits_without = false;  ///< without attached jobs there would be room
  double now = 0;             ///< monotonic seconds
};

class Eviction {
 public:
  /// Whether the job that holds the oldest message loses it. At once if attached jobs hold more
  /// than their limit; after a second with the same message if they hold less, but room for the
  /// publication is missing all the same: between messages, or of what counts messages.
  [[nodiscard]] bool is_due(const RoomTaken& room) {
    constexpr double patience = 1;  // seconds
    if (!room.fits_without) return waiting_ = false;
    if (room.by_attached > room.limit) return true;
    // Else the run's own sidecars hold the rest, and make room when they are through.
    const bool fits = room.in_use + room.wanted <= room.capacity;
    if (!fits && room.in_use > room.by_attached) return waiting_ = false;
    if (!waiting_ || room.oldest != oldest_) since_ = room.now;
    waiting_ = true;
    oldest_ = room.oldest;
    return room.now - since_ > patience;
  }
  /// There was room.
  void reset() { waiting_ = false; }

 private:
  bool waiting_ = false;
  int64_t oldest_ = 0;
  double since_ = 0;
};

/// Bytes of values for attached jobs: in this rank's memory, and what the jobs copy of them, which
/// is more if values are read in place.
struct AttachedBytes {
  int64_t copied = 0, taken = 0;
};

/// Bytes in messages that attached jobs have not worked on.
class AttachedLoad {
 public:
  /// A message for them has these bytes, whether it is sent or finds no room. The next one is
  /// expected to be as large.
  void expect(AttachedBytes bytes) { expected_ = bytes; }
  /// That message was sent.
  void add(int64_t sequence) {
    messages_.emplace_back(sequence, expected_);
    sum_.copied += expected_.copied;
    sum_.taken += expected_.taken;
  }
  /// All attached jobs have worked on the messages up to number `worked`.
  void release(int64_t worked) {
    for (; !messages_.empty() && messages_.front().first <= worked; messages_.pop_front()) {
      sum_.copied -= messages_.front().second.copied;
      sum_.taken -= messages_.front().second.taken;
    }
  }
  /// Whether the next message is within the limit, in bytes. A field that is read in place may be
  /// larger than the limit; a job may have two of these.
  [[nodiscard]] bool fits(int64_t limit) const {
    return sum_.copied + expected_.copied <= limit &&
           sum_.taken + expected_.taken <= std::max(limit, 2 * expected_.taken);
  }

 private:
  std::deque<std::pair<int64_t, AttachedBytes>> messages_;
  AttachedBytes sum_;  ///< in these
  AttachedBytes expected_;
};

}  // namespace pillion::policy
