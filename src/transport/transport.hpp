// SPDX-License-Identifier: BSD-3-Clause
// How publications reach sidecars, whatever carries them: MPI messages (network), or memory that
// the ranks of a node share (node).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/copy.hpp"
#include "node/channel.hpp"
#include "redistribution/message_part.hpp"
#include "transport/kept_memory.hpp"

namespace pillion::transport {

/// Where a value lies in memory that sidecars see too.
struct Lent {
  uint64_t region = 0;       ///< offset of the region in the segment
  uint64_t region_size = 0;  ///< bytes
  uint64_t offset = 0;       ///< of the value in the region
};

/// Finds values that need not be copied.
class Lender {
 public:
  Lender() = default;
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;
  virtual ~Lender() = default;
  /// Nothing if sidecars do not see the memory, or may not keep it now.
  [[nodiscard]] virtual std::optional<Lent> find(const void* data) const = 0;
};

/// Which analyses are due in a publication, after how coarse it is.
using DueSet = std::vector<int32_t>;
using redistribution::MeshCuts;
using redistribution::Meshes;
using redistribution::MeshKeys;
using redistribution::MessagePart;

/// How receivers want a publication that they do not take as it is shared.
struct Targets {
  int sidecars = 0;
  int primary = 0;  ///< the sidecar that gets this rank's headers
  const MeshCuts* cuts = nullptr;
};

/// What a rank sees of an attached job.
enum class SlotSight { Free, Ready, Active, Lost, Evicted };

/// What an attached job had done when its slot was released.
struct Departure {
  int64_t worked = 0;         ///< messages that it had worked on
  bool of_own_accord = true;  ///< it has left; otherwise it has died, or was evicted
};

/// Where jobs attach: the simulation's sidecars, if they are a job of their own, and up to three
/// jobs that add analyses, numbered from 0.
class Slots {
 public:
  Slots() = default;
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  virtual ~Slots() = default;
  /// Whether any slot of an attached job is taken. Costs one look at memory.
  [[nodiscard]] virtual bool any() const = 0;
  [[nodiscard]] virtual SlotSight sight(int slot) = 0;
  /// What the job in a slot asks for.
  [[nodiscard]] virtual base::Bytes request(int slot) const = 0;
  /// Gives the job all further messages; its analyses are those of the run from `first` on.
  virtual void activate(int slot, int32_t first, int32_t count) = 0;
  virtual void refuse(int slot) = 0;
  /// From here on no analysis of the run is the job's.
  virtual Departure release(int slot) = 0;
  /// The number before which only attached jobs need messages.
  [[nodiscard]] virtual int64_t needed() const = 0;
  /// What attached jobs hold while a message of that size finds no room: with `beside` bytes that
  /// only they read, beside messages.
  [[nodiscard]] virtual node::AttachedHold hold(size_t size, size_t beside) = 0;
  /// Takes its messages from the job that holds the oldest one.
  virtual void evict_slowest() = 0;
  /// Messages that the job in a slot has taken, and that it has worked on.
  [[nodiscard]] virtual int64_t finished(int slot) const = 0;
  [[nodiscard]] virtual int64_t worked(int slot) const = 0;
  /// No job shall take the sidecars' place any more; false if living sidecars have it.
  [[nodiscard]] virtual bool retire() = 0;
  /// Whether sidecars say that they have done all that will ever come, and written the report.
  [[nodiscard]] virtual bool is_over() const = 0;
  /// Jobs that have lost a process: it held a slot, and has died without leaving that.
  [[nodiscard]] virtual std::vector<node::JobNumber> lost_jobs() { return {}; }
  /// Has the processes of a job that hold slots here end.
  virtual void expel(node::JobNumber /*job*/) {}
  /// Whether sidecars have the place, living or dead.
  [[nodiscard]] virtual bool has_sidecars() = 0;
  /// There will be no more messages.
  virtual void close() = 0;
};

/// The simulation rank's end. Memory for messages comes from a budget; nothing waits here unless it
/// is documented to.
class Sender {
 public:
  Sender() = default;
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  virtual ~Sender() = default;

  /// Memory for a message of `size` bytes, or null if the budget has no room for it now.
  virtual std::byte* reserve(size_t size) = 0;
  /// The same beyond the budget, for heads without values; null only where fits_head() is false.
  virtual std::byte* reserve_head(size_t size) = 0;
  /// Memory for a message that goes to disk; null if there is no spilling, or its limit is reached.
  virtual std::byte* reserve_spill(size_t) { return nullptr; }
  /// Sends what was reserved last, as message number `sequence`. What goes to disk is on its way
  /// until it is there, and all later messages behind it.
  virtual void commit(int64_t sequence) = 0;
  /// The same if only the first `size` bytes are the message, and parts of the rest, which begins
  /// at the next multiple of 64, go to other sidecars: see targets().
  virtual void commit(int64_t sequence, size_t /*size*/,
                      const std::vector<MessagePart>& /*parts*/) {
    commit(sequence);
  }
  /// Takes note of what sidecars have finished.
  virtual void poll() = 0;
  /// Sleeps until sidecars have finished something, or at most `patience` seconds.
  virtual void wait(double patience) = 0;
  /// Whether messages are on their way out that move only while this rank calls progress().
  [[nodiscard]] virtual bool must_progress() const { return false; }
  /// Whether sidecars have finished all before those, and so wait for them.
  [[nodiscard]] virtual bool is_awaited() { return false; }
  /// Moves them, for at most `seconds`. Returns whether all have left.
  virtual bool progress([[maybe_unused]] double seconds) { return true; }

