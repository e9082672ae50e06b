// SPDX-License-Identifier: BSD-3-Clause
// Laying segments out, and opening them. Words come first, so that a sidecar maps them for writing
// and everything else for reading only: a stage that writes where it should not hurts itself alone.
#include "node/segment.hpp"

#include <algorithm>
#include <cstring>

namespace pillion::node {

constexpr std::array<char, 8> magic{'p', 'i', 'l', 'l', 'i', 'o', 'n', '\0'};
constexpr uint32_t layout_version = 1;
constexpr size_t board_size = size_t{64} << 10;
constexpr size_t heads_size = size_t{128} << 10;
constexpr size_t longest_name = 64;

struct SegmentHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t lane_size;  ///< sizeof(LaneWords) of the maker
  std::atomic<Token> maker;
  uint64_t run;
  std::array<char, longest_name> name;
  int32_t node, nodes, simulation_ranks, lanes;
  uint64_t lanes_offset;
  uint64_t configuration_offset, configuration_size;
  uint64_t boards_offset;
  uint64_t control_size;
};

namespace {

/// Where things are in a segment.
struct Plan {
  uint64_t lanes, configuration, boards, control, end;
  std::vector<uint64_t> memory;  ///< of lanes
};

Plan plan(const std::vector<LanePlan>& lanes, size_t configuration) {
  Plan p{};
  p.lanes = (sizeof(SegmentHeader) + 63) / 64 * 64;
  p.configuration = p.lanes + lanes.size() * sizeof(LaneWords);
  p.boards = (p.configuration + configuration + 63) / 64 * 64;
  p.control = whole_pages(p.boards + seat_count * board_size);
  p.end = p.control;
  for (const auto& lane : lanes) {
    p.memory.push_back(p.end);
    p.end += whole_pages(lane.values) + heads_size;
  }
  return p;
}

void check_header(const SegmentHeader& header, size_t size) {
  if (size < sizeof(SegmentHeader) || header.magic != magic)
    base::fail(ErrorCode::File, "this is no memory of a Pillion run");
  if (header.version != layout_version || header.lane_size != sizeof(LaneWords))
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

size_t Segment::size_of(const std::vector<LanePlan>& lanes, size_t configuration) {
  return plan(lanes, configuration).end;
}

Segment Segment::make(const Identity& identity, const std::vector<LanePlan>& lanes,
                      const base::Bytes& configuration) {
  const Plan p = plan(lanes, configuration.size());
  Segment segment(SharedFile::make(memory_folder, p.end));
  segment.file_.reserve(0, p.control);
  segment.control_ = segment.file_.map(0, p.control, SharedFile::Access::Write);
  auto& header = segment.header();
  header.version = layout_version;
  header.lane_size = sizeof(LaneWords);
  header.maker = this_process();
  header.run = identity.run;
  std::strncpy(header.name.data(), identity.name.c_str(), longest_name - 1);
  header.node = identity.node;
  header.nodes = identity.nodes;
  header.simulation_ranks = identity.simulation_ranks;
  header.lanes = static_cast<int32_t>(lanes.size());
  header.lanes_offset = p.lanes;
  header.configuration_offset = p.configuration;
  header.configuration_size = configuration.size();
  header.boards_offset = p.boards;
  header.control_size = p.control;
  segment.note_places();
  std::memcpy(segment.control_.data() + p.configuration, configuration.data(),
              configuration.size());
  for (size_t l = 0; l < lanes.size(); ++l) {
    auto& lane = segment.lane(static_cast<int>(l));
    lane.rank = lanes[l].rank;
    lane.spill_descriptor = -1;
    lane.values_offset = p.memory[l];
    lane.values_size = whole_pages(lanes[l].values);
    lane.heads_offset = p.memory[l] + lane.values_size;
    lane.heads_size = heads_size;
  }
  header.magic = magic;
  return segment;
}

Segment Segment::open(Token process, int descriptor) {
  Segment segment(SharedFile::open(number_of(process), descriptor));
  const size_t size = size_of_file(segment.file_);
  if (size < sizeof(SegmentHeader)) base::fail(ErrorCode::File, "this is no memory of a run");
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
  lanes_ = h.lanes;
  lanes_offset_ = h.lanes_offset;
  boards_offset_ = h.boards_offset;
}

SegmentHeader& Segment::header() const {
  return *reinterpret_cast<SegmentHeader*>(control_.data());
}

Identity Segment::identity() const {
  const auto& h = header();
  return {h.name.data(), h.run, h.node, h.nodes, h.simulation_ranks};
}

Token Segment::maker() const { return header().maker; }
int Segment::lanes() const { return lanes_; }

LaneWords& Segment::lane(int number) const {
  return reinterpret_cast<LaneWords*>(control_.data() + lanes_offset_)[number];
}

base::Bytes Segment::configuration() const {
  const std::byte* begin = control_.data() + header().configuration_offset;
  return {begin, begin + header().configuration_size};
}

base::Bytes Segment::read_board(int seat) const {
  const std::byte* board =
      control_.data() + boards_offset_ + static_cast<size_t>(seat) * board_size;
  uint64_t size = 0;
  std::memcpy(&size, board, sizeof size);
  size = std::min<uint64_t>(size, board_size - sizeof size);
  return {board + sizeof size, board + sizeof size + size};
}

void Segment::write_board(int seat, const base::Bytes& text) const {
  if (text.size() + sizeof(uint64_t) > board_size)
    base::fail(ErrorCode::Configuration,
               "the guest's configuration takes {} bytes; there is room for {}", text.size(),
               board_size - sizeof(uint64_t));
  std::byte* board = control_.data() + boards_offset_ + static_cast<size_t>(seat) * board_size;
  const uint64_t size = text.size();
  std::memcpy(board, &size, sizeof size);
  std::memcpy(board + sizeof size, text.data(), size);
}

void Segment::take_lane(int number) {
  auto& lane = this->lane(number);
  const size_t size = lane.values_size + lane.heads_size;
  file_.reserve(lane.values_offset, size);
  own_ = file_.map(lane.values_offset, size, SharedFile::Access::Write);
  own_offset_ = lane.values_offset;
}

void Segment::open_lane(int number) const { lane(number).writer = this_process(); }

std::byte* Segment::own(uint64_t offset) const { return own_.data() + (offset - own_offset_); }

const std::byte* Segment::look(uint64_t offset, size_t size) {
  auto after = looked_at_.upper_bound(offset);
  if (after != looked_at_.begin()) {
    const auto& [begin, mapping] = *std::prev(after);
    if (offset + size <= begin + mapping.size()) return mapping.data() + (offset - begin);
  }
  // A lane's memory is mapped whole, a region as far as it is asked for.
  uint64_t begin = offset;
  size_t length = whole_pages(size);
  for (int l = 0; l < lanes(); ++l) {
    const auto& lane = this->lane(l);
    const size_t all = lane.values_size + lane.heads_size;
    if (offset < lane.values_offset || offset >= lane.values_offset + all) continue;
    begin = lane.values_offset;
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
