// SPDX-License-Identifier: BSD-3-Clause
// What goes between the peers of a stage: messages that it sends, records, and cells. A peer that
// failed before makes each of these calls fail on all peers; so does one that has no memory for
// what it would receive. All are [collective over the peers].
#pragma once

#include <pillion/stage.h>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "stagehost/publication.hpp"

namespace pillion::stagehost {

/// What the last call has brought to this rank, in the form that a plug-in sees.
struct Received {
  std::map<int, base::Bytes> bytes;  ///< by the peer that sent them
  std::vector<pillion_message> messages;
};

/// Sends at most one message to each peer; returns the messages received.
Received exchange(std::span<const pillion_message> out, const ExecutionContext& context);
/// The bytes of every peer at `to`, a message from each; none elsewhere.
Received gather(int32_t to, std::span<const std::byte> bytes, const ExecutionContext& context);
/// The bytes of the peer `from`, in one message.
Received broadcast(int32_t from, std::span<const std::byte> bytes, const ExecutionContext& context);
/// Calls `body` on at most `at_once` peers at the same time, in their order; on all if that is 0.
void in_turn(int32_t at_once, const std::function<void()>& body, const ExecutionContext& context);

// Records that belong to keys go from the peers that have them to peers that request them: what a
// stage keeps on cells follows them when their blocks change hands, or after a restart.

/// Writes the records of `wanted` behind one another. `found` says of each whether a peer has it;
/// without that, it throws if none has. All peers give it, or none does.
/// [collective over the peers]
void fetch(const pillion_records& have, std::span<const int64_t> wanted, void* records,
           std::optional<std::span<uint8_t>> found, const ExecutionContext& context);

// What a stage has computed itself goes from one division of a box of cells to another, such as
// between two directions of a Fourier transform. It goes the way of all fields.

/// The box of a division that this peer has; some may have none. Throws for layouts in which a peer
/// may have several.
model::Box part_of(const pillion_division& division, const comm::Communicator& peers);

/// Moves cells of `bytes_per_cell` bytes, packed in the box of one division, to that of another of
/// as many cells. [collective over the peers]
void regroup(const pillion_division& from, const pillion_division& to, int64_t bytes_per_cell,
             const void* source, void* target, const ExecutionContext& context);

}  // namespace pillion::stagehost
