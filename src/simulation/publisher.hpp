// SPDX-License-Identifier: BSD-3-Clause
// Hands publications to the sidecars: finds memory for their messages as the policy says, and sends
// them. All waiting for sidecars on a simulation rank is in wait().
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policy/eviction.hpp"
#include "policy/policy.hpp"
#include "policy/send_time.hpp"
#include "run/run_spec.hpp"
#include "simulation/cut_data.hpp"
#include "simulation/message_cache.hpp"
#include "simulation/subscribers.hpp"
#include "transport/transport.hpp"

namespace pillion::base {
class CopyThreads;
}
namespace pillion::node {
class Segment;
}
namespace pillion::run {
class Agenda;
class Stopwatch;
struct Outcome;
struct Snapshot;
}  // namespace pillion::run

namespace pillion::simulation {

class Allocations;
class Sharing;

/// How a simulation rank reaches sidecars.
struct Link {
  std::shared_ptr<node::Segment> segment;     ///< node memory, if messages go through it
  std::unique_ptr<transport::Sender> sender;  ///< null if there are no sidecars
  run::LayoutRequests layout_requests;        ///< layouts that stages in sidecars want
  size_t budget = 0;                          ///< bytes in flight, of all ranks of the node
  int64_t receive_limit = 0;     ///< bytes that all sidecars together may receive; 0 if they share
  size_t spill_memory = 0;       ///< beside it, bytes on their way to the disk
  bool awaits_sidecars = false;  ///< those of another job are on their way
};

/// Analyses that were in messages which the run's own sidecars may not have finished.
class Outstanding {
 public:
  /// Messages up to number `done` are finished, and forgotten.
  void add(int64_t sequence, const std::vector<size_t>& due, int64_t done);
  /// By analysis: in how many messages after number `done` it was.
  [[nodiscard]] std::vector<int64_t> count(size_t analyses, int64_t done) const;

 private:
  std::deque<std::pair<int64_t, std::vector<size_t>>> messages_;
};

/// What a wait for sidecars to finish everything is the end of.
enum class End { Checkpoint, Session };

class Publisher final : public policy::MessageBudget {
 public:
  /// `link` has a sender. Values that `lender` finds need not be copied.
  Publisher(run::Run& run, Link& link, const run::CutFields& cut_fields, const Sharing& sharing,
            const run::Agenda& agenda, Allocations& lender, Subscribers& subscribers,
            policy::Policy& policy);
  ~Publisher() override;

  /// Shares the budget of the node by what its ranks need. Throws a configuration error, the same
  /// on every rank, if a publication would never fit. [collective]
  void share_budget();
  /// The same for what sidecars have room to receive. [collective]
  void check_receive_limit();
  /// Carries out the policy's decision on this rank. Never throws for lack of room.
  void publish(const policy::Publish& action, const StageOutputs& left, int64_t step, double time);
  /// A header without values, of the message after the last one that was sent.
  transport::PublicationHeader header(transport::MessageKind kind, int64_t step, double time);
  transport::PublicationHeader end_header();
  void send(const transport::PublicationHeader& head);
  /// Sends the last header, with what this rank knows for the report if there is room. Returns
  /// whether it was sent.
  bool send_end(const base::Bytes& summary);
  /// Ends without what sidecars cannot see yet, which is lost. All ranks together, after
  /// send_end().
  void drop_unseen(const base::Bytes& summary);
  /// Takes note of what sidecars have finished.
  void poll();
  /// Sends on what is on its way, where that takes calls of this rank. Every step. Without memory
  /// for what comes back, the next step looks again.
  void progress() {
    if (!sender().must_progress()) return;
    try {
      send_on();
    } catch (const std::bad_alloc&) {}
  }
  /// Waits until `holds`, or as long as the policy lets it. Returns whether it holds.
  bool await(const std::function<bool()>& holds);
  /// Until sidecars have finished everything. The accounts have the wait.
  bool await_all(End end);
  /// Bills what this rank has waited at the end of a call for sidecars that had finished `done`
  /// messages: to analyses by how many of their publications were not among these.
  void bill_wait(const run::Stopwatch& watch, int64_t done, End end);
  /// Messages are smaller from now on: `bytes` of values are copied once, and not with each.
  void lower_need(size_t bytes) { need_ -= std::min(need_, bytes); }
  /// Units of a field or of a mesh are others now, or, with name "time", those of time.
  void set_units(const std::string& name, const std::string& units) {
    if (name != "time") units_[name] = units;
    messages_.forget();
  }

  // What the policy asks.
  [[nodiscard]] bool fits(size_t bytes) const override { return link_.sender->fits(bytes); }
  [[nodiscard]] bool fits_header() const override { return link_.sender->fits_head(); }
  [[nodiscard]] bool fits_spill(size_t bytes) const override {
    return link_.sender->fits_spill(bytes);
  }
  [[nodiscard]] bool fits_spill_now(size_t bytes) const override {
    return link_.sender->fits_spill_now(bytes);
  }
  [[nodiscard]] bool fits_attached() const override;

