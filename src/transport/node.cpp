// SPDX-License-Identifier: BSD-3-Clause
// Channels as senders and receivers of messages.
#include "transport/node.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "redistribution/message_part.hpp"

namespace pillion::transport {

using node::ChannelReader;
using node::Record;
using node::SlotPhase;

NodeSender::NodeSender(node::Segment& segment, int channel, bool primary_in_use,
                       std::unique_ptr<SpillFile> spill, std::unique_ptr<node::SharedBudget> budget,
                       size_t spill_limit)
    : segment_(segment),
      writer_(segment.channel(channel), segment.slots_of(channel), primary_in_use),
      slots_(segment, writer_),
      spill_(std::move(spill)),
      budget_(std::move(budget)),
      spill_limit_(spill_limit),
      part_(budget_ ? budget_->held() : writer_.values().capacity()),
      backed_(part_) {
  use(part_);
}

void NodeSender::use(size_t part) {
  part_ = part;
  settle();
  if (!spill_ || !budget_) return;
  const double share = static_cast<double>(part) / static_cast<double>(budget_->budget());
  spill_->set_limits(static_cast<size_t>(share * static_cast<double>(spill_limit_)), part);
}

// Messages beyond the end of what they may take stay until they are finished, and their memory is
// held until then.
void NodeSender::settle() {
  messages_ = left_for_messages(part_, need_, kept_);
  writer_.set_capacity(messages_ - std::min(messages_, kept_.retired));
  const size_t end = std::max(writer_.values().capacity(), writer_.values().end());
  if (end < backed_) {
    segment_.resize_values(backed_, end);
    backed_ = end;
  }
  if (budget_) budget_->hold(std::max(part_, backed_ + kept_.shared + kept_.retired));
}

bool NodeSender::back(size_t end) {
  if (end <= backed_) return true;
  try {
    segment_.resize_values(backed_, end);
  } catch (const Error&) {  // the machine has less than the budget
    segment_.resize_values(end, backed_);
    return false;
  }
  backed_ = end;
  return true;
}

void NodeSender::set_kept(const KeptMemory& kept) {
  if (kept == kept_) return;
  const bool others = kept.copies() != kept_.copies();
  kept_ = kept;
  settle();
  note_peak();
  if (budget_ && others) budget_->set_need(need_ + kept_.copies());
}

bool NodeSender::may_keep(size_t bytes, size_t in_message) const {
  return transport::may_keep(part_, need_ - std::min(need_, in_message), writer_.values().end(),
                             kept_, bytes);
}

size_t NodeSender::room_to_retire() const {
  const size_t held = writer_.values().end() + kept_.retired;
  return messages_ - std::min(messages_, held);
}

// Without a budget that ranks share, the part stays as it is.
void NodeSender::set_need(size_t bytes) {
  need_ = bytes;
  if (!budget_) return settle();
  budget_->set_need(bytes + kept_.copies());
  follow_budget();
}

void NodeSender::follow_budget(bool exact) {
  if (budget_) {
    const size_t part = budget_->share();
    if (budget_->should_grow(part, exact)) return grow(part);
    if (budget_->should_shrink(part, exact)) return shrink(part);
    if (part_ < part) return use(std::min(part, budget_->held()));
  }
  settle();
}

void NodeSender::grow(size_t part) {
  const size_t before = part_;
  if (!budget_->grow_up_to(part)) return settle();
  use(budget_->held());
  if (!back(writer_.values().capacity())) use(before);
}

// What could not be written to the disk must still find room, so nothing shrinks before.
void NodeSender::shrink(size_t part) {
  if (queue_.empty()) use(part);
}

// Readers end when they have read what was published.
NodeSender::~NodeSender() {
  if (!queue_.empty()) writer_.close();
}

std::byte* NodeSender::reserve(size_t size) {
  place_ = Place::Segment;
  reserved_.reset();
  if (!fits(size) || !back(writer_.values().find(size).value_or(0) + size)) return nullptr;
  reserved_ = Record{.offset = *writer_.reserve(size), .size = size};
  note_peak();
  return segment_.own(reserved_->offset);
}

std::byte* NodeSender::reserve_head(size_t size) {
  place_ = queue_.empty() ? Place::Segment : Place::Queue;
  reserved_.reset();
  if (place_ == Place::Queue) {
    if (queue_.size() >= 2 * most_queued) return nullptr;
    head_.resize(size);
    reserved_ = Record{.size = size};
    return head_.data();
  }
  const auto offset = writer_.reserve_head(size);
  if (!offset) return nullptr;
  reserved_ = Record{.offset = *offset, .size = size};
  return segment_.own(*offset);
}

std::byte* NodeSender::reserve_spill(size_t size) {
  reserved_.reset();
  if (!fits_spill_now(size) || !fits_head()) return nullptr;
  place_ = Place::Disk;
  reserved_ = Record{.size = size, .spilled = 1};
  return spill_->reserve(size);
}

void NodeSender::commit(int64_t sequence) {
  const auto index = writer_.published() + static_cast<int64_t>(queue_.size());
  if (!reserved_ || sequence != index + 1)
    base::fail(ErrorCode::Internal, "message {} was not reserved", sequence);
  if (place_ == Place::Segment) {
    writer_.publish(*reserved_);
  } else {
    if (place_ == Place::Disk) queue_.push_back({spill_->write(index), {}});
    else queue_.push_back({{}, std::move(head_)});
    slots_.hold(true);
    note_peak();
  }
  reserved_.reset();
}

void NodeSender::advance() {
  if (queue_.empty()) return;
  while (!queue_.empty() && publish(queue_.front())) queue_.pop_front();
  if (queue_.empty()) slots_.hold(false);
}

bool NodeSender::publish(const Queued& message) {
  using State = SpillFile::Piece::State;
  const auto* piece = message.piece.get();
  const auto state = piece != nullptr ? piece->state.load() : State::Failed;
  if (state == State::Queued || !writer_.fits_head()) return false;
  const size_t size = piece != nullptr ? piece->size : message.head.size();
  Record record{.size = size};
  if (state == State::Written) {
    record.offset = piece->offset;
    record.spilled = 1;
  } else {
    const auto place = piece != nullptr ? writer_.values().find(size) : std::optional<size_t>(0);
    if (!place || (piece != nullptr && !back(*place + size))) return false;
    const auto at = piece != nullptr ? writer_.reserve(size) : writer_.reserve_head(size);
    if (!at) return false;
    record.offset = *at;
    std::memcpy(segment_.own(*at), piece != nullptr ? piece->buffer.data() : message.head.data(),
                size);
  }
  writer_.publish(record);
  if (piece != nullptr) spill_->release(*piece);
  return true;
}

// One head stands in many records, for there may be no room for as many. Its memory is held until
// the last of them is finished.
bool NodeSender::end_at(int64_t last, const base::Bytes& dropped, const base::Bytes& end) {
  queue_.clear();
  writer_.reclaim();
  const size_t begin = redistribution::aligned(dropped.size());
  const auto at = writer_.reserve_head(begin + end.size(), last);
  if (at) {
    std::memcpy(segment_.own(*at), dropped.data(), dropped.size());
    std::memcpy(segment_.own(*at) + begin, end.data(), end.size());
    while (writer_.published() < last) writer_.publish({.offset = *at, .size = dropped.size()});
    writer_.publish({.offset = *at + begin, .size = end.size()});
  }
  slots_.hold(false);
  return at.has_value();
}

void NodeSender::poll() {
  advance();
  const int64_t freed = writer_.reclaim();
  if (spill_) spill_->free_before(freed);
  follow_budget();
  slots_.see_disabled();
}

void NodeSender::wait(double patience) {
  // The slowest reader rings its bell; no lock is held.
  writer_.wait(patience);
  poll();
}

int64_t NodeSender::behind() const {
  return writer_.published() + static_cast<int64_t>(queue_.size()) - writer_.done(node::primary);
}

std::string NodeSender::failure() const { return writer_.failure(node::primary); }

NodeSlots::NodeSlots(node::Segment& segment, node::ChannelWriter& writer)
    : segment_(segment), writer_(writer) {
  analyses_[node::primary] = {0, node::most_analyses};
}

SlotSight NodeSlots::sight(int slot) {
  const int number = node_slot(slot);
  if (writer_.is_deserted(number)) return SlotSight::Lost;
  // Until such a job has left, the slot is not free for others.
  if (writer_.is_evicted(number))
    return writer_.is_vacating(number) ? SlotSight::Free : SlotSight::Evicted;
  if (writer_.is_active(number)) return SlotSight::Active;
  return writer_.slot(number).state == SlotPhase::Ready ? SlotSight::Ready : SlotSight::Free;
}

base::Bytes NodeSlots::request(int slot) const { return segment_.read_control(node_slot(slot)); }

void NodeSlots::activate(int slot, int32_t first, int32_t count) {
  const int number = node_slot(slot);
  analyses_[static_cast<size_t>(number)] = {first, count};
  // Another job may have had these numbers, and have disabled them.
  std::erase_if(disabled_, [&](int32_t a) { return a >= first && a < first + count; });
  // Those of the run come before those of attached jobs.
  analyses_[node::primary].count = std::min(analyses_[node::primary].count, first);
  writer_.slot(number).base = first;
  writer_.activate(number);
}

// The job may stay in the slot, and say that its analyses fail, while their numbers are others'.
Departure NodeSlots::release(int slot) {
  const int number = node_slot(slot);
  const auto& words = writer_.slot(number);
  const Departure departure{std::clamp<int64_t>(words.worked.load(), 0, writer_.published()),
                            words.state == SlotPhase::Leaving && !writer_.is_evicted(number)};
  analyses_[static_cast<size_t>(number)] = {};
  writer_.vacate(number);
  return departure;
}

std::vector<node::JobNumber> NodeSlots::lost_jobs() {
  std::vector<node::JobNumber> lost;
  for (int s = 0; s < node::slot_count; ++s)
    if (const auto job = writer_.lost_job(s); job != 0) lost.push_back(job);
  return lost;
}

void NodeSlots::close() {
  closing_ = true;
  if (!holds_) writer_.close();
}

void NodeSlots::hold(bool holds) {
  holds_ = holds;
  if (!holds_ && closing_) writer_.close();
}

void NodeSlots::see_disabled() {
  const uint32_t changes = writer_.changes();
  if (changes == seen_changes_) return;
  for (size_t s = 0; s < node::slot_count; ++s) {
    const auto& words = writer_.slot(static_cast<int>(s)).disabled;
    const auto [base, count] = analyses_[s];
    for (int32_t a = 0; a < count; ++a)
      if ((words[static_cast<size_t>(a) / 64] >> (a % 64) & 1) != 0) disabled_.insert(base + a);
  }
  seen_changes_ = changes;
}

NodeReceiver::NodeReceiver(std::vector<Source> sources, int slot, std::function<bool()> give_up)
    : sources_(std::move(sources)), give_up_(std::move(give_up)) {
  for (const auto& source : sources_) {
    const auto& channel = source.segment->channel(source.channel);
    slots_.push_back(source.segment->slot(source.channel, slot));
    readers_.emplace_back(channel, *slots_.back(), slot);
    spills_.push_back(channel.spill_descriptor < 0 ? SpillReader()
                                                   : SpillReader(node::spill_address(channel)));
  }
}

bool NodeReceiver::claim(node::JobNumber job) {
  for (size_t r = 0; r < readers_.size(); ++r) {
    if (readers_[r].claim(job)) continue;
    while (r > 0) readers_[--r].leave();
    return false;
  }
  return true;
}

void NodeReceiver::leave() {
  for (auto& reader : readers_) reader.leave();
}

namespace {

constexpr double patience = 0.1;  // seconds

}  // namespace

// Where the first source takes long the others may too, and dozing for each would be many wake-ups.
std::optional<std::vector<Delivery>> NodeReceiver::next() {
  bool comes_soon = true;
  for (auto& reader : readers_)
    for (;; comes_soon = false) {
      const auto now = reader.wait(index_, patience, comes_soon);
      if (now == ChannelReader::Next::Message) break;
      if (now == ChannelReader::Next::End || give_up_()) return {};
    }
  try {
    return read(index_);
  } catch (const Error&) {
    if (is_evicted()) return {};  // between the wait and now
    throw;
  }
}

bool NodeReceiver::is_evicted() const {
  return std::any_of(readers_.begin(), readers_.end(),
                     [](const ChannelReader& reader) { return reader.is_evicted(); });
}

bool NodeReceiver::is_expelled() const {
  return std::any_of(readers_.begin(), readers_.end(),
                     [](const ChannelReader& reader) { return reader.is_expelled(); });
}

bool NodeReceiver::is_orphaned() {
  return std::any_of(readers_.begin(), readers_.end(),
                     [](ChannelReader& reader) { return reader.is_orphaned(); });
}

std::vector<Delivery> NodeReceiver::read(int64_t index) {
  std::vector<Delivery> deliveries;
  for (size_t s = 0; s < sources_.size(); ++s) deliveries.push_back(deliver(s, index));
  return deliveries;
}

std::vector<PublicationHeader> NodeReceiver::unread() const {
  std::vector<PublicationHeader> heads;
  if (readers_.empty()) return heads;
  const auto& reader = readers_.front();
  constexpr uint64_t most = uint64_t{1} << 20;  // of what is on disk, only the head is read
  for (int64_t i = index_; i < reader.published(); ++i) {
    const Record record = reader.record(i);
    if (record.spilled == 0) {
      heads.push_back(
          decode_head(sources_.front().segment->look(record.offset, record.size), record.size));
    } else {
      const auto size = static_cast<size_t>(std::min(record.size, most));
      heads.push_back(decode_head(spills_.front().read(record.offset, size)->data(), size));
    }
  }
  return heads;
}

Delivery NodeReceiver::deliver(size_t s, int64_t index) {
  const Record record = readers_[s].record(index);
  Delivery delivery{static_cast<int>(s), nullptr, record.size, {}};
  if (record.spilled != 0) {
    const auto buffer = spills_[s].read(record.offset, record.size);
    delivery.data = buffer->data();
    delivery.keep = buffer;
  } else {
    delivery.data = sources_[s].segment->look(record.offset, record.size);
    delivery.keep = sources_[s].segment;
  }
  return delivery;
}

void NodeReceiver::begin() {
  for (auto& reader : readers_) reader.begin(index_);
}

namespace {

void disable(ChannelReader& reader, int32_t analysis) {
  if (analysis >= node::most_analyses) return;
  auto& word = reader.slot().disabled[static_cast<size_t>(analysis) / 64];
  const uint64_t bit = uint64_t{1} << (analysis % 64);
  if ((word.fetch_or(bit) & bit) == 0) reader.show_change();
}

}  // namespace

void NodeReceiver::finish(int64_t /*sequence*/, const std::set<int32_t>& disabled,
                          const std::string& failure) {
  for (auto& reader : readers_) {
    for (const int32_t a : disabled) disable(reader, a);
    reader.set_failure(failure, index_);
    reader.finish(index_);
  }
  ++index_;
}

void NodeReceiver::report(int64_t worked, const std::set<int32_t>& disabled) {
  for (auto& reader : readers_) {
    for (const int32_t a : disabled) disable(reader, a);
    reader.slot().worked = worked;
  }
}

const std::byte* NodeReceiver::look(int source, const Lent& lent, size_t bytes) {
  if (lent.offset > lent.region_size || bytes > lent.region_size - lent.offset)
    base::fail(ErrorCode::Internal, "{} bytes at {} are not in a region of {} bytes", bytes,
               lent.offset, lent.region_size);
  auto& segment = *sources_[static_cast<size_t>(source)].segment;
  return segment.look(lent.region, lent.region_size) + lent.offset;
}

int64_t NodeReceiver::begun() const {
  int64_t begun = 0;
  for (const auto& reader : readers_) begun = std::max(begun, reader.begun());
  return begun;
}

node::Progress NodeReceiver::progress() const {
  node::Progress most = 0;
  for (const auto& reader : readers_) most = std::max(most, reader.progress());
  return most;
}

void NodeReceiver::start_at(node::Progress progress) {
  index_ = node::done_in(progress);
  for (auto& reader : readers_) reader.start_at(progress);
}

std::set<int32_t> NodeReceiver::disabled() const {
  std::set<int32_t> out;
  for (const auto& reader : readers_)
    for (int32_t a = 0; a < node::most_analyses; ++a)
      if ((reader.slot().disabled[static_cast<size_t>(a) / 64] >> (a % 64) & 1) != 0) out.insert(a);
  return out;
}

int64_t NodeReceiver::over(size_t analysis, int64_t done) const {
  int64_t over = 0;
  for (const auto& reader : readers_)
    over = std::max<int64_t>(over, reader.slot().over[static_cast<size_t>(done % 2)][analysis]);
  return std::min(over, done);
}

void NodeReceiver::set_over(const std::vector<int64_t>& over, int64_t done) {
  for (auto& reader : readers_)
    for (size_t a = 0; a < over.size(); ++a)
      reader.slot().over[static_cast<size_t>(done % 2)][a] = static_cast<uint64_t>(over[a]);
}

void NodeReceiver::show_over() {
  for (auto& reader : readers_) reader.slot().state = SlotPhase::Leaving;
}

bool NodeReceiver::is_over() const {
  return std::any_of(readers_.begin(), readers_.end(), [](const ChannelReader& reader) {
    return reader.slot().state == SlotPhase::Leaving;
  });
}

int32_t NodeReceiver::base() const {
  return readers_.empty() ? 0 : readers_.front().slot().base.load();
}

void NodeReceiver::show_ready() {
  for (auto& reader : readers_) reader.slot().state = SlotPhase::Ready;
}

bool NodeReceiver::await_activation() {
  for (auto& reader : readers_) {
    while (reader.slot().state == SlotPhase::Ready) {
      // A reader that waits for a message that cannot be there yet wakes up when anything happens.
      const auto now = reader.wait(std::numeric_limits<int64_t>::max(), patience);
      if (now == ChannelReader::Next::End || give_up_()) return false;
    }
    if (reader.slot().state != SlotPhase::Active) return false;
  }
  index_ = begun();
  return true;
}

}  // namespace pillion::transport
