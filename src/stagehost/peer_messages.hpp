// SPDX-License-Identifier: BSD-3-Clause
// Messages that a stage sends between its peers. A peer that failed before makes each of these
// calls fail on all peers; so does one that has no memory for what it would receive. All are
// [collective over the peers].
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "stagehost/execution_context.hpp"

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

}  // namespace pillion::stagehost