  [[nodiscard]] int64_t sequence() const { return sent_; }
  /// How many messages this rank has sent, for ranks to agree on.
  [[nodiscard]] int64_t tell_messages() { return told_messages_ = sent_; }
  /// Some rank had sent `messages` when this one told how many it had. The messages that this one
  /// lacks, because a decision failed, it sends without values: sidecars wait for them.
  void catch_up(int64_t messages, int64_t step, double time);
  /// Messages that sidecars have finished.
  [[nodiscard]] int64_t finished() const { return sent_ - link_.sender->behind(); }
  /// By analysis: publications that the run's own sidecars have not finished.
  [[nodiscard]] std::vector<int64_t> unfinished() const {
    return outstanding_.count(policy_.own_analyses(), finished());
  }
  /// Publications of an analysis of the attached job in a slot that it has not taken.
  [[nodiscard]] int64_t unfinished(size_t analysis, int slot) const {
    return unworked(analysis, sender().slots()->finished(slot));
  }
  /// Publications of an analysis of an attached job after message `worked`.
  [[nodiscard]] int64_t unworked(size_t analysis, int64_t worked) const {
    return attached_outstanding_.count(policy_.analyses(), worked)[analysis];
  }
  /// An analysis has the number that another one had, so kept messages are not for it.
  void forget_messages() { messages_.forget(); }
  [[nodiscard]] transport::Sender& sender() const { return *link_.sender; }
  /// Why sidecars of this job have failed; "" if they have not.
  [[nodiscard]] std::string failed_sidecars() const {
    return subscribers_.have_failed() ? subscribers_.why_failed() : "";
  }
  /// Adds what is in flight.
  void describe(run::Snapshot& snapshot) const;
  void describe(run::Outcome& outcome) const;
  [[nodiscard]] double stall_seconds() const { return stall_; }
  /// Seconds that analyses of the run itself waited for room that attached jobs held.
  [[nodiscard]] double stall_for_attached() const { return stall_for_attached_; }
  void add_stall(double seconds) { stall_ += seconds; }

 private:
  void send(transport::PublicationHeader& head, CachedMessage& message,
            const std::vector<size_t>& due);
  void send_dropped(transport::PublicationHeader& head, const std::vector<size_t>& due);
  /// Takes note of the parts of a message that are for attached jobs and for the run's own
  /// analyses.
  void note_sizes(const std::vector<size_t>& due, const CachedMessage& message, int coarsening);
  void note_attached(int64_t sequence, const std::vector<size_t>& due);
  /// Memory for a message, for which it waits or spills as the policy says; null if there is
  /// none.
  std::byte* reserve(const transport::PublicationHeader& head, CachedMessage& message,
                     const std::vector<size_t>& due);
  /// The same if there is room now. Values of a message larger than the budget may need no copy
  /// when sidecars have given buffers back, so it is made again.
  std::byte* reserve_now(const transport::PublicationHeader& head, CachedMessage& message);
  /// Takes memory back from attached jobs that hold more than they may while the run's own analyses
  /// lack room for that many bytes.
  void make_room(size_t wanted);
  /// What attached jobs hold while a message of that size finds no room. There are slots.
  [[nodiscard]] node::AttachedHold attached_hold(size_t size) const;
  /// Messages that all attached jobs have worked on.
  [[nodiscard]] int64_t worked_by_attached() const;
  /// Whether sidecars are there that may finish a message, or will be.
  [[nodiscard]] bool may_be_served();
  bool wait(const policy::Wait& wait, const std::function<bool()>& holds, double patience);
  void send_on();
  void bill_stall(double seconds, const std::vector<size_t>& due, bool for_attached);
  /// Bytes that publications for attached jobs may take. The run's own find room beside them.
  [[nodiscard]] int64_t attached_limit() const;
  [[nodiscard]] std::vector<size_t> own_in_sidecars() const;
  /// Bytes of this rank's largest publication.
  [[nodiscard]] size_t largest_publication();
  /// Throws a configuration error if this rank's largest publication would never fit.
  void check_budget() const;
  void note_need(size_t bytes);

  run::Run& run_;
  Link& link_;
  const run::CutFields& cut_fields_;
  const run::Agenda& agenda_;
  Allocations& allocations_;
  Subscribers& subscribers_;
  policy::Policy& policy_;
  MessageBuilder messages_;
  std::unique_ptr<base::CopyThreads> copy_threads_;  ///< null if this rank copies alone
  std::map<std::string, std::string> units_;
  Outstanding outstanding_, attached_outstanding_;
  Outstanding dropped_;  ///< publications for which this rank had no room
  policy::Eviction eviction_;
  policy::SendTime send_time_;
  double late_since_ = 0;  ///< monotonic seconds of the step since which messages wait; 0: none do
  bool told_late_ = false, told_slow_ = false;
  int awaited_in_vain_ = 0;    ///< steps in a row that sent too little although sidecars waited
  std::string refusal_;        ///< why the last publication could not be made; "" if it could
  int64_t sent_ = 0;           ///< messages; the number of the last one
  bool has_sent_end_ = false;  ///< or it is on its way
  int64_t told_messages_ = 0;  ///< when ranks agreed last
  int64_t behind_ = 0;  ///< messages that sidecars had not finished when there was last a new one
  policy::AttachedLoad attached_load_;
  double attached_share_;    ///< of this rank's budget, for them
  int64_t largest_own_ = 0;  ///< bytes of the run's own analyses in a publication, at most so far
  size_t own_size_ = 0;      ///< of the last message with values for them; without others' if known
  bool was_served_ = false;  ///< sidecars have been there
  double stall_for_attached_ = 0;
  size_t need_ = 0;  ///< bytes of the largest message of late, which becomes slowly forgotten
  int64_t in_place_ = 0;
  int64_t direct_ = 0;
  double stall_ = 0;
};

}  // namespace pillion::simulation
