// SPDX-License-Identifier: BSD-3-Clause
// Laying segments out, and opening them.
#include "node/segment.hpp"

#include <algorithm>
#include <cstring>

namespace pillion::node {

constexpr std::array<char, 8> magic{'p', 'i', 'l', 'l', 'i', 'o', 'n', '\0'};
constexpr uint32_t layout_version = 6;
constexpr size_t control_size = size_t{64} << 10;
constexpr size_t heads_size = size_t{128} << 10;
constexpr size_t longest_name = 64;
constexpr int32_t most_channels = 1 << 16;

struct SegmentHeader {
  uint64_t nonce;  ///< of the file, which SharedFile has written
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t words_size;  ///< sizeof(ChannelWords) + sizeof(SlotWords) of the maker
  std::atomic<Token> maker;
  uint64_t run;
  std::array<char, longest_name> name;
  int32_t node, nodes, simulation_ranks, channels;
  uint64_t channels_offset;
  uint64_t configuration_offset, configuration_size;
  uint64_t slots_offset, slot_size;
};

namespace {

constexpr uint32_t words_size = sizeof(ChannelWords) + sizeof(SlotWords);

/// Where things are in a segment.
struct Plan {
  uint64_t channels, configuration, slots, slot, end;
  std::vector<uint64_t> memory;  ///< of channels
};

Plan plan(const std::vector<ChannelPlan>& channels, size_t configuration) {
  Plan p{};
  p.channels = (sizeof(SegmentHeader) + 63) / 64 * 64;
  p.configuration = p.channels + channels.size() * sizeof(ChannelWords);
  p.slots = whole_pages(p.configuration + configuration);
  p.slot = whole_pages(control_size + channels.size() * sizeof(SlotWords));
  p.end = p.slots + slot_count * p.slot;
  for (const auto& channel : channels) {
    p.memory.push_back(p.end);
    p.end += whole_pages(channel.values) + heads_size;
  }
  return p;
}

/// Whether `count` things of `size` bytes from `offset` on end at `end` or before.
bool fit(uint64_t offset, uint64_t count, uint64_t size, uint64_t end) {
  return offset <= end && (count == 0 || size <= (end - offset) / count);
}

size_t size_of_file(const SharedFile& file) {
  const off_t size = lseek(file.descriptor(), 0, SEEK_END);
  return size < 0 ? 0 : static_cast<size_t>(size);
}

}  // namespace

size_t Segment::size_of(const std::vector<ChannelPlan>& channels, size_t configuration) {
  return plan(channels, configuration).end;
}

Segment::Places Segment::check(const SegmentHeader& h, size_t size) {
  if (h.magic != magic) base::fail(ErrorCode::File, "this is not the memory of a Pillion run");
  if (h.version != layout_version || h.words_size != words_size)
    base::fail(ErrorCode::File,
               "the run uses version {} of the memory layout and this program version {}; use the "
               "same Pillion for both",
               h.version, layout_version);
  const bool fits =
      h.channels > 0 && h.channels <= most_channels && h.channels_offset % 64 == 0 &&
      fit(h.channels_offset, static_cast<uint64_t>(h.channels), sizeof(ChannelWords),
          h.slots_offset) &&
      fit(h.configuration_offset, 1, h.configuration_size, h.slots_offset) &&
      h.slots_offset == whole_pages(h.slots_offset) && h.slot_size == whole_pages(h.slot_size) &&
      fit(control_size, static_cast<uint64_t>(h.channels), sizeof(SlotWords), h.slot_size) &&
      fit(h.slots_offset, slot_count, h.slot_size, size);
  if (!fits) base::fail(ErrorCode::File, "the memory of this run has a damaged header");
  return {h.channels,
          h.channels_offset,
          h.configuration_offset,
          h.configuration_size,
          h.slots_offset,
          h.slot_size,
          h.slots_offset + slot_count * h.slot_size};
}

Segment Segment::make(const Identity& identity, const std::vector<ChannelPlan>& channels,
                      const base::Bytes& configuration) {
  const Plan p = plan(channels, configuration.size());
  Segment segment(SharedFile::make(memory_folder, p.end));
  const uint64_t control = p.slots + slot_count * p.slot;
  segment.file_.reserve(0, control);
  segment.control_ = segment.file_.map(0, control, SharedFile::Access::Write);
  auto& header = segment.header();
  header.version = layout_version;
  header.words_size = words_size;
  header.maker = this_process();
  header.run = identity.run;
  std::strncpy(header.name.data(), identity.name.c_str(), longest_name - 1);
  header.node = identity.node;
  header.nodes = identity.nodes;
  header.simulation_ranks = identity.simulation_ranks;
  header.channels = static_cast<int32_t>(channels.size());
  header.channels_offset = p.channels;
  header.configuration_offset = p.configuration;
  header.configuration_size = configuration.size();
  header.slots_offset = p.slots;
  header.slot_size = p.slot;
  header.magic = magic;
  segment.places_ = check(header, p.end);
  std::memcpy(segment.control_.data() + p.configuration, configuration.data(),
              configuration.size());
  for (size_t l = 0; l < channels.size(); ++l) {
    auto& channel = segment.channel(static_cast<int>(l));
    channel.rank = channels[l].rank;
    channel.spill_descriptor = -1;
    channel.values_offset = p.memory[l];
    channel.values_size = whole_pages(channels[l].values);
    channel.heads_offset = p.memory[l] + channel.values_size;
    channel.heads_size = heads_size;
  }
  return segment;
}

Segment Segment::open(const FileAddress& address, Role role) {
  Segment segment(SharedFile::open(address));
  const size_t size = size_of_file(segment.file_);
  if (size < sizeof(SegmentHeader)) base::fail(ErrorCode::File, "this is not the memory of a run");
  const Mapping head =
      segment.file_.map(0, whole_pages(sizeof(SegmentHeader)), SharedFile::Access::Read);
  segment.role_ = role;
  segment.places_ = check(*reinterpret_cast<const SegmentHeader*>(head.data()), size);
  const bool writes = role == Role::Simulation;
  segment.control_ =
      segment.file_.map(0, writes ? segment.places_.end : segment.places_.slots_offset,
                        writes ? SharedFile::Access::Write : SharedFile::Access::Read);
  return segment;
}

std::optional<Found> look_at_run(int number, int descriptor) {
  const auto file = SharedFile::look_at(number, descriptor);
  SegmentHeader header;
  if (!file.read(0, &header, sizeof header)) return {};
  const auto places = Segment::check(header, size_of_file(file));
  header.name.back() = '\0';
  Token writer = 0;
  for (int c = 0; c < places.channels; ++c) {
    const uint64_t at = places.channels_offset + static_cast<uint64_t>(c) * sizeof(ChannelWords) +
                        offsetof(ChannelWords, writer);
    // Without a writer it is only just being made.
    if (!file.read(at, &writer, sizeof writer) || writer == 0) return {};
  }
  // Sidecars of an ended run may still hold it; the maker's own descriptor is the one to use.
  const Token maker = header.maker;
  const bool in_container = is_in_inner_namespace(number, maker);
  if (!in_container && (number_of(maker) != number || !is_alive(maker))) return {};
  return Found{{maker, descriptor, header.nonce},
               {header.name.data(), header.run, header.node, header.nodes, header.simulation_ranks},
               in_container};
}

SegmentHeader& Segment::header() const {
  return *reinterpret_cast<SegmentHeader*>(control_.data());
}

Identity Segment::identity() const {
  const auto& h = header();
  return {{h.name.data(), strnlen(h.name.data(), h.name.size())},
          h.run,
          h.node,
          h.nodes,
          h.simulation_ranks};
}

Token Segment::maker() const { return header().maker; }

ChannelWords& Segment::channel(int number) const {
  return reinterpret_cast<ChannelWords*>(control_.data() + places_.channels_offset)[number];
}

// In the simulation the pages are part of what is mapped as long as this.
std::shared_ptr<Mapping> Segment::pages(int slot) {
  auto& known = pages_[static_cast<size_t>(slot)];
  if (auto pages = known.lock()) return pages;
  const uint64_t offset = places_.slots_offset + static_cast<uint64_t>(slot) * places_.slot_size;
  auto pages =
      std::make_shared<Mapping>(file_.map(offset, places_.slot_size, SharedFile::Access::Write));
  known = pages;
  return pages;
}

std::shared_ptr<SlotWords> Segment::slot(int channel, int slot) {
  auto pages = this->pages(slot);
  auto* words = reinterpret_cast<SlotWords*>(pages->data() + control_size) + channel;
  return {std::move(pages), words};
}

SlotsOfChannel Segment::slots_of(int channel) {
  if (role_ == Role::Sidecar)
    base::fail(ErrorCode::Internal, "a sidecar asked for the slots of others");
  SlotsOfChannel slots{};
  for (size_t s = 0; s < slots.size(); ++s)
    slots[s] = reinterpret_cast<SlotWords*>(control_.data() + places_.slots_offset +
                                            s * places_.slot_size + control_size) +
               channel;
  return slots;
}

base::Bytes Segment::configuration() const {
  const std::byte* begin = control_.data() + places_.configuration_offset;
  return {begin, begin + places_.configuration_size};
}

base::Bytes Segment::read_control(int slot) {
  const auto pages = this->pages(slot);
  uint64_t size = 0;
  std::memcpy(&size, pages->data(), sizeof size);
  size = std::min<uint64_t>(size, control_size - sizeof size);
  return {pages->data() + sizeof size, pages->data() + sizeof size + size};
}

void Segment::write_control(int slot, const base::Bytes& text) {
  if (text.size() + sizeof(uint64_t) > control_size)
    base::fail(ErrorCode::Configuration,
               "the attached job's configuration takes {} bytes; there is room for {}", text.size(),
               control_size - sizeof(uint64_t));
  const auto pages = this->pages(slot);
  const uint64_t size = text.size();
  std::memcpy(pages->data(), &size, sizeof size);
  std::memcpy(pages->data() + sizeof size, text.data(), size);
}

void Segment::take_channel(int number, size_t values) {
  auto& channel = this->channel(number);
  const size_t size = channel.values_size + channel.heads_size;
  file_.reserve(channel.heads_offset, channel.heads_size);
  own_ = file_.map(channel.values_offset, size, SharedFile::Access::Write, true);
  own_.populate(channel.values_size, channel.heads_size);
  own_offset_ = channel.values_offset;
  resize_values(0, std::min<size_t>(values, channel.values_size));
}

void Segment::resize_values(size_t from, size_t to) const {
  from = whole_pages(from);
  to = whole_pages(to);
  if (to < from) own_.give_back(to, from - to);
  if (to <= from) return;
  file_.reserve(own_offset_ + from, to - from);
  own_.populate(from, to - from);
}

void Segment::open_channel(int number) const { channel(number).writer = this_process(); }

std::byte* Segment::own(uint64_t offset) const { return own_.data() + (offset - own_offset_); }

const std::byte* Segment::look(uint64_t offset, size_t size) {
  auto after = looked_at_.upper_bound(offset);
  if (after != looked_at_.begin()) {
    const auto& [begin, mapping] = *std::prev(after);
    if (fit(offset - begin, 1, size, mapping.size())) return mapping.data() + (offset - begin);
  }
  // A channel's memory is mapped whole, a region as far as it is asked for.
  uint64_t begin = offset;
  size_t length = size;
  for (int l = 0; l < channels(); ++l) {
    const auto& channel = this->channel(l);
    const size_t all = channel.values_size + channel.heads_size;
    if (offset < channel.values_offset || offset - channel.values_offset >= all) continue;
    begin = channel.values_offset;
    length = all;
  }
  const size_t end = size_of_file(file_);
  if (begin != whole_pages(begin) || !fit(begin, 1, length, end) ||
      !fit(offset, 1, size, begin + length))
    base::fail(ErrorCode::Internal, "{} bytes at {} are not in the segment", size, offset);
  auto& mapping = looked_at_[begin];
  mapping = file_.map(begin, std::min(whole_pages(length), end - begin), SharedFile::Access::Read);
  return mapping.data() + (offset - begin);
}

Segment::Region Segment::add_region(size_t size) const {
  const size_t whole = std::max(whole_pages(size), whole_pages(1));
  const uint64_t offset = file_.extend(whole);
  return {offset, file_.map(offset, whole, SharedFile::Access::Write, true)};
}

}  // namespace pillion::node
