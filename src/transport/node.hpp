// SPDX-License-Identifier: BSD-3-Clause
// The node transport: messages go through memory that the simulation ranks of a node share with
// sidecars, be they in the same MPI job or not. The simulation copies a message once, at most, and
// never waits.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <set>

#include "node/segment.hpp"
#include "transport/publication_header.hpp"
#include "transport/spill.hpp"
#include "transport/transport.hpp"

namespace pillion::transport {

class NodeSlots final : public Slots {
 public:
  /// Those of a channel that this process writes.
  NodeSlots(node::Segment& segment, node::ChannelWriter& writer);

  [[nodiscard]] bool any() const override { return writer_.has_attached_jobs(); }
  [[nodiscard]] SlotSight sight(int slot) override;
  [[nodiscard]] base::Bytes request(int slot) const override;
  void activate(int slot, int32_t first, int32_t count) override;
  void refuse(int slot) override { writer_.turn_away(node_slot(slot)); }
  Departure release(int slot) override;
  [[nodiscard]] int64_t needed() const override { return writer_.needed_by_primary(); }
  [[nodiscard]] node::AttachedHold hold(size_t size, size_t beside) override {
    return writer_.attached_hold(size, beside);
  }
  void evict_slowest() override { writer_.evict_slowest(); }
  [[nodiscard]] int64_t finished(int slot) const override {
    return writer_.finished(node_slot(slot));
  }
  [[nodiscard]] int64_t worked(int slot) const override { return writer_.worked(node_slot(slot)); }
  [[nodiscard]] bool retire() override { return writer_.retire(); }
  [[nodiscard]] bool is_over() const override {
    return writer_.slot(node::primary).state == node::SlotPhase::Leaving;
  }
  [[nodiscard]] std::vector<node::JobNumber> lost_jobs() override;
  void expel(node::JobNumber job) override { writer_.expel(job); }
  [[nodiscard]] bool has_sidecars() override { return writer_.slot(node::primary).holder != 0; }
  void close() override;
  /// Whether close() must wait until hold(false), for there are messages on their way to the disk.
  void hold(bool holds);

  /// The analyses of the run that jobs which are in a slot have disabled, as seen last.
  [[nodiscard]] const std::set<int32_t>& disabled() const { return disabled_; }
  /// Looks again, if anything has changed.
  void see_disabled();

 private:
  /// The slots of attached jobs come after that of the sidecars.
  static int node_slot(int slot) { return slot + node::primary + 1; }

  /// Analyses of the run that the holder of a slot can disable: the first, and how many.
  struct Analyses {
    int32_t base = 0;
    int32_t count = 0;
  };
  node::Segment& segment_;
  node::ChannelWriter& writer_;
  std::array<Analyses, node::slot_count> analyses_{};
  uint32_t seen_changes_ = 0;
  std::set<int32_t> disabled_;
  bool holds_ = false, closing_ = false;
};

class NodeSender final : public Sender {
 public:
  /// The channel must have been taken by this process. `spill` may be null.
  /// With a `budget`, the channel has as much memory as this rank holds of that, and `spill` what
  /// suits its part: all ranks of the node together may spill `spill_limit` bytes.
  NodeSender(node::Segment& segment, int channel, bool primary_in_use,
             std::unique_ptr<SpillFile> spill, std::unique_ptr<node::SharedBudget> budget = nullptr,
             size_t spill_limit = 0);
  ~NodeSender() override;

  std::byte* reserve(size_t size) override;
  std::byte* reserve_head(size_t size) override;
  std::byte* reserve_spill(size_t size) override;
  void commit(int64_t sequence) override;
  void poll() override;
  void wait(double patience) override;
  [[nodiscard]] size_t budget() const override { return messages_; }
  void set_kept(const KeptMemory& kept) override;
  [[nodiscard]] bool may_keep(size_t bytes, size_t in_message) const override;
  [[nodiscard]] size_t room_to_retire() const override;
  void set_need(size_t bytes) override;
  void take_part() override { follow_budget(true); }
  /// Never while messages are on their way to the disk, which later ones may not overtake. Their
  /// memory is part of the budget.
  [[nodiscard]] bool fits(size_t size) const override {
    return queue_.empty() && writer_.fits(size) &&
           writer_.values().in_use() + size <= writer_.values().capacity();
  }
  [[nodiscard]] bool fits_head() const override {
    return queue_.size() < most_queued && writer_.fits_head();
  }
  [[nodiscard]] bool fits_spill(size_t size) const override {
    return spill_ && size <= messages_ && spill_->fits(size);
  }
  [[nodiscard]] bool fits_spill_now(size_t size) const override {
    return fits_spill(size) && spill_->fits_now(size);
  }
  [[nodiscard]] size_t in_flight() const override {
    return writer_.values().in_use() + kept_.retired + (spill_ ? spill_->memory() : 0);
  }
  [[nodiscard]] size_t peak() const override { return peak_; }
  [[nodiscard]] int64_t behind() const override;
  [[nodiscard]] int64_t unseen() const override { return static_cast<int64_t>(queue_.size()); }
  bool end_at(int64_t last, const base::Bytes& dropped, const base::Bytes& end) override;
  [[nodiscard]] bool is_served() override { return writer_.is_held(node::primary); }
  [[nodiscard]] const std::set<int32_t>& disabled() const override { return slots_.disabled(); }
  [[nodiscard]] std::string failure() const override;

