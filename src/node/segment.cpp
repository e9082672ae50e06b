// SPDX-License-Identifier: BSD-3-Clause
// Laying segments out, and opening them. Words come first, so that a sidecar maps them for writing
// and everything else for reading only: a stage that writes where it should not hurts itself alone.
#include "node/segment.hpp"

#include <algorithm>
#include <cstring>

namespace pillion::node {

constexpr std::array<char, 8> magic{'p', 'i', 'l', 'l', 'i', 'o', 'n', '\0'};
constexpr uint32_t layout_version = 1;
constexpr size_t control_size = size_t{64} << 10;
constexpr size_t heads_size = size_t{128} << 10;
constexpr size_t longest_name = 64;

struct SegmentHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t channel_size;  ///< sizeof(LaneWords) of the maker
  std::atomic<Token> maker;
  uint64_t run;
  std::array<char, longest_name> name;
  int32_t node, nodes, simulation_ranks, channels;
  uint64_t channels_offset;
  uint64_t configuration_offset, configuration_size;
  uint64_t controls_offset;
  uint64_t control_size;
};

namespace {

/// Where things are in a segment.
struct Plan {
  uint64_t channels, configuration, controls, control, end;
  std::vector<uint64_t> memory;  ///< of channels
};

Plan plan(const std::vector<ChannelPlan>& channels, size_t configuration) {
  Plan p{};
  p.channels = (sizeof(SegmentHeader) + 63) / 64 * 64;
  p.configuration = p.channels + channels.size() * sizeof(ChannelWords);
  p.controls = (p.configuration + configuration + 63) / 64 * 64;
  p.control = whole_pages(p.controls + slot_count * control_size);
  p.end = p.control;
  for (const auto& channel : channels) {
    p.memory.push_back(p.end);
    p.end += whole_pages(channel.values) + heads_size;
  }
  return p;
}

void check_header(const SegmentHeader& header, size_t size) {
  if (size < sizeof(SegmentHeader) || header.magic != magic)
    base::fail(ErrorCode::File, "this is not the memory of a Pillion run");
  if (header.version != layout_version || header.channel_size != sizeof(ChannelWords))
    base::fail(ErrorCode::File,
               "the run uses version {} of the memory layout and this program version {}; use the "
               "same Pillion for both",
               header.version, layout_version);
}

size_t size_of_file(const SharedFile& file) {
  const off_t size = lseek(file.descriptor(), 0, SEEK_END);
  return size < 0 ? 0 : static_cast<size_t>(size);
}

}  // namespace

size_t Segment::size_of(const std::vector<ChannelPlan>& channels, size_t configuration) {
  return plan(channels, configuration).end;
}

Segment Segment::make(const Identity& identity, const std::vector<ChannelPlan>& channels,
                      const base::Bytes& configuration) {
  const Plan p = plan(channels, configuration.size());
  Segment segment(SharedFile::make(memory_folder, p.end));
  segment.file_.reserve(0, p.control);
  segment.control_ = segment.file_.map(0, p.control, SharedFile::Access::Write);
  auto& header = segment.header();
  header.version = layout_version;
  header.channel_size = sizeof(ChannelWords);
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
  header.controls_offset = p.controls;
  header.control_size = p.control;
  segment.note_places();
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
  header.magic = magic;
  return segment;
}

Segment Segment::open(Token process, int descriptor) {
  Segment segment(SharedFile::open(number_of(process), descriptor));
  const size_t size = size_of_file(segment.file_);
  if (size < sizeof(SegmentHeader)) base::fail(ErrorCode::File, "this is not the memory of a run");
  const Mapping head =
      segment.file_.map(0, whole_pages(sizeof(SegmentHeader)), SharedFile::Access::Read);
  const auto& header = *reinterpret_cast<const SegmentHeader*>(head.data());
  check_header(header, size);
  segment.control_ = segment.file_.map(0, header.control_size, SharedFile::Access::Write);
  segment.note_places();
  return segment;
}

void Segment::note_places() {
  const auto& h = header();
  channels_ = h.channels;
  channels_offset_ = h.channels_offset;
  controls_offset_ = h.controls_offset;
}

SegmentHeader& Segment::header() const {
  return *reinterpret_cast<SegmentHeader*>(control_.data());
}

Identity Segment::identity() const {
  const auto& h = header();
  return {h.name.data(), h.run, h.node, h.nodes, h.simulation_ranks};
}

Token Segment::maker() const { return header().maker; }
int Segment::channels() const { return channels_; }

ChannelWords& Segment::channel(int number) const {
  return reinterpret_cast<ChannelWords*>(control_.data() + channels_offset_)[number];
}

base::Bytes Segment::configuration() const {
  const std::byte* begin = control_.data() + header().configuration_offset;
  return {begin, begin + header().configuration_size};
}

base::Bytes Segment::read_control(int slot) const {
  const std::byte* control =
      control_.data() + controls_offset_ + static_cast<size_t>(slot) * control_size;
  uint64_t size = 0;
  std::memcpy(&size, control, sizeof size);
  size = std::min<uint64_t>(size, control_size - sizeof size);
  return {control + sizeof size, control + sizeof size + size};
}

void Segment::write_control(int slot, const base::Bytes& text) const {
  if (text.size() + sizeof(uint64_t) > control_size)
    base::fail(ErrorCode::Configuration,
               "the attached job's configuration takes {} bytes; there is room for {}", text.size(),
               control_size - sizeof(uint64_t));
  std::byte* control =
      control_.data() + controls_offset_ + static_cast<size_t>(slot) * control_size;
  const uint64_t size = text.size();
  std::memcpy(control, &size, sizeof size);
  std::memcpy(control + sizeof size, text.data(), size);
}

void Segment::take_channel(int number) {
  auto& channel = this->channel(number);
  const size_t size = channel.values_size + channel.heads_size;
  file_.reserve(channel.values_offset, size);
  own_ = file_.map(channel.values_offset, size, SharedFile::Access::Write);
  own_offset_ = channel.values_offset;
}

void Segment::open_channel(int number) const { channel(number).writer = this_process(); }

std::byte* Segment::own(uint64_t offset) const { return own_.data() + (offset - own_offset_); }

const std::byte* Segment::look(uint64_t offset, size_t size) {
  auto after = looked_at_.upper_bound(offset);
  if (after != looked_at_.begin()) {
    const auto& [begin, mapping] = *std::prev(after);
    if (offset + size <= begin + mapping.size()) return mapping.data() + (offset - begin);
  }
  // A channel's memory is mapped whole, a region as far as it is asked for.
  uint64_t begin = offset;
  size_t length = whole_pages(size);
  for (int l = 0; l < channels(); ++l) {
    const auto& channel = this->channel(l);
    const size_t all = channel.values_size + channel.heads_size;
    if (offset < channel.values_offset || offset >= channel.values_offset + all) continue;
    begin = channel.values_offset;
    length = all;
  }
  if (begin + length > size_of_file(file_) || offset + size > begin + length)
    base::fail(ErrorCode::Internal, "{} bytes at {} are not in the segment", size, offset);
  auto& mapping = looked_at_[begin];
  mapping = file_.map(begin, length, SharedFile::Access::Read);
  return mapping.data() + (offset - begin);
}

Segment::Region Segment::add_region(size_t size) const {
  const size_t whole = std::max(whole_pages(size), whole_pages(1));
  const uint64_t offset = file_.extend(whole);
  return {offset, file_.map(offset, whole, SharedFile::Access::Write)};
}

}  // namespace pillion::node
