// SPDX-License-Identifier: BSD-3-Clause
// How a publication is prepared and sent.
#include "simulation/publisher.hpp"

#include <algorithm>
#include <numeric>

#include "base/clock.hpp"
#include "base/copy_threads.hpp"
#include "base/default_environment.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "run/agenda.hpp"
#include "run/report.hpp"
#include "run/run.hpp"
#include "simulation/allocations.hpp"

namespace pillion::simulation {

using model::WhenFull;
using transport::MessageKind;
using transport::PublicationHeader;

Publisher::Publisher(run::Run& run, Link& link, const run::CutFields& cut_fields,
                     const Sharing& sharing, const run::Agenda& agenda, Allocations& lender,
                     Subscribers& subscribers, policy::Policy& policy)
    : run_(run),
      link_(link),
      cut_fields_(cut_fields),
      agenda_(agenda),
      allocations_(lender),
      subscribers_(subscribers),
      policy_(policy),
      messages_(run, *link.sender, link.layout_requests, cut_fields, sharing, lender,
                policy.own_analyses()) {
  const auto& spec = run.configuration.sidecars;
  attached_share_ = spec.memory > 0 ? static_cast<double>(spec.attached_memory()) /
                                          static_cast<double>(spec.memory)
                                    : 0;
  if (spec.copy_threads < 2) return;
  copy_threads_ = std::make_unique<base::CopyThreads>(static_cast<int>(spec.copy_threads));
  if (copy_threads_->count() < spec.copy_threads)
    run.remark(
        fmt::format("'copy_threads: {}' was asked for, but rank 0 copies with {}: it may "
                    "use {} cores. Bind ranks to more, or lower it",
                    spec.copy_threads, copy_threads_->count(), base::usable_cores()));
}

Publisher::~Publisher() = default;

// What goes straight to where it is wanted may take more than what is shared: there are ghost cells
// and copies, and not the same ones when several analyses are due as when one is.
size_t Publisher::largest_publication() {
  const auto all = own_in_sidecars();
  size_t bytes = messages_.size_for(all);
  if (sender().targets({}))
    for (const size_t a : all) bytes = std::max(bytes, messages_.size_for({a}));
  allocations_.forget();
  return bytes;
}

std::vector<size_t> Publisher::own_in_sidecars() const {
  std::vector<size_t> all;
  for (size_t a = 0; a < policy_.own_analyses(); ++a)
    if (run_.configuration.analyses[a].in_sidecars()) all.push_back(a);
  return all;
}

// A message of a few hundred bytes has room in any case.
void Publisher::check_receive_limit() {
  if (link_.receive_limit == 0) return;
  int64_t bytes = 0;
  comm::together(run_.side, [&] { bytes = static_cast<int64_t>(largest_publication()); });
  bytes = run_.side.reduced(bytes, comm::Operation::Sum);
  const auto& spec = run_.configuration.sidecars;
  if (bytes <= link_.receive_limit || spec.when_full == WhenFull::Coarsen) return;
  base::fail(ErrorCode::Configuration,
             "a publication takes {} in all, more than the {} that sidecars may receive on their "
             "nodes; set 'sidecars: {{receive: SIZE}}', the bytes on each node, or more sidecars",
             base::format_bytes(bytes), base::format_bytes(link_.receive_limit));
}

// Ranks that need less give memory back before others take it.
void Publisher::share_budget() {
  comm::together(run_.side, [&] { need_ = largest_publication(); });
  largest_own_ = static_cast<int64_t>(need_);
  sender().set_need(need_);
  for (int turn = 0; turn < 2; ++turn) {
    run_.on_node.barrier();
    sender().take_part();
  }
  comm::together(run_.side, [&] { check_budget(); });
}

// What is seldom due keeps room for a hundred publications of others or so.
void Publisher::note_need(size_t bytes) {
  need_ = std::max(bytes, need_ - need_ / 64);
  sender().set_need(need_);
}

void Publisher::check_budget() const {
  const auto all = own_in_sidecars();
  const auto policy = run_.configuration.sidecars.when_full;
  const auto whole = std::find_if(all.begin(), all.end(),
                                  [&](size_t a) { return !cut_fields_[a].whole_for.empty(); });
  const bool may_shrink = policy == WhenFull::Coarsen && whole == all.end();
  if (need_ <= sender().budget() || may_shrink) return;
  const auto copies = static_cast<int64_t>(allocations_.kept().shared);
  const std::string beside = copies == 0
                                 ? ""
                                 : fmt::format(" beside {} of points, cells and constant fields",
                                               base::format_bytes(copies));
  const std::string because =
      policy != WhenFull::Coarsen
          ? ""
          : fmt::format(" and stage '{}' of analysis '{}' cannot use coarsened publications;",
                        cut_fields_[*whole].whole_for, run_.configuration.analyses[*whole].name);
  base::fail(ErrorCode::Configuration,
             "a publication of rank {} takes {}, more than its share of {}{} of 'sidecars: "
             "{{memory: {}}}';{} raise it",
             run_.side.rank(), base::format_bytes(static_cast<int64_t>(need_)),
             base::format_bytes(static_cast<int64_t>(sender().budget())), beside,
             base::format_bytes(run_.configuration.sidecars.memory), because);
}

// A number is taken when its message is sent, so a head whose message failed leaves no gap.
PublicationHeader Publisher::header(MessageKind kind, int64_t step, double time) {
  PublicationHeader head;
  head.kind = kind;
  head.sequence = sent_ + 1;
  head.step = step;
  head.time = time;
  head.published = base::calendar_seconds();
  head.time_units = run_.configuration.time_units;
  head.units = units_;
  head.scalars = run_.scalars;
  return head;
}

void Publisher::publish(const policy::Publish& action, const StageOutputs& left, int64_t step,
                        double time) {
  const auto& due = action.analyses;
  auto head = header(MessageKind::Publication, step, time);
  head.coarsening = action.level;
  for (const size_t a : due) {
    if (action.level > 0) ++run_.accounts[a].coarsened;
    head.due.push_back(run::due_of(run_, a));
  }
  const int64_t before = sent_;
  try {
    send(head, messages_.prepare(head, due, left), due);
    refusal_.clear();
  } catch (const std::exception& e) {
    if (refusal_ != e.what())
      run_.log.warn(
          "rank {} cannot publish step {}, and those after it as long as this stays so: {}",
          run_.side.rank(), step, e.what());
    refusal_ = e.what();
    if (sent_ == before) send_dropped(head, due);  // never a second message of the same number
  }
}

namespace {

// The copy is shared by all that are due, in proportion to their bytes.
void count(run::Run& run, const std::vector<size_t>& due, const CachedMessage& message,
           double seconds, int64_t step) {
  const auto all = static_cast<int64_t>(message.size()) + message.encoder().bytes_lent();
  for (size_t d = 0; d < due.size(); ++d) {
    auto& account = run.accounts[due[d]];
    const int64_t bytes = message.share(d);
    ++account.publications;
    account.last_step = step;
    account.bytes += bytes;
    const double copy = seconds * static_cast<double>(bytes) / static_cast<double>(all);
    account.copy_seconds += copy;
    account.simulation_seconds += copy;
  }
}

}  // namespace

void Publisher::send(PublicationHeader& head, CachedMessage& message,
                     const std::vector<size_t>& due) {
  note_sizes(due, message, head.coarsening);
  std::byte* to = reserve(head, message, due);
  // One that never fits has analyses of attached jobs in it, and the next one will not. One that is
  // too large as long as sidecars hold its buffers fits when they have finished. A program that
  // regrids may give back what they begin to read, so that needs room as a copy does.
  const size_t read = allocations_.kept().retired > 0 ? allocations_.asked() : 0;
  const size_t whole = std::min((message.size() + read) << head.coarsening,
                                std::max(sender().budget(), link_.spill_memory));
  const size_t own = policy_.own_analyses();
  const bool is_mixed = due.front() < own && due.back() >= own;
  (void)policy_.on(policy::LocalEvent(
      policy::MessageReady{due, whole, is_mixed ? std::clamp<size_t>(own_size_, 1, whole) : 0}));
  if (to == nullptr) {
    message.release();
    return send_dropped(head, due);
  }
  const run::Stopwatch watch;
  message.encode(to, head.sequence, sender().copy(), copy_threads_.get());
  allocations_.lend(head.sequence - 1);
  if (const auto* send_plan = message.send_plan()) {
    sender().commit(head.sequence, message.encoder().size(), send_plan->parts());
    direct_ += send_plan->direct_bytes();
  } else {
    sender().commit(head.sequence);
  }
  ++sent_;
  messages_.sent(head, message);
  message.release();
  outstanding_.add(head.sequence, due, head.sequence - 1 - sender().behind());
  in_place_ += message.encoder().bytes_lent();
  if (due.back() >= own) note_attached(head.sequence, due);
  count(run_, due, message, watch.end(run_.timeline, "publish", "publish", head.step), head.step);
}

// Also of a message that finds no room: next time that is known before.
void Publisher::note_sizes(const std::vector<size_t>& due, const CachedMessage& message,
                           int coarsening) {
  policy::AttachedBytes attached;
  int64_t own = 0;
  for (size_t d = 0; d < due.size(); ++d) {
    const bool is_own = due[d] < policy_.own_analyses();
    (is_own ? own : attached.copied) += message.bytes_copied(d);
    if (!is_own) attached.taken += message.share(d);
  }
  largest_own_ = std::max(largest_own_, own);
  const size_t most = std::min(message.size() << coarsening, sender().budget());
  if (due.back() < policy_.own_analyses()) own_size_ = most;
  else attached_load_.expect(attached);
  if (own > 0) own_size_ = std::min(std::max(own_size_, static_cast<size_t>(own)), most);
}

void Publisher::note_attached(int64_t sequence, const std::vector<size_t>& due) {
  attached_load_.add(sequence);
  std::vector<size_t> theirs;
  std::copy_if(due.begin(), due.end(), std::back_inserter(theirs),
               [&](size_t a) { return a >= policy_.own_analyses(); });
  attached_outstanding_.add(sequence, theirs, worked_by_attached());
}

bool Publisher::fits_attached() const { return attached_load_.fits(attached_limit()); }

node::AttachedHold Publisher::attached_hold(size_t size) const {
  auto& slots = *sender().slots();
  return slots.hold(size, allocations_.retired_before(slots.needed()));
}

int64_t Publisher::worked_by_attached() const {
  int64_t least = sent_;
  if (const auto* slots = sender().slots())
    for (int s = 0; s < policy::attached_slots; ++s)
      if (policy_.slot(s).phase() == policy::SlotState::Phase::Active)
        least = std::min(least, slots->worked(s));
  return least;
}

// Without that, a job that is stopped would keep one message, and with it all later ones.
void Publisher::make_room(size_t wanted) {
  auto* slots = sender().slots();
  if (slots == nullptr || !slots->any()) return;
  wanted = std::min(wanted, sender().budget());
  for (int n = 0; n < policy::attached_slots; ++n) {
    if (sender().fits(wanted) && sender().fits_head()) return eviction_.reset();
    const auto hold = attached_hold(wanted);
    const bool is_due = eviction_.is_due({.wanted = wanted,
                                          .capacity = sender().budget(),
                                          .in_use = sender().in_flight(),
                                          .by_attached = hold.bytes,
                                          .limit = static_cast<size_t>(attached_limit()),
                                          .oldest = hold.oldest,
                                          .fits_without = hold.decides,
                                          .now = base::monotonic_seconds()});
    if (!is_due) return;
    slots->evict_slowest();
    sender().poll();
    allocations_.reclaim(sender().released());
  }
}

int64_t Publisher::attached_limit() const {
  const auto budget = static_cast<int64_t>(sender().budget());
  const auto share = static_cast<int64_t>(attached_share_ * static_cast<double>(budget));
  return std::min(share, std::max<int64_t>(budget - largest_own_, 0));
}

// Sidecars wait for a message of this number from every rank, so the header goes all the same.
void Publisher::send_dropped(PublicationHeader& head, const std::vector<size_t>& due) {
  allocations_.forget();
  (void)policy_.on(policy::LocalEvent(policy::Dropped{}));
  for (const size_t a : due) ++run_.accounts[a].dropped;
  head.dropped = true;
  head.schema_changed = head.scattered = head.brings_new = false;
  head.targets.clear();
  head.box_keys.clear();
  head.units.clear();
  head.domains.clear();
  head.coordinates.clear();
  send(head);
  dropped_.add(head.sequence, due, head.sequence - 1 - sender().behind());
}

std::byte* Publisher::reserve_now(const PublicationHeader& head, CachedMessage& message) {
  allocations_.reclaim(sender().released());
  if (message.size() > sender().budget() && allocations_.has_refused()) {
    allocations_.forget();
    message.renew(head, allocations_);
  }
  return sender().reserve(message.size());
}

std::byte* Publisher::reserve(const PublicationHeader& head, CachedMessage& message,
                              const std::vector<size_t>& due) {
  if (!allocations_.has_refused()) note_need(message.size());
  std::byte* to = reserve_now(head, message);
  if (to != nullptr) return to;
  const bool is_own = due.front() < policy_.own_analyses();
  sender().poll();
  if (is_own) make_room(message.size());
  to = reserve_now(head, message);
  if (to != nullptr) return to;
  bool is_spilled = false;
  const size_t size = message.size();
  const bool may_fit = size <= sender().budget() || allocations_.has_refused();
  subscribers_.tend();
  const bool busy = sender().fits_spill(size) && !sender().fits_spill_now(size);
  const auto wait_for_room = [&](const policy::Wait& waits) {
    if (!may_fit) return;
    const run::Stopwatch watch;
    const bool for_attached = sender().slots() != nullptr && attached_hold(size).decides;
    constexpr double patience = 0.02;  // seconds
    const auto has_room = [&] {
      if (is_own) make_room(message.size());
      to = reserve_now(head, message);
      if (to != nullptr || waits.until != policy::Until::SpillRoom) return to != nullptr;
      to = sender().reserve_spill(message.size());
      is_spilled = to != nullptr;
      return is_spilled || !sender().fits_spill(message.size());  // the disk is full
    };
    // A nap is at most `patience` long, and the policy has given the wait an end.
    if (!wait(waits, has_room, patience)) (void)policy_.on(policy::LocalEvent(policy::TimedOut{}));
    bill_stall(watch.end(run_.timeline, "stall", "stall", head.step), due, for_attached);
  };
  const auto spill = [&](const policy::Spill&) {
    is_spilled = (to = sender().reserve_spill(size)) != nullptr;
  };
  const policy::Overloaded act{spill, wait_for_room, [](const policy::Drop&) {}};
  const policy::NoRoom now{size, base::monotonic_seconds(), busy};
  for (const auto& action : policy_.on(policy::LocalEvent(now))) std::visit(act, action);
  for (const size_t a : due) run_.accounts[a].spilled += is_spilled ? 1 : 0;
  return to;
}

// What analyses of attached jobs waited is in their accounts.
void Publisher::bill_stall(double seconds, const std::vector<size_t>& due, bool for_attached) {
  stall_ += seconds;
  const double each = seconds / static_cast<double>(due.size());
  for (const size_t a : due) {
    run_.accounts[a].stall_seconds += each;
    if (for_attached && a < policy_.own_analyses()) stall_for_attached_ += each;
  }
}

// Nothing else waits for sidecars, so no wait is without an end: the policy has said when.
bool Publisher::wait(const policy::Wait& wait, const std::function<bool()>& holds,
                     double patience) {
  const run::Waiting waiting(run_.mark);
  sender().poll();
  while (!holds()) {
    subscribers_.tend();
    if (subscribers_.have_failed()) return false;
    const bool unserved = wait.needs_server && !may_be_served();
    // Woken by the slowest reader. `patience` bounds each nap, since a reader may have died.
    sender().wait(patience);
    if (unserved || base::monotonic_seconds() >= wait.deadline) return holds();
  }
  return true;
}

// Sidecars that are on their way come once: if they die, nothing says that others follow.
bool Publisher::may_be_served() {
  const bool is_served = sender().is_served();
  was_served_ = was_served_ || is_served || sender().behind() < sent_;
  return is_served || (link_.awaits_sidecars && !was_served_);
}

bool Publisher::await(const std::function<bool()>& holds) {
  constexpr double patience = 0.005;  // seconds
  sender().poll();
  if (holds()) return true;
  subscribers_.tend();
  const double now = base::monotonic_seconds();
  const auto actions = policy_.on(policy::LocalEvent(policy::WaitBegins{now}));
  // The policy has given the wait an end.
  return !actions.empty() && wait(std::get<policy::Wait>(actions.front()), holds, patience);
}

bool Publisher::await_all(End end) {
  const run::Stopwatch watch;
  const int64_t done = finished();
  const bool are_all_done = await([&] { return sender().behind() == 0; });
  behind_ = sender().behind();
  bill_wait(watch, done, end);
  return are_all_done;
}

// A checkpoint has its place on the timeline. Without memory for this the account lacks the wait,
// and nothing else: the answer of sidecars counts.
void Publisher::bill_wait(const run::Stopwatch& watch, int64_t done, End end) {
  try {
    auto shares = outstanding_.count(policy_.own_analyses(), done);
    if (std::accumulate(shares.begin(), shares.end(), int64_t{0}) == 0)
      for (const size_t a : own_in_sidecars()) shares[a] = 1;
    const auto all = std::accumulate(shares.begin(), shares.end(), int64_t{0});
    if (all == 0) return;
    constexpr double worth_drawing = 1e-3;
    const double seconds = watch.seconds();
    if (end == End::Checkpoint) stall_ += seconds;
    else if (seconds > worth_drawing)
      watch.end(run_.timeline, "stall (end)", "stall", agenda_.last_step());
    for (size_t a = 0; a < shares.size(); ++a) {
      auto& account = run_.accounts[a];
      (end == End::Session ? account.closing_seconds : account.stall_seconds) +=
          seconds * static_cast<double>(shares[a]) / static_cast<double>(all);
    }
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
  }
}

// A program comes here from a step at which nothing is due, too.
void Publisher::send_on() {
  const base::DefaultEnvironment environment;
  constexpr double worth_telling = 0.1;  // seconds
  const double begin = base::monotonic_seconds();
  poll();  // sidecars may have finished and wait now
  const bool is_awaited = sender().is_awaited();
  const bool all_sent = sender().progress(send_time_.allow(begin, is_awaited));
  send_time_.ended(base::monotonic_seconds(), all_sent);
  if (all_sent) late_since_ = 0;
  else if (late_since_ == 0) late_since_ = begin;
  else if (begin - late_since_ > worth_telling && !std::exchange(told_late_, true))
    run_.remark(
        "analyses begin up to one step late: without MPI_THREAD_MULTIPLE large messages leave only "
        "within pillion_step; initialise MPI with it, and a thread sends them while the program "
        "computes");
  // Sidecars have waited for the same message in the step before.
  if (all_sent || !is_awaited) awaited_in_vain_ = 0;
  else if (!told_slow_ && ++awaited_in_vain_ == 2 && !std::exchange(told_slow_, true))
    run_.remark(
        "analyses begin more than one step late: large messages take longer than the tenth of the "
        "time that pillion_step may send; initialise MPI with MPI_THREAD_MULTIPLE, or publish less "
        "often");
}

void Publisher::poll() {
  sender().poll();
  if (const auto why = sender().take_warning(); !why.empty())
    run_.log.warn(
        "the thread of rank {} that sends messages has failed: {}; they leave only within "
        "pillion_step now",
        run_.side.rank(), why);
  allocations_.reclaim(sender().released());
  make_room(own_size_);
  attached_load_.release(worked_by_attached());
  behind_ = sender().behind();
}

void Publisher::send(const PublicationHeader& head) {
  const transport::Encoder encoder(head, {});
  std::byte* to = sender().reserve_head(encoder.size());
  if (to == nullptr)
    base::fail(ErrorCode::State, "sidecars have not answered for so long that {} messages wait",
               sender().behind());
  encoder.encode(to);
  sender().commit(head.sequence);
  ++sent_;
}

void Publisher::catch_up(int64_t messages, int64_t step, double time) {
  for (; told_messages_ < messages; ++told_messages_) {
    auto head = header(MessageKind::Publication, step, time);
    send_dropped(head, {});
  }
}

PublicationHeader Publisher::end_header() {
  auto head = header(MessageKind::End, agenda_.last_step(), agenda_.last_time());
  for (size_t a = 0; a < run_.accounts.size(); ++a) {
    head.due.push_back(run::due_of(run_, a));
    head.due.back().unusable = run_.enabled(a) ? 0 : 1;
  }
  return head;
}

// Sidecars of another job write the report, for they know both sides; so they get what this rank
// knows.
bool Publisher::send_end(const base::Bytes& summary) {
  auto head = end_header();
  if (sender().slots() != nullptr) {
    head.summary = summary;
    const transport::Encoder encoder(head, {});
    std::byte* to = nullptr;
    // Sidecars may still work on publications that take the room.
    (void)await([&] {
      to = sender().reserve(encoder.size());
      return to != nullptr || sender().behind() == 0;
    });
    if (to == nullptr) to = sender().reserve_head(encoder.size());
    if (to != nullptr) {
      encoder.encode(to);
      sender().commit(head.sequence);
      ++sent_;
      return has_sent_end_ = true;
    }
    head.summary.clear();
  }
  try {
    send(head);
  } catch (const Error& e) {
    run_.log.warn("rank {}: {}", run_.side.rank(), e.what());
    return false;
  }
  return has_sent_end_ = true;
}

namespace {

base::Bytes bytes_of(const PublicationHeader& head) {
  const transport::Encoder encoder(head, {});
  base::Bytes bytes(encoder.size());
  encoder.encode(bytes.data());
  return bytes;
}

}  // namespace

// What is on its way to the disk goes no further when this program ends. Sidecars take a message
// from all ranks or from none, so each rank ends after what the farthest has published.
void Publisher::drop_unseen(const base::Bytes& summary) {
  const int64_t unseen = sender().unseen();
  const bool has_ended = has_sent_end_ && unseen == 0;
  const int64_t seen = sent_ - unseen - (has_ended ? 1 : 0);
  const int64_t last = run_.side.reduced(seen, comm::Operation::Max);
  if (has_ended) return;
  auto dropped = header(MessageKind::Publication, agenda_.last_step(), agenda_.last_time());
  dropped.sequence = last;
  dropped.dropped = true;
  auto end = end_header();
  end.sequence = last + 1;
  const auto lost = outstanding_.count(end.due.size(), sent_ - unseen);
  const auto dropped_unseen = dropped_.count(end.due.size(), sent_ - unseen);
  for (size_t a = 0; a < lost.size(); ++a) end.due[a].lost += lost[a] + dropped_unseen[a];
  end.summary = summary;
  bool is_told = sender().end_at(last, bytes_of(dropped), bytes_of(end));
  end.summary.clear();
  is_told = is_told || sender().end_at(last, bytes_of(dropped), bytes_of(end));
  sent_ = end.sequence;
  run_.log.warn(
      "rank {}: {} messages were on their way to the disk when the deadline had passed; their "
      "publications are lost{}",
      run_.side.rank(), unseen,
      is_told ? "" : ", and there is no room to tell sidecars that the run has ended");
}

void Outstanding::add(int64_t sequence, const std::vector<size_t>& due, int64_t done) {
  while (!messages_.empty() && messages_.front().first <= done) messages_.pop_front();
  messages_.emplace_back(sequence, due);
}

std::vector<int64_t> Outstanding::count(size_t analyses, int64_t done) const {
  std::vector<int64_t> counts(analyses);
  for (const auto& [sequence, due] : messages_)
    if (sequence > done)
      for (const size_t a : due)
        if (a < counts.size()) ++counts[a];
  return counts;
}

void Publisher::describe(run::Snapshot& snapshot) const {
  snapshot.behind = behind_;
  const size_t copies = allocations_.kept().copies();
  snapshot.budget = static_cast<int64_t>(sender().budget() + copies + link_.spill_memory);
  snapshot.in_use = static_cast<int64_t>(sender().in_flight());
  snapshot.peak = static_cast<int64_t>(sender().peak());
}

void Publisher::describe(run::Outcome& outcome) const {
  outcome.budget = sender().budget() + allocations_.kept().copies() + link_.spill_memory;
  outcome.peak = sender().peak();
  outcome.in_place = in_place_;
  outcome.direct = direct_;
}

}  // namespace pillion::simulation
