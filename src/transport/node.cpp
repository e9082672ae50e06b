// SPDX-License-Identifier: BSD-3-Clause
// Channels as senders and receivers of messages.
#include "transport/node.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace pillion::transport {

using node::ChannelReader;
using node::Record;
using node::SlotPhase;

NodeSender::NodeSender(node::Segment& segment, int channel, bool primary_in_use,
                       std::unique_ptr<SpillFile> spill)
    : segment_(segment),
      writer_(segment.channel(channel), primary_in_use),
      slots_(segment, writer_),
      spill_(std::move(spill)) {}

std::byte* NodeSender::reserve(size_t size) {
  to_spill_ = false;
  reserved_.reset();
  if (!writer_.fits(size)) return nullptr;
  reserved_ = Record{.offset = *writer_.reserve(size), .size = size};
  return segment_.own(reserved_->offset);
}

std::byte* NodeSender::reserve_head(size_t size) {
  to_spill_ = false;
  reserved_.reset();
  const auto offset = writer_.reserve_head(size);
  if (!offset) return nullptr;
  reserved_ = Record{.offset = *offset, .size = size};
  return segment_.own(*offset);
}

std::byte* NodeSender::reserve_spill(size_t size) {
  reserved_.reset();
  std::byte* to = spill_ && writer_.fits_head() ? spill_->reserve(size) : nullptr;
  to_spill_ = to != nullptr;
  if (to_spill_) reserved_ = Record{.size = size, .spilled = 1};
  return to;
}

void NodeSender::commit(int64_t sequence) {
  if (!reserved_ || sequence != writer_.published() + 1)
    base::fail(ErrorCode::Internal, "message {} was not reserved", sequence);
  if (to_spill_) reserved_->offset = spill_->write(writer_.published());
  writer_.publish(*reserved_);
  reserved_.reset();
}

void NodeSender::poll() {
  const int64_t freed = writer_.reclaim();
  if (spill_) spill_->free_before(freed);
  const uint32_t changes = writer_.changes();
  if (changes == seen_changes_) return;
  seen_changes_ = changes;
  slots_.add_disabled(disabled_);
}

void NodeSender::wait(double patience) {
  writer_.wait(patience);
  poll();
}

int64_t NodeSender::behind() const { return writer_.published() - writer_.done(node::primary); }

std::string NodeSender::failure() const {
  const auto& text = const_cast<NodeSender*>(this)->writer_.slot(node::primary).failure;
  return {text.data(), strnlen(text.data(), text.size())};
}

NodeSlots::NodeSlots(node::Segment& segment, node::ChannelWriter& writer)
    : segment_(segment), writer_(writer) {
  analyses_[node::primary] = {0, node::most_analyses};
}

SlotSight NodeSlots::sight(int slot) {
  const int number = node_slot(slot);
  if (writer_.is_deserted(number)) return SlotSight::Lost;
  switch (writer_.slot(number).state.load()) {
    case SlotPhase::Ready: return SlotSight::Ready;
    case SlotPhase::Active: return SlotSight::Active;
    default: return SlotSight::Free;
  }
}

base::Bytes NodeSlots::request(int slot) const { return segment_.read_control(node_slot(slot)); }

void NodeSlots::activate(int slot, int32_t first, int32_t count) {
  const int number = node_slot(slot);
  analyses_[static_cast<size_t>(number)] = {first, count};
  writer_.slot(number).base = first;
  writer_.activate(number);
}

void NodeSlots::add_disabled(std::set<int32_t>& disabled) const {
  for (size_t s = 0; s < node::slot_count; ++s) {
    const auto& words = writer_.slot(static_cast<int>(s)).disabled;
    const auto [base, count] = analyses_[s];
    for (int32_t a = 0; a < count; ++a)
      if ((words[static_cast<size_t>(a) / 64] >> (a % 64) & 1) != 0) disabled.insert(base + a);
  }
}

NodeReceiver::NodeReceiver(std::vector<Source> sources, int slot, std::function<bool()> give_up)
    : sources_(std::move(sources)), slot_(slot), give_up_(std::move(give_up)) {
  for (const auto& source : sources_) {
    auto& channel = source.segment->channel(source.channel);
    readers_.emplace_back(channel, slot);
    spills_.push_back(channel.spill_descriptor < 0
                          ? SpillReader()
                          : SpillReader(node::number_of(channel.writer), channel.spill_descriptor));
  }
}

bool NodeReceiver::claim() {
  for (size_t r = 0; r < readers_.size(); ++r) {
    if (readers_[r].claim()) continue;
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

std::optional<std::vector<Delivery>> NodeReceiver::next() {
  for (auto& reader : readers_)
    for (;;) {
      const auto now = reader.wait(index_, patience);
      if (now == ChannelReader::Next::Message) break;
      if (now == ChannelReader::Next::End || give_up_()) return {};
    }
  return read(index_);
}

std::vector<Delivery> NodeReceiver::read(int64_t index) {
  std::vector<Delivery> deliveries;
  for (size_t s = 0; s < sources_.size(); ++s) deliveries.push_back(deliver(s, index));
  return deliveries;
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
    auto& slot = reader.slot();
    for (const int32_t a : disabled) disable(reader, a);
    const size_t length = std::min(failure.size(), slot.failure.size() - 1);
    std::memcpy(slot.failure.data(), failure.data(), length);
    slot.failure[length] = '\0';
    reader.finish(index_);
  }
  ++index_;
}

const std::byte* NodeReceiver::look(int source, const Lent& lent) {
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
  return over;
}

void NodeReceiver::set_over(const std::vector<int64_t>& over, int64_t done) {
  for (auto& reader : readers_)
    for (size_t a = 0; a < over.size(); ++a)
      reader.slot().over[static_cast<size_t>(done % 2)][a] = static_cast<uint32_t>(over[a]);
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