  /// Bytes of messages that this rank may have in flight: its part of its node's budget, but for
  /// copies that stay.
  [[nodiscard]] virtual size_t budget() const = 0;
  /// Sets what this rank has beside messages. They get what that leaves of its part.
  virtual void set_kept(const KeptMemory& /*kept*/) {}
  /// Whether there is room to keep `bytes` more without taking that of the largest message;
  /// `in_message` of them lie in that message now, and will not.
  [[nodiscard]] virtual bool may_keep(size_t /*bytes*/, size_t /*in_message*/) const {
    return true;
  }
  /// Bytes that there is room for when the program gives them back while receivers read them.
  [[nodiscard]] virtual size_t room_to_retire() const { return std::numeric_limits<size_t>::max(); }
  /// Sets the size of its messages: ranks of a node share their budget by what they need. The
  /// part changes with poll(), as others make room.
  virtual void set_need(size_t /*bytes*/) {}
  /// Takes its part exactly, and not only when that has changed much. Others must have given back
  /// what is theirs no more.
  virtual void take_part() {}

  /// Whether a message of that size would find room now.
  [[nodiscard]] virtual bool fits(size_t size) const = 0;
  [[nodiscard]] virtual bool fits_head() const { return true; }
  /// Whether one of that size could go to disk, and whether at once.
  [[nodiscard]] virtual bool fits_spill(size_t /*size*/) const { return false; }
  [[nodiscard]] virtual bool fits_spill_now(size_t /*size*/) const { return false; }
  /// Bytes of messages that sidecars have not finished, and of what they read beside them that the
  /// program has given back.
  [[nodiscard]] virtual size_t in_flight() const = 0;
  /// The most of them so far, with the copies that stay.
  [[nodiscard]] virtual size_t peak() const = 0;
  /// Messages that the run's own sidecars have not finished.
  [[nodiscard]] virtual int64_t behind() const = 0;
  /// Messages that are committed, but still on their way to the disk: receivers cannot see them.
  [[nodiscard]] virtual int64_t unseen() const { return 0; }
  /// Drops these. Receivers get `dropped` in their place, and as many more as it takes for `end` to
  /// be message number `last`, counted from 0; nothing follows. Returns false if there is no room
  /// for that.
  virtual bool end_at(int64_t /*last*/, const base::Bytes& /*dropped*/,
                      const base::Bytes& /*end*/) {
    return false;
  }
  /// Whether anybody is there to finish them.
  [[nodiscard]] virtual bool is_served() { return true; }
  /// How receivers want a publication for these analyses; nothing if as it is shared.
  [[nodiscard]] virtual std::optional<Targets> targets(const DueSet& /*due*/) const { return {}; }
  /// Changes when targets() do.
  [[nodiscard]] virtual int64_t targets_version() const { return 0; }
  /// The number before which no message is read any more.
  [[nodiscard]] virtual int64_t released() { return std::numeric_limits<int64_t>::max(); }
  /// How values are best copied into its memory.
  [[nodiscard]] virtual base::Copy copy() const { return base::Copy::Plain; }
  /// Null if no job can attach.
  [[nodiscard]] virtual Slots* slots() { return nullptr; }

  /// Analyses that sidecars have disabled, as far as is known here.
  [[nodiscard]] virtual const std::set<int32_t>& disabled() const = 0;
  /// Why messages move only while the program calls Pillion, if that is a failure; once.
  [[nodiscard]] virtual std::string take_warning() { return {}; }
  /// Why the last checkpoint failed in the sidecars; "" if it did not.
  [[nodiscard]] virtual std::string failure() const = 0;
};

class DirectReceiver;

/// One message as it arrived.
struct Delivery {
  int source = -1;
  const std::byte* data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> keep;
};

/// The sidecar rank's end.
class Receiver {
 public:
  Receiver() = default;
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  virtual ~Receiver() = default;

  /// The next message of every source, in the order of sources; nothing if from some source none
  /// will come any more, or if this rank must leave. Waits without burning a core.
  virtual std::optional<std::vector<Delivery>> next() = 0;
  /// Whether what next() gave may have been overwritten since: this job is not waited for any more.
  /// If not, all that was read before is as it was sent.
  [[nodiscard]] virtual bool is_evicted() const { return false; }
  /// Whether some source has died: what it has sent is all that will come from there.
  [[nodiscard]] virtual bool is_orphaned() { return false; }
  /// Marks the begin of work on what next() gave: a successor of this process leaves it out.
  virtual void begin() {}
  /// Tells the sources that message `sequence` is finished, which analyses are disabled, and how a
  /// checkpoint failed.
  virtual void finish(int64_t sequence, const std::set<int32_t>& disabled,
                      const std::string& failure) = 0;
  /// Takes in what has come for later, where that is not done by others. Waits for nothing.
  virtual void look() {}
  /// Why messages come in only between analyses, if that is a failure; once.
  [[nodiscard]] virtual std::string take_warning() { return {}; }
  /// Brings in what goes past the headers to the sidecars that work on it; null if nothing does.
  [[nodiscard]] virtual DirectReceiver* direct() { return nullptr; }
  /// `bytes` bytes of memory that a message only points to. Throws ErrorCode::Internal if they are
  /// not there.
  [[nodiscard]] virtual const std::byte* look(int /*source*/, const Lent& /*lent*/,
                                              size_t /*bytes*/) {
    base::fail(ErrorCode::Internal, "a message points to memory that is not shared");
  }
};

}  // namespace pillion::transport
