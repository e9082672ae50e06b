// SPDX-License-Identifier: BSD-3-Clause
// The memory that a run shares with its sidecars on one node: a header that identifies the run, the
// configuration, control pages on which attached jobs write their requests, a channel for each
// simulation rank, and the memory of the channels. Further regions are added at its end while the
// run continues.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "node/channel.hpp"
#include "node/shared_file.hpp"

namespace pillion::node {

/// What run a segment belongs to, and where it stands in it.
struct Identity {
  std::string name;
  uint64_t run = 0;  ///< no other run has it
  int32_t node = 0;
  int32_t nodes = 1;
  int32_t simulation_ranks = 1;  ///< on all nodes
};

struct ChannelPlan {
  int32_t rank = 0;   ///< of the writer, among simulation ranks
  size_t values = 0;  ///< bytes for messages with values
};

struct SegmentHeader;

class Segment {
 public:
  /// A new segment; memory is put behind a channel when its writer takes it. Throws
  /// ErrorCode::File.
  static Segment make(const Identity& identity, const std::vector<ChannelPlan>& channels,
                      const base::Bytes& configuration);
  /// The segment that a process has as `descriptor`; throws ErrorCode::File if it is none of this
  /// version.
  static Segment open(Token process, int descriptor);
  /// What memory a segment takes when all its channels are in use.
  static size_t size_of(const std::vector<ChannelPlan>& channels, size_t configuration);

  [[nodiscard]] int descriptor() const { return file_.descriptor(); }
  [[nodiscard]] Identity identity() const;
  [[nodiscard]] base::Bytes configuration() const;
  [[nodiscard]] int channels() const;
  [[nodiscard]] ChannelWords& channel(int number) const;
  /// The process that made it.
  [[nodiscard]] Token maker() const;

  /// What an attached job has written on the control page of its slot; see LaneWords for when it is
  /// there.
  [[nodiscard]] base::Bytes read_control(int slot) const;
  /// Throws ErrorCode::Configuration if it is too large.
  void write_control(int slot, const base::Bytes& text) const;

  /// Takes a channel for this process: puts memory behind it, near this core.
  void take_channel(int number);
  /// Says that all that readers need to know of the channel is there.
  void open_channel(int number) const;
  /// Memory of the channel that this process has taken, by its offset in the segment.
  [[nodiscard]] std::byte* own(uint64_t offset) const;
  /// Memory of any channel or region to be read.
  [[nodiscard]] const std::byte* look(uint64_t offset, size_t size);

  /// A further region for values that stay; its offset and memory. Throws ErrorCode::File.
  struct Region {
    uint64_t offset = 0;
    Mapping memory;
  };
  [[nodiscard]] Region add_region(size_t size) const;

 private:
  explicit Segment(SharedFile file) : file_(std::move(file)) {}
  [[nodiscard]] SegmentHeader& header() const;
  /// Keeps where things are, as the header says.
  void note_places();

  SharedFile file_;
  Mapping control_;
  // A stray store in a sidecar may change the header, so these are read once.
  int channels_ = 0;
  uint64_t channels_offset_ = 0;
  uint64_t controls_offset_ = 0;
  uint64_t own_offset_ = 0;
  Mapping own_;
  std::map<uint64_t, Mapping> looked_at_;  ///< by offset
};

/// A run that is active, as far as it can be seen from this node.
struct Found {
  Token process = 0;
  int descriptor = -1;
  Identity identity;
};

/// Segments of all active runs of this user, each once, in the order of run and node.
std::vector<Found> find_runs();

}  // namespace pillion::node
