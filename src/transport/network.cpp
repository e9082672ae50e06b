// SPDX-License-Identifier: BSD-3-Clause
// Messages there, acknowledgements back.
#include "transport/network.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "comm/message.hpp"

namespace pillion::transport {
NetworkSender::NetworkSender(const comm::Communicator& wire, std::vector<int> sidecars, int primary,
                             size_t budget, std::unique_ptr<node::SharedBudget> shared)
    : wire_(wire),
      sidecars_(std::move(sidecars)),
      primary_(primary),
      to_(sidecars_.at(static_cast<size_t>(primary))),
      shared_(std::move(shared)),
      part_(shared_ ? shared_->held() : budget),
      staging_(part_),
      thread_([this] { return test(); }) {}

// What sidecars that ended early have not taken MPI may still read whenever the program calls it.
NetworkSender::~NetworkSender() {
  thread_.stop();
  for (auto& sent : sent_) sent.buffer.abandon();
  for (auto& answer : answers_) (void)new base::Bytes(std::move(answer.bytes));
}

void NetworkSender::set_need(size_t bytes) {
  need_ = bytes;
  if (!shared_) return use(part_);
  shared_->set_need(bytes + kept_.copies());
  follow_budget();
}

void NetworkSender::set_kept(const KeptMemory& kept) {
  if (kept == kept_) return;
  kept_ = kept;
  use(part_);
  note_peak();
  if (shared_) shared_->set_need(need_ + kept_.copies());
}

void NetworkSender::use(size_t part) {
  part_ = part;
  const size_t messages = left_for_messages(part_, need_, kept_);
  if (messages != staging_.budget()) staging_.set_budget(messages);
}

// Buffers in use are held until they are given back, which may be more than the new part.
void NetworkSender::follow_budget(bool exact) {
  if (!shared_) return;
  const size_t part = shared_->share();
  if (shared_->should_grow(part, exact)) (void)shared_->grow_up_to(part);
  const bool shrinks = shared_->should_shrink(part, exact);
  if (shrinks || part_ < part) use(std::min(part, shared_->held()));
  if (shrinks) shared_->hold(std::max(part, staging_.in_use() + part - staging_.budget()));
}

// A message that was reserved and not sent, for lack of memory, goes back.
void NetworkSender::drop_reserved() {
  if (reserved_ && reserved_staged_) staging_.give_back(std::move(*reserved_));
  reserved_.reset();
}

std::byte* NetworkSender::reserve(size_t size) {
  drop_reserved();
  reserved_ = staging_.take(size);
  reserved_size_ = size;
  reserved_staged_ = true;
  note_peak();
  return reserved_ ? reserved_->data() : nullptr;
}

std::byte* NetworkSender::reserve_head(size_t size) {
  drop_reserved();
  if (heads_ >= most_heads) return nullptr;
  reserved_.emplace(size);
  reserved_size_ = size;
  reserved_staged_ = false;
  return reserved_->data();
}

// A receive is posted for this message, or will be; it is as large as earlier ones let expect.
void NetworkSender::send(Sent& sent, const std::byte* data, size_t size, int to, int tag,
                         int large_tag) {
  auto& sizes = sizes_.at({to, tag});
  const bool fits = size <= sizes.of(sizes.count());
  sizes.add(size);
  if (!fits) {
    auto& announcement = sent.announcements.emplace_back(Announcement{static_cast<int64_t>(size)});
    sent.requests.push_back(comm::send(wire_, &announcement, sizeof announcement, to, tag));
  }
  sent.requests.push_back(comm::send(wire_, data, size, to, fits ? tag : large_tag));
}

// Before the first message is sent there is memory for all that is noted about them. A rank that
// failed between would send the publication again, and receivers would take that for the next one.
void NetworkSender::commit(int64_t sequence, size_t size, const std::vector<MessagePart>& parts) {
  if (!reserved_) base::fail(ErrorCode::Internal, "message {} was not reserved", sequence);
  const auto prepare = [&](int to, int tag, size_t bytes) {
    if (bytes <= sizeof(Announcement))
      base::fail(ErrorCode::Internal, "a message of {} bytes would look like an announcement",
                 bytes);
    (void)sizes_[{to, tag}];
  };
  prepare(to_, comm::tags::publication, size);
  for (const auto& part : parts)
    prepare(sidecars_[static_cast<size_t>(part.receiver)], comm::tags::publication_body, part.size);
  std::vector<Announcement> announcements;
  std::vector<comm::Request> requests;
  announcements.reserve(1 + parts.size());
  requests.reserve(2 * (1 + parts.size()));
  {
    const std::lock_guard lock(mutex_);
    auto& sent = sent_.emplace_back(Sent{sequence, std::move(*reserved_), reserved_staged_,
                                         std::move(announcements), std::move(requests)});
    reserved_.reset();
    if (!sent.staged) ++heads_;
    const std::byte* data = sent.buffer.data();
    send(sent, data, size, to_, comm::tags::publication, comm::tags::large_publication);
    for (const auto& part : parts)
      send(sent, data + redistribution::aligned(size) + part.offset, part.size,
           sidecars_[static_cast<size_t>(part.receiver)], comm::tags::publication_body,
           comm::tags::large_publication_body);
  }
  is_sending_ = true;
  thread_.resume();
}

// Whether anything is still on its way out. Each test lets MPI move all messages. Any thread.
bool NetworkSender::test() {
  const std::lock_guard lock(mutex_);
  bool busy = false;
  for (auto& sent : sent_) {
    if (sent.is_sent) continue;
    sent.is_sent = true;
    for (auto& request : sent.requests)
      if (!request.test()) sent.is_sent = false;
    if (!sent.is_sent) busy = true;
  }
  return busy;
}

// What has been sent and finished is not in the list any more.
bool NetworkSender::is_awaited() {
  const std::lock_guard lock(mutex_);
  return !sent_.empty() && !sent_.front().is_sent;
}

bool NetworkSender::progress(double seconds) {
  const double deadline = base::monotonic_seconds() + seconds;
  do {
    is_sending_ = test();
  } while (is_sending_ && base::monotonic_seconds() < deadline);
  return !is_sending_;
}

// Answers are received without waiting, for a large one moves only when its sender calls MPI.
// An answer for which there is no memory now is taken the next time: MPI gives it only once.
void NetworkSender::poll() {
  for (;;) {
    if (!arrived_) arrived_ = comm::find_arrival(wire_, to_, comm::tags::finished);
    if (!arrived_) break;
    Answer answer;
    answer.bytes.resize(arrived_->size);
    answers_.push_back(std::move(answer));
    answers_.back().request = comm::start_receiving(*arrived_, answers_.back().bytes.data());
    arrived_.reset();
  }
  while (!answers_.empty() && answers_.front().request.test()) {
    read(answers_.front());
    answers_.pop_front();
  }
  give_back();
  follow_budget();
}

void NetworkSender::read(const Answer& answer) {
  base::ByteReader in(answer.bytes);
  const auto sequence = in.get<int64_t>();
  for (const auto analysis : in.get_vector<int32_t>()) disabled_.insert(analysis);
  failure_ = in.get<std::string>();
  take_cuts(in);
  finished(sequence);
}

void NetworkSender::take_cuts(base::ByteReader& cuts) {
  while (!cuts.done()) {
    const auto due = cuts.get_vector<int32_t>();
    const auto mesh = cuts.get<std::string>();
    cuts_[due][mesh] = cuts.get_vector<redistribution::Cut>();
    ++cuts_version_;
  }
}

std::optional<Targets> NetworkSender::targets(const DueSet& due) const {
  static const MeshCuts none;
  const auto at = cuts_.find(due);
  return Targets{static_cast<int>(sidecars_.size()), primary_,
                 at == cuts_.end() ? &none : &at->second};
}

// MPI has nothing to sleep on, so this sleeps a little and looks.
void NetworkSender::wait(double patience) {
  base::clock().sleep(std::min(patience, 200e-6));
  poll();
}

void NetworkSender::finished(int64_t sequence) {
  for (auto& sent : sent_) sent.is_finished = sent.is_finished || sent.sequence <= sequence;
}

// Other sidecars than the one that has finished may still have to take their part.
void NetworkSender::give_back() {
  is_sending_ = test();
  const std::lock_guard lock(mutex_);
  while (!sent_.empty() && sent_.front().is_finished && sent_.front().is_sent) {
    auto& sent = sent_.front();
    if (sent.staged) staging_.give_back(std::move(sent.buffer));
    else --heads_;
    sent_.pop_front();
  }
}

NetworkReceiver::NetworkReceiver(const comm::Communicator& wire, const comm::Communicator& side,
                                 std::vector<int> sources, size_t budget)
    : wire_(wire),
      sources_(std::move(sources)),
      room_(budget),
      heads_(wire, comm::tags::publication, comm::tags::large_publication, room_),
      direct_(wire, side, room_),
      thread_([this] {
        {
          const std::lock_guard lock(room_.mutex);
          if (room_.is_taking) return false;
        }
        take_in();
        return true;
      }) {
  room_.taken = [this] { thread_.resume(); };
  heads_.expect({sources_.begin(), sources_.end()});
}

// The simulation takes the last answers when it closes its session. If it does not, their memory
// must stay.
NetworkReceiver::~NetworkReceiver() {
  thread_.stop();
  constexpr double patience = 1;  // seconds
  try {
    comm::expect_mpi();
    if (base::wait_until([&] { return answered(); }, base::monotonic_seconds() + patience)) return;
  } catch (const std::exception&) {  // MPI has ended
  }
  for (auto& answer : answers_) (void)new std::vector<base::Bytes>(std::move(answer.bytes));
}

std::optional<std::vector<Delivery>> NetworkReceiver::next() {
  std::vector<Delivery> deliveries;
  auto messages = heads_.take(sources_);
  for (size_t s = 0; s < sources_.size(); ++s)
    deliveries.push_back(
        {sources_[s], messages[s].buffer->data(), messages[s].size, std::move(messages[s].buffer)});
  return deliveries;
}

// With a thread this is its work, which the program would wait for.
void NetworkReceiver::look() {
  if (!thread_.runs()) take_in();
}

void NetworkReceiver::take_in() {
  heads_.look();
  direct_.look();
}

// Whether all answers have gone out.
bool NetworkReceiver::answered() {
  std::erase_if(answers_, [](Answer& answer) {
    return std::all_of(answer.requests.begin(), answer.requests.end(),
                       [](comm::Request& request) { return request.test(); });
  });
  return answers_.empty();
}

// A simulation rank may look for the answer only with its next publication, so nothing waits here.
void NetworkReceiver::finish(int64_t sequence, const std::set<int32_t>& disabled,
                             const std::string& failure) {
  base::ByteWriter out;
  out.put(sequence);
  out.put(std::vector<int32_t>(disabled.begin(), disabled.end()));
  out.put(failure);
  (void)answered();
  auto& answer = answers_.emplace_back(Answer{{sources_.size(), out.take()}, {}});
  auto bytes = answer.bytes.begin();
  for (const int source : sources_) {
    const auto cuts = direct_.take_cuts(source);
    bytes->insert(bytes->end(), cuts.begin(), cuts.end());
    answer.requests.push_back(
        comm::send(wire_, bytes->data(), bytes->size(), source, comm::tags::finished));
    ++bytes;
  }
}

}  // namespace pillion::transport
