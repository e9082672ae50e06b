// SPDX-License-Identifier: BSD-3-Clause
// Only senders know of a message, so its size goes ahead of it. When every peer has the memory for
// what comes, receives are posted, and nothing can fail any more but MPI.
#include "stagehost/peer_messages.hpp"

#include <chrono>
#include <exception>
#include <thread>

#include "comm/message.hpp"

namespace pillion::stagehost {

using base::Bytes;

namespace {

void expect_peer(int32_t peer, const comm::Communicator& peers, const char* call) {
  if (peer < 0 || peer >= peers.size())
    base::fail(ErrorCode::Plugin, "a stage calls {} with peer {}; there are peers 0 to {}", call,
               peer, peers.size() - 1);
}

std::span<const std::byte> bytes_of(const pillion_message& message) {
  return {static_cast<const std::byte*>(message.bytes), message.size};
}

/// The size of each message to another peer, in 8 bytes.
std::map<int, Bytes> sizes_of(std::span<const pillion_message> out,
                              const comm::Communicator& peers) {
  std::map<int, Bytes> sizes;
  std::vector<bool> is_taken(static_cast<size_t>(peers.size()));
  for (const auto& message : out) {
    expect_peer(message.peer, peers, "exchange");
    if (is_taken[static_cast<size_t>(message.peer)])
      base::fail(ErrorCode::Plugin, "a stage sends two messages to peer {} in one exchange",
                 message.peer);
    is_taken[static_cast<size_t>(message.peer)] = true;
    if (message.size == 0 || message.peer == peers.rank()) continue;
    base::ByteWriter size;
    size.put(static_cast<uint64_t>(message.size));
    sizes[message.peer] = size.take();
  }
  return sizes;
}

/// Room for what other peers have announced, and what this one sends to itself.
std::map<int, Bytes> room_for(const std::map<int, Bytes>& sizes,
                              std::span<const pillion_message> out, int rank) {
  std::map<int, Bytes> in;
  for (const auto& [peer, size] : sizes) in[peer].resize(base::ByteReader(size).get<uint64_t>());
  for (const auto& message : out)
    if (message.peer == rank && message.size > 0) {
      const auto own = bytes_of(message);
      in[rank].assign(own.begin(), own.end());
    }
  return in;
}

void list_messages(Received& received) {
  for (const auto& [peer, bytes] : received.bytes)
    received.messages.push_back({peer, 0, bytes.size(), bytes.data()});
}

}  // namespace

Received exchange(std::span<const pillion_message> out, const ExecutionContext& context) {
  const auto& peers = *context.peers;
  auto& fence = *context.fence;
  const auto announced = sizes_of(out, peers);
  // Behind this fence every peer is in this call, and behind the next one none is in the exchange
  // of sizes any more. So one tag for each does.
  fence.before_collective();
  const auto sizes = comm::SparseExchange(peers, comm::tags::stage_message_sizes)(announced);
  Received received;
  received.bytes = room_for(sizes, out, peers.rank());
  list_messages(received);
  fence.before_collective();
  std::vector<comm::Request> pending;
  for (auto& [peer, bytes] : received.bytes)
    if (peer != peers.rank())
      pending.push_back(
          comm::receive(peers, bytes.data(), bytes.size(), peer, comm::tags::stage_messages));
  for (const auto& message : out)
    if (message.size > 0 && message.peer != peers.rank())
      pending.push_back(
          comm::send(peers, message.bytes, message.size, message.peer, comm::tags::stage_messages));
  for (auto& request : pending) request.wait();
  return received;
}

Received gather(int32_t to, std::span<const std::byte> bytes, const ExecutionContext& context) {
  const auto& peers = *context.peers;
  expect_peer(to, peers, "gather");
  const pillion_message mine{to, 0, bytes.size(), bytes.data()};
  auto received = exchange(std::span(&mine, 1), context);
  if (peers.rank() != to) return received;
  for (int peer = 0; peer < peers.size(); ++peer) received.bytes[peer];
  received.messages.clear();
  list_messages(received);
  return received;
}

Received broadcast(int32_t from, std::span<const std::byte> bytes,
                   const ExecutionContext& context) {
  const auto& peers = *context.peers;
  auto& fence = *context.fence;
  expect_peer(from, peers, "broadcast");
  const bool is_source = peers.rank() == from;
  fence.before_collective();
  const auto size = peers.reduced(is_source ? static_cast<int64_t>(bytes.size()) : int64_t{0},
                                  comm::Operation::Max);
  Received received;
  auto& out = received.bytes[from];
  if (is_source) out.assign(bytes.begin(), bytes.end());
  else out.resize(static_cast<size_t>(size));
  list_messages(received);
  fence.before_collective();
  if (size > 0) peers.broadcast(out, from);
  return received;
}

void in_turn(int32_t at_once, const std::function<void()>& body, const ExecutionContext& context) {
  const auto& peers = *context.peers;
  if (at_once <= 0) return body();
  // Behind this fence no peer has failed, so each of them takes its turn and ends it. The turns of
  // an earlier call are over: a peer receives its turn before it takes it.
  context.fence->before_collective();
  if (peers.rank() >= at_once) {
    // A receive that waits would keep a core busy that a solver may want.
    std::optional<comm::Arrival> turn;
    while (!(turn = comm::find_arrival(peers, peers.rank() - at_once, comm::tags::stage_turn)))
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    comm::receive(*turn, nullptr);
  }
  std::exception_ptr failure;
  try {
    body();
  } catch (...) {
    failure = std::current_exception();
  }
  if (peers.rank() + at_once < peers.size())
    comm::send(peers, nullptr, 0, peers.rank() + at_once, comm::tags::stage_turn).wait();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pillion::stagehost
