// SPDX-License-Identifier: BSD-3-Clause
// A channel carries the messages of one simulation rank to the sidecars of its node: a counter of
// what was published, a ring of records with the places of each message's bytes, and slots for the
// readers. Every word has one writer, nothing is ever locked, and each side may die at any point.
// protocol.pml models what is here, and is checked by the test suite.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "node/process.hpp"
#include "node/shared_budget.hpp"
#include "node/shared_file.hpp"

namespace pillion::node {

/// A word of shared memory that a process can sleep on until another one changes it.
using Word = std::atomic<uint32_t>;

// Who has which bytes of a ring: pieces are placed in order and freed in order, so it never
// fragments. Only numbers; the memory is somewhere else. The writer alone knows this.

class Arena {
 public:
  explicit Arena(size_t capacity) : capacity_(capacity) {}

  /// Where a piece of `size` bytes would go, or nothing if there is no room for it now.
  [[nodiscard]] std::optional<size_t> find(size_t size) const;
  /// Bytes of the pieces of all messages before `index`.
  [[nodiscard]] size_t in_use_before(int64_t index) const;
  /// Places a piece for message `index`, larger than all before.
  std::optional<size_t> place(size_t size, int64_t index);
  /// Frees the pieces of all messages before `index`.
  void free_before(int64_t index);

  /// Where pieces go from now on; those beyond that stay until they are freed.
  void set_capacity(size_t capacity) { capacity_ = capacity; }
  [[nodiscard]] size_t capacity() const { return capacity_; }
  [[nodiscard]] size_t in_use() const { return in_use_; }
  [[nodiscard]] size_t peak() const { return peak_; }
  /// The end of the piece that reaches furthest.
  [[nodiscard]] size_t end() const;