  [[nodiscard]] int64_t released() override { return writer_.reclaim(); }
  [[nodiscard]] base::Copy copy() const override { return base::Copy::Streaming; }
  [[nodiscard]] Slots* slots() override { return &slots_; }

  [[nodiscard]] node::ChannelWriter& writer() { return writer_; }

 private:
  /// A message that is committed but not published: it goes to disk, or is a head behind such a
  /// one.
  struct Queued {
    std::shared_ptr<const SpillFile::Piece> piece;
    base::Bytes head;
  };
  static constexpr size_t most_queued = 64;
  /// Publishes what is on disk, in order. What could not be written goes to memory as soon as it
  /// fits there.
  void advance();
  bool publish(const Queued& message);
  /// Takes or gives back memory as the part of the budget has changed.
  void follow_budget(bool exact = false);
  void grow(size_t part);
  void shrink(size_t part);
  void use(size_t part);
  /// Gives messages what is kept beside them leaves, and notes what this rank holds in all.
  void settle();
  /// Puts memory behind the first `end` bytes for values; false if the machine has none.
  bool back(size_t end);
  void note_peak() { peak_ = std::max(peak_, in_flight() + kept_.copies()); }

  node::Segment& segment_;
  node::ChannelWriter writer_;
  NodeSlots slots_;
  std::unique_ptr<SpillFile> spill_;
  std::unique_ptr<node::SharedBudget> budget_;
  size_t spill_limit_;
  size_t part_;          ///< bytes of the budget for messages and what is kept beside them
  size_t backed_;        ///< bytes for values that have memory behind them, from the first on
  size_t messages_ = 0;  ///< bytes of the part for messages if nothing is retired
  size_t need_ = 0;      ///< bytes of the largest message
  KeptMemory kept_;
  std::deque<Queued> queue_;
  std::optional<node::Record> reserved_;
  enum class Place { Segment, Disk, Queue } place_ = Place::Segment;  ///< of what is reserved
  base::Bytes head_;
  size_t peak_ = 0;
};

/// One simulation rank's messages, for a reader.
struct Source {
  std::shared_ptr<node::Segment> segment;
  int channel = 0;
};

class NodeReceiver final : public Receiver {
 public:
  /// `give_up` is asked now and then while waiting.
  NodeReceiver(std::vector<Source> sources, int slot, std::function<bool()> give_up);

  /// Takes the slot at every source for a process of that job; false, and takes none, if another
  /// job holds any.
  bool claim(node::JobNumber job = 0);
  void leave();
  std::optional<std::vector<Delivery>> next() override;
  [[nodiscard]] bool is_evicted() const override;
  [[nodiscard]] bool is_orphaned() override;
  /// Whether this process shall end, for another of its job has died. Any thread may ask.
  [[nodiscard]] bool is_expelled() const;
  void begin() override;
  void finish(int64_t sequence, const std::set<int32_t>& disabled,
              const std::string& failure) override;
  const std::byte* look(int source, const Lent& lent, size_t bytes) override;

  /// Tells the sources, from any thread, how many messages an attached job has worked on, and which
  /// analyses are disabled.
  void report(int64_t worked, const std::set<int32_t>& disabled);
  void set_give_up(std::function<bool()> give_up) { give_up_ = std::move(give_up); }
  /// The number after all messages that holders of the slot have begun with, and how far they got;
  /// the most over all sources.
  [[nodiscard]] int64_t begun() const;
  [[nodiscard]] node::Progress progress() const;
  void start_at(node::Progress progress);
  /// Heads of the messages of the first source that are not finished.
  [[nodiscard]] std::vector<PublicationHeader> unread() const;
  [[nodiscard]] bool has_sources() const { return !sources_.empty(); }
  /// A message that was published, whether or not it was begun with.
  [[nodiscard]] std::vector<Delivery> read(int64_t index);
  [[nodiscard]] std::set<int32_t> disabled() const;
  /// How many publications of an analysis were over, finished or lost, when `done` messages were.
  [[nodiscard]] int64_t over(size_t analysis, int64_t done) const;
  /// How many will be when `done` messages are.
  void set_over(const std::vector<int64_t>& over, int64_t done);
  /// Messages that will be finished after the current one.
  [[nodiscard]] int64_t next_done() const { return index_ + 1; }
  /// Marks at the primary slot that no sidecar need come after this sidecar job, or returns whether
  /// a sidecar job has marked it.
  void show_over();
  [[nodiscard]] bool is_over() const;
  /// Shows all sources that the attached job on this slot is ready; its requests are on the control
  /// pages.
  void show_ready();
  /// What the run calls the attached job's analysis 0.
  [[nodiscard]] int32_t base() const;
  /// Waits until all sources give messages; false if that will never be.
  bool await_activation();
  [[nodiscard]] const std::vector<Source>& sources() const { return sources_; }

 private:
  Delivery deliver(size_t source, int64_t index);
  std::vector<Source> sources_;
  std::function<bool()> give_up_;
  std::vector<std::shared_ptr<node::SlotWords>> slots_;
  std::deque<node::ChannelReader> readers_;
  std::vector<SpillReader> spills_;
  int64_t index_ = 0;
};

}  // namespace pillion::transport
