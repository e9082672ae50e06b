// SPDX-License-Identifier: BSD-3-Clause
// The memory that a run shares with its sidecars on one node: a header that identifies the run, the
// words of a channel for each simulation rank, the configuration; then, for each slot, pages with
// its words of all channels and the request of the attached job that holds it; then the memory of
// the channels. Further regions are added at its end while the run continues. A sidecar job maps
// the pages of its slot for writing, and everything else for reading only: a stray store in one of
// its stages reaches nothing that the simulation trusts.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
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

/// A run that is active, as far as it can be seen from this node.
struct Found {
  FileAddress address;
  Identity identity;
  bool in_container = false;  ///< with process numbers of its own, so it cannot be attached to
};

/// The run whose segment process `number` has as `descriptor`, and has made; nothing if it is not a
/// segment, or not all of its channels are there. Maps nothing.
std::optional<Found> look_at_run(int number, int descriptor);

class Segment {
 public:
  /// A new segment; memory is put behind a channel when its writer takes it. Throws
  /// ErrorCode::File.
  static Segment make(const Identity& identity, const std::vector<ChannelPlan>& channels,
                      const base::Bytes& configuration);
  enum class Role { Simulation, Sidecar };
  /// The segment of that address; throws ErrorCode::File if it is none of this version, and what
  /// SharedFile::open() throws.
  static Segment open(const FileAddress& address, Role role);
  /// What memory a segment takes when all its channels are in use.
  static size_t size_of(const std::vector<ChannelPlan>& channels, size_t configuration);

  [[nodiscard]] int descriptor() const { return file_.descriptor(); }
  /// Of a segment that this process has made.
  [[nodiscard]] FileAddress address() const { return file_.address(); }
  [[nodiscard]] Identity identity() const;
  [[nodiscard]] base::Bytes configuration() const;
  [[nodiscard]] int channels() const { return places_.channels; }
  /// Can be written to in the simulation only.
  [[nodiscard]] ChannelWords& channel(int number) const;
  /// The words of a slot in a channel. A sidecar maps the pages of the slot when it asks for them
  /// and does not have them, and unmaps them with the last pointer to them.
  [[nodiscard]] std::shared_ptr<SlotWords> slot(int channel, int slot);
  /// Of all slots. In the simulation only, and no longer than this.
  [[nodiscard]] SlotsOfChannel slots_of(int channel);
  /// The process that made it.
  [[nodiscard]] Token maker() const;

  /// What an attached job has written on the control pages of its slot; see SlotWords for when it
  /// is there.
  [[nodiscard]] base::Bytes read_control(int slot);
  /// Throws ErrorCode::Configuration if it is too large.
  void write_control(int slot, const base::Bytes& text);

  /// Takes a channel for this process: puts memory behind it, near this core; behind the first
  /// `values` bytes of that for values.
  void take_channel(int number, size_t values);
  void take_channel(int number) { take_channel(number, channel(number).values_size); }
  /// Puts memory behind the first `to` bytes for values of the channel that this process has taken,
  /// which had it behind `from`, or gives the rest back. Throws ErrorCode::File if there is none.
  void resize_values(size_t from, size_t to) const;
  /// Says that all that readers need to know of the channel is there.
  void open_channel(int number) const;
  /// Memory of the channel that this process has taken, by its offset in the segment.
  [[nodiscard]] std::byte* own(uint64_t offset) const;
  /// Memory of any channel or region to be read. Throws ErrorCode::Internal if there is none.
  [[nodiscard]] const std::byte* look(uint64_t offset, size_t size);

  /// A further region for values that stay; its offset and memory, which reserve() puts behind it.
  /// Throws ErrorCode::File.
  struct Region {
    uint64_t offset = 0;
    Mapping memory;
  };
  [[nodiscard]] Region add_region(size_t size) const;
  /// Puts memory behind a part of a region, near this core. Throws ErrorCode::File if there is
  /// none.
  void reserve(uint64_t offset, size_t size) const { file_.reserve(offset, size); }

 private:
  /// Where things are, as the header says.
  struct Places {
    int channels = 0;
    uint64_t channels_offset = 0;
    uint64_t configuration_offset = 0, configuration_size = 0;
    uint64_t slots_offset = 0;  ///< of the pages of slot 0; those of the others follow
    uint64_t slot_size = 0;     ///< bytes of the pages of one slot
    uint64_t end = 0;           ///< of the pages of the last slot
  };
  friend std::optional<Found> look_at_run(int number, int descriptor);
  explicit Segment(SharedFile file) : file_(std::move(file)) {}
  /// Throws ErrorCode::File if that is not a header of this version, or does not fit its file.
  static Places check(const SegmentHeader& header, size_t size);
  [[nodiscard]] SegmentHeader& header() const;
  [[nodiscard]] std::shared_ptr<Mapping> pages(int slot);

  SharedFile file_;
  Mapping control_;  ///< up to slots_offset; in the simulation up to the end of all slots
  Places places_;
  Role role_ = Role::Simulation;
  std::array<std::weak_ptr<Mapping>, slot_count> pages_;  ///< of slots, in a sidecar
  uint64_t own_offset_ = 0;
  Mapping own_;
  std::map<uint64_t, Mapping> looked_at_;  ///< by offset
};

/// Segments of all active runs of this user, each once, in the order of run and node.
std::vector<Found> find_runs();

}  // namespace pillion::node