 private:
  struct Piece {
    int64_t index;
    size_t begin, end;
  };
  size_t capacity_;
  size_t in_use_ = 0;
  size_t peak_ = 0;
  std::deque<Piece> pieces_;
};

constexpr int slot_count = 4;
constexpr int primary =
    0;  ///< the slot of the run's own sidecars; the others are for attached jobs
constexpr int64_t record_count = 1024;
constexpr int64_t most_analyses = 256;

using Count = std::atomic<int64_t>;
static_assert(Count::is_always_lock_free);

/// Messages finished by all holders of a slot so far, and how many of these were begun with by one
/// that died and so are lost; in one word, so that no death can come between the two.
using Progress = uint64_t;
constexpr int lost_bits = 20;
constexpr int64_t most_lost = (int64_t{1} << lost_bits) - 1;
/// Beyond a million lost messages, a number that never spoils that of those done, no more is
/// counted.
constexpr Progress progress_of(int64_t done, int64_t lost) {
  return static_cast<Progress>(done) << lost_bits |
         static_cast<Progress>(std::clamp<int64_t>(lost, 0, most_lost));
}
constexpr int64_t done_in(Progress p) { return static_cast<int64_t>(p >> lost_bits); }
constexpr int64_t lost_in(Progress p) {
  return static_cast<int64_t>(p & static_cast<Progress>(most_lost));
}

/// A number that all processes of a sidecar job have, and no other job; 0 stands for none.
using JobNumber = uint64_t;

/// Where the bytes of a message are: in the segment, or in the channel's spill file.
struct Record {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t spilled = 0;
  uint32_t reserved = 0;
};

enum class SlotPhase : uint32_t {
  Free = 0,
  Claimed = 1,  ///< an attached job has sat down
  Ready = 2,    ///< and wants to be given messages
  Active = 3,   ///< the simulation gives it messages
  Leaving = 4  ///< the attached job wants no more; in the primary slot: all that will ever come was
               ///< dealt with
};

/// Pages are not larger than this on machines that Pillion runs on. What different jobs may write
/// to never shares one.
constexpr size_t largest_page = size_t{1} << 16;

/// What the holder of a slot says to the simulation. A sidecar job can write to the slot that it
/// holds, and to nothing else, so the simulation checks all that it reads here. The primary slot is
/// always in use, whichever process holds it, so that messages wait for a sidecar that comes late
/// or restarts.
struct SlotWords {
  // written by the holder, but for clearing
  alignas(64) std::atomic<Token> holder;
  std::atomic<JobNumber> job;  ///< the holder's, the same in all slots that its job holds
  std::atomic<SlotPhase> state;
  Word sleeping;                   ///< the holder sleeps on the call
  Word bell;                       ///< changes whenever the holder has finished something or leaves
  Word changes;                    ///< changes whenever disabled bits do
  Count begun;                     ///< messages it has begun with
  Count worked;                    ///< of an attached job: messages it has worked on
  std::atomic<Progress> progress;  ///< messages it has finished, and the ones that were lost
  std::atomic<int32_t> base;       ///< what the run calls the attached job's analysis 0
  std::array<std::atomic<uint64_t>, most_analyses / 64> disabled;
  /// By analysis, publications finished or lost. Of two arrays the one that counts is that of the
  /// parity of the messages done, so that it changes together with that number.
  std::array<std::array<std::atomic<uint64_t>, most_analyses>, 2> over;
  /// Of the last checkpoint; empty if there was none. By the same parity.
  std::array<std::array<char, 256>, 2> failure;
};

/// What the simulation rank of a channel says. Sidecars map it for reading only.
struct ChannelWords {
  // written once, before anyone reads
  alignas(64) std::atomic<Token> writer;
  int32_t rank;  ///< of the writer, among simulation ranks
  int32_t spill_descriptor;
  uint64_t spill_nonce;  ///< see FileAddress
  uint64_t values_offset, values_size;
  uint64_t heads_offset, heads_size;
  // written as the run continues
  alignas(64) Count published;
  Count freed;  ///< messages before this one may be overwritten
  Word call;    ///< changes whenever `published` does
  Word asleep;  ///< 1 + the slot on whose bell the simulation rank sleeps, or 0
  Word closed;  ///< no message will follow
  /// By slot: nothing is kept any more for the attached job that holds it.
  std::array<Word, slot_count> evicted;
  /// By slot: a job whose processes shall end, for one of them has died.
  std::array<std::atomic<JobNumber>, slot_count> expelled;
  BudgetWords budget;
  alignas(64) std::array<Record, record_count> records;
};

/// Where readers find the channel's spill file. Written before anyone reads.
inline void set_spill_address(ChannelWords& words, const FileAddress& address) {
  words.spill_descriptor = address.descriptor;
  words.spill_nonce = address.nonce;
}
[[nodiscard]] inline FileAddress spill_address(const ChannelWords& words) {
  return {words.writer, words.spill_descriptor, words.spill_nonce};
}

using SlotsOfChannel = std::array<SlotWords*, slot_count>;

/// What attached jobs alone still hold in the memory for messages.
struct AttachedHold {
  size_t bytes = 0;      ///< of values; they would be free without attached jobs
  int64_t oldest = 0;    ///< number of the oldest message that is held by anyone
  bool decides = false;  ///< without attached jobs there would be room for what was asked about
};

/// The simulation rank's end. One thread uses it.
class ChannelWriter {
 public:
  /// `primary_in_use`: the run has sidecars of its own, and their messages are kept for them.
  ChannelWriter(ChannelWords& words, const SlotsOfChannel& slots, bool primary_in_use);

  /// Offset in the segment for a message's bytes, or nothing if there is no room. Only the last
  /// reservation counts.
  std::optional<uint64_t> reserve(size_t size);
  /// The same in memory that is kept for heads, which are small.
  std::optional<uint64_t> reserve_head(size_t size) { return reserve_head(size, published_); }
  /// The same until message `last`, counted from 0, is finished. There are records for all up to
  /// it.
  std::optional<uint64_t> reserve_head(size_t size, int64_t last);
  /// Whether a message of that size could be published now.
  [[nodiscard]] bool fits(size_t size) const;
  /// Whether a head without values could.
  [[nodiscard]] bool fits_head() const;
  /// Publishes a message whose bytes have been written.
  void publish(const Record& record);
  /// Says that no message will follow.
  void close();

  /// Takes note of what readers have finished and of attached jobs that have died or left. Returns
  /// the number of messages that no reader needs any more.
  int64_t reclaim();
  /// Sleeps until the reader that holds back the oldest message has finished something, or at most
  /// `patience`.
  void wait(double patience);

  [[nodiscard]] int64_t published() const { return published_; }
  [[nodiscard]] int64_t freed() const { return freed_; }
  [[nodiscard]] const Arena& values() const { return values_; }
  /// How much of the memory for values may be used, from its beginning on.
  void set_capacity(size_t bytes) { values_.set_capacity(std::min(bytes, values_size_)); }
  /// Whether a living process holds the slot.
  bool is_held(int slot);
  /// The job of a slot's holder that was seen alive and has died without leaving; 0 if there is
  /// none.
  [[nodiscard]] JobNumber lost_job(int slot);
  /// Has that job's processes in slots of this channel end.
  void expel(JobNumber job);
  /// Whether there may be attached jobs.
  [[nodiscard]] bool has_attached_jobs() const;
  /// Changes whenever readers have disabled something.
  [[nodiscard]] uint32_t changes() const;
  [[nodiscard]] SlotWords& slot(int number) { return *slots_[static_cast<size_t>(number)]; }
  [[nodiscard]] const SlotWords& slot(int number) const {
    return *slots_[static_cast<size_t>(number)];
  }
  /// Why the holder of a slot could not save its part of the last checkpoint: printable, whatever
  /// stands there; empty if it could.
  [[nodiscard]] std::string failure(int slot) const;
  /// Messages that the holder of a slot has finished, and has begun with: whatever stands in memory
  /// that others may write, never more than there are.
  [[nodiscard]] int64_t done(int slot) const;
  [[nodiscard]] int64_t begun(int slot) const;
  /// Messages that an attached job has worked on. All of them if it gets no more.
  [[nodiscard]] int64_t worked(int slot) const;
  /// Messages that a holder had finished when it was evicted, or has finished.
  [[nodiscard]] int64_t finished(int slot) const {
    return is_evicted(slot) ? finished_[static_cast<size_t>(slot)] : done(slot);
  }
  /// Gives an attached job that is ready all messages from the next one on.
  void activate(int slot);
  /// Whether that was done and the slot has not been cleared since, whatever stands in memory.
  [[nodiscard]] bool is_active(int slot) const { return active_[static_cast<size_t>(slot)]; }
  /// Tells an attached job that is ready that it gets none.
  void turn_away(int slot);
  /// Whether an attached job has sat down and is dead, or wants to leave.
  bool is_deserted(int slot);
  /// Takes the primary slot for good from sidecars that are dead or have left, so that none come
  /// after them. False if living ones hold it.
  bool retire();
  /// Frees an attached job's slot, now or as soon as its holder is dead or wants to leave. Nothing
  /// is kept for it from here on.
  void vacate(int slot);

  /// What attached jobs hold while there is no room for a message of that size, or for a head. Only
  /// they read `beside` bytes beside messages, which messages could have.
  [[nodiscard]] AttachedHold attached_hold(size_t size, size_t beside = 0);
  /// The number before which the run's own sidecars need no message.
  [[nodiscard]] int64_t needed_by_primary() const {
    return in_use(primary) ? done(primary) : published_;
  }
  /// Keeps nothing any more for the attached job that holds back the oldest message. It may be
  /// reading, so it looks whether this has happened before it uses what it has read.
  void evict_slowest();
  /// Whether nothing is kept for the attached job in a slot, which has the slot still.
  [[nodiscard]] bool is_evicted(int slot) const { return evicted_[static_cast<size_t>(slot)]; }
  [[nodiscard]] bool is_vacating(int slot) const { return vacating_[static_cast<size_t>(slot)]; }

 private:
  [[nodiscard]] bool in_use(int slot) const;
  void evict(int slot);
  /// The slot that holds back the oldest message.
  [[nodiscard]] int slowest();
  void clear_deserted();
  void call_readers();
  ChannelWords& words_;
  SlotsOfChannel slots_;
  bool primary_in_use_;
  // What this rank addresses memory with is kept here and never read again.
  uint64_t values_offset_, heads_offset_;
  size_t values_size_;
  Arena values_, heads_;
  int64_t published_ = 0;
  int64_t freed_ = 0;
  std::array<Watch, slot_count> watches_;
  std::array<Token, slot_count> seen_{};  ///< the last holders that were alive
  std::array<bool, slot_count> vacating_{}, active_{}, evicted_{};
  std::array<int64_t, slot_count> finished_{};  ///< of holders that are evicted
};

/// A sidecar's end. One thread uses it.
class ChannelReader {
 public:
  /// Only `slot`, which is number `number` of the channel, is ever written to.
  ChannelReader(const ChannelWords& words, SlotWords& slot, int number)
      : words_(words), slot_(slot), number_(number) {}

  /// Takes the slot for a process of that job, unless a live process holds it.
  bool claim(JobNumber job = 0);
  /// Leaves the slot to others.
  void leave();
  /// Whether this process still holds the slot.
  [[nodiscard]] bool is_mine() const { return slot_.holder == me_; }
  /// Whether messages that this reader has not finished may have been overwritten. If not, all that
  /// it has read before is as it was published.
  [[nodiscard]] bool is_evicted() const;
  /// Whether this process shall end, for another of its job has died. Any thread may ask.
  [[nodiscard]] bool is_expelled() const;
  /// Whether the simulation rank has died.
  [[nodiscard]] bool is_orphaned() { return !writer_.lives(words_.writer); }

  /// The number that comes after everything that a holder of this slot has begun with, and what
  /// holders have finished: never messages that are not there, whatever stands in the slot.
  [[nodiscard]] int64_t begun() const { return published_part(slot_.begun); }
  [[nodiscard]] Progress progress() const;
  /// Continues after the progress of earlier holders.
  void start_at(Progress progress);

  enum class Next { Message, End, Nothing };
  /// Waits for message `index`: it is there, or it will never come, or patience ran out. One that
  /// may doze looks now and then by itself at first, which spares the writer a call.
  Next wait(int64_t index, double patience, bool may_doze = true);
  [[nodiscard]] int64_t published() const { return words_.published; }
  /// Of a message that was published. Throws ErrorCode::Internal if it has been freed.
  [[nodiscard]] Record record(int64_t index) const;
  /// Says that message `index` is being read; from here on a successor will not read it again.
  void begin(int64_t index) { slot_.begun = index + 1; }
  /// Says that analyses were disabled.
  void show_change() { slot_.changes.fetch_add(1); }
  /// Says why a checkpoint failed, together with the finish of message `index`.
  void set_failure(const std::string& text, int64_t index);
  /// Says that message `index` is finished and its bytes may go.
  void finish(int64_t index);

  [[nodiscard]] SlotWords& slot() const { return slot_; }
  [[nodiscard]] const ChannelWords& words() const { return words_; }

 private:
  [[nodiscard]] int64_t published_part(int64_t index) const;
  void ring();
  [[nodiscard]] bool keep_slot();
  /// Waits for message `index` with naps; false if it is time to sleep until woken.
  bool doze(int64_t index, double patience);
  void sleep(int64_t index, double patience);
  const ChannelWords& words_;
  SlotWords& slot_;
  int number_;
  Token me_ = 0;
  JobNumber job_ = 0;
  Watch writer_;
  Progress progress_ = 0;  ///< the slot has a copy of it
  int64_t dozing_for_ = -1;
  double dozing_since_ = 0;  ///< monotonic seconds
};

}  // namespace pillion::node
