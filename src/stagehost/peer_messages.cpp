// SPDX-License-Identifier: BSD-3-Clause
// Only senders know of a message, so its size goes ahead of it. When every peer has the memory for
// what comes, receives are posted, and nothing can fail any more but MPI.
#include "stagehost/peer_messages.hpp"

#include <exception>
#include <unordered_map>

#include "base/clock.hpp"
#include "comm/agreement.hpp"
#include "comm/message.hpp"
#include "layout/assignment.hpp"
#include "model/catalogue.hpp"
#include "stagehost/plans.hpp"

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
  // All peers have posted their receives before they wait; sizes were exchanged before.
  for (auto& request : pending) request.wait();
  return received;
}

namespace {

/// Bytes of all peers together that go along a tree, where some peers hold half of them for others.
constexpr int64_t most_along_tree = int64_t{1} << 20;

}  // namespace

// Few bytes go along a tree, so that the peer that gets them does not receive a message from each
// other. Many go directly.
Received gather(int32_t to, std::span<const std::byte> bytes, const ExecutionContext& context) {
  const auto& peers = *context.peers;
  expect_peer(to, peers, "gather");
  context.fence->before_collective();
  const auto all = peers.reduced(static_cast<int64_t>(bytes.size()), comm::Operation::Sum);
  Received received;
  if (all <= most_along_tree) {
    const Bytes mine(bytes.begin(), bytes.end());
    context.fence->before_collective();
    auto gathered = peers.gather(mine, to);
    for (size_t peer = 0; peer < gathered.size(); ++peer)
      received.bytes[static_cast<int>(peer)] = std::move(gathered[peer]);
  } else {
    const pillion_message mine{to, 0, bytes.size(), bytes.data()};
    received = exchange(std::span(&mine, 1), context);
    received.messages.clear();
    if (peers.rank() == to)
      for (int peer = 0; peer < peers.size(); ++peer) received.bytes[peer];
  }
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
    base::wait_until([&] {
      turn = comm::find_arrival(peers, peers.rank() - at_once, comm::tags::stage_turn);
      return turn.has_value();
    });
    comm::receive(*turn, nullptr);
  }
  std::exception_ptr failure;
  try {
    body();
  } catch (...) {
    failure = std::current_exception();
  }
  // A message without bytes does not wait for its receiver. The next rank waits for it, also after
  // a failure.
  if (peers.rank() + at_once < peers.size())
    comm::send(peers, nullptr, 0, peers.rank() + at_once, comm::tags::stage_turn).wait();
  if (failure) std::rethrow_exception(failure);
}

// Peers that have a record and peers that request it meet at the owner of each key. What peers
// restore is at its owners already, so that it moves only once.

namespace {

template <class T>
void append(Bytes& to, const T& value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), begin, begin + sizeof value);
}

int64_t key_at(const Bytes& bytes, size_t at) {
  int64_t key = 0;
  std::memcpy(&key, bytes.data() + at, sizeof key);
  return key;
}

using Messages = comm::SparseExchange::Messages;

/// To the owners of keys: the number of records, each with its key before it, and the keys whose
/// records this peer requests.
Messages requests_of(const pillion_records& have, std::span<const int64_t> wanted, int peers) {
  Messages out;
  const auto message_to_owner = [&](int64_t key) -> Bytes& {
    auto& to = out[layout::owner_of(key, peers)];
    if (to.empty()) append(to, int64_t{0});
    return to;
  };
  const auto* record = static_cast<const std::byte*>(have.values);
  for (int64_t i = 0; i < have.count; ++i, record += have.record_size) {
    auto& to = message_to_owner(have.keys[i]);
    append(to, have.keys[i]);
    to.insert(to.end(), record, record + have.record_size);
  }
  for (auto& [owner, to] : out) {
    const auto records = static_cast<int64_t>(to.size() / (sizeof(int64_t) + have.record_size));
    std::memcpy(to.data(), &records, sizeof records);
  }
  for (const int64_t key : wanted) append(message_to_owner(key), key);
  return out;
}

/// Where the keys begin that a peer requests.
size_t questions_in(const Bytes& message, size_t record_size) {
  const auto records = static_cast<size_t>(key_at(message, 0));
  return sizeof(int64_t) + records * (sizeof(int64_t) + record_size);
}

using Places = std::unordered_map<int64_t, const std::byte*>;

Places places_of(const Messages& requests, size_t record_size) {
  Places places;
  for (const auto& [peer, bytes] : requests)
    for (size_t at = sizeof(int64_t); at < questions_in(bytes, record_size);
         at += sizeof(int64_t) + record_size)
      if (const int64_t key = key_at(bytes, at);
          !places.emplace(key, bytes.data() + at + sizeof(int64_t)).second)
        base::fail(
            ErrorCode::Stage,
            "two records of a stage have the key {}, so they cannot be distinguished; are the "
            "simulation's numbers all different?",
            key);
  return places;
}

/// A byte for each key that is requested, 1 before its record, or 0 if there is none and need not
/// be.
Messages answers(const Messages& requests, size_t record_size, bool may_be_missing) {
  const auto places = places_of(requests, record_size);
  Messages out;
  for (const auto& [peer, bytes] : requests)
    for (size_t at = questions_in(bytes, record_size); at < bytes.size(); at += sizeof(int64_t)) {
      const int64_t key = key_at(bytes, at);
      const auto place = places.find(key);
      if (place == places.end() && !may_be_missing)
        base::fail(
            ErrorCode::Stage,
            "a stage keeps values of cell or particle {}, which no rank shares. A run that has "
            "resumed may have a checkpoint of another mesh. Resume on the same mesh, or give "
            "the analysis another name, so that it starts from scratch",
            key);
      auto& to = out[peer];
      append(to, static_cast<uint8_t>(place != places.end() ? 1 : 0));
      if (place != places.end()) to.insert(to.end(), place->second, place->second + record_size);
    }
  return out;
}

/// What goes to this peer itself stays here.
Messages exchange_with_others(comm::SparseExchange& exchange, int rank, Messages out) {
  auto own = out.extract(rank);
  auto in = exchange(out);
  if (!own.empty()) in.insert(std::move(own));
  return in;
}

}  // namespace

void fetch(const pillion_records& have, std::span<const int64_t> wanted, void* records,
           std::optional<std::span<uint8_t>> found, const ExecutionContext& context) {
  const auto& peers = *context.peers;
  auto& fence = *context.fence;
  comm::SparseExchange exchange(peers, comm::tags::stage_records);
  auto requests = requests_of(have, wanted, peers.size());
  // Behind this fence every peer is in this call, and behind the next one none is in the first
  // exchange any more.
  fence.before_collective();
  requests = exchange_with_others(exchange, peers.rank(), std::move(requests));
  auto replies = answers(requests, have.record_size, found.has_value());
  fence.before_collective();
  replies = exchange_with_others(exchange, peers.rank(), std::move(replies));
  std::map<int, size_t> next;
  auto* to = static_cast<std::byte*>(records);
  for (size_t i = 0; i < wanted.size(); ++i, to += have.record_size) {
    const int owner = layout::owner_of(wanted[i], peers.size());
    const auto* from = replies.at(owner).data() + next[owner];
    const bool is_there = static_cast<uint8_t>(*from) != 0;
    if (found) (*found)[i] = is_there ? 1 : 0;
    if (is_there) std::memcpy(to, from + 1, have.record_size);
    next[owner] += 1 + (is_there ? have.record_size : 0);
  }
}

// Plans are kept with those for fields of meshes; these cells are of a mesh without a name.

using layout::Kind;
using layout::Request;
using model::Box;

namespace {

model::Mesh mesh_of(const pillion_division& division) {
  model::Mesh mesh;
  if (division.axes < 1 || division.axes > 3)
    base::fail(ErrorCode::Plugin, "a stage divides cells along {} axes", division.axes);
  mesh.axes = division.axes;
  for (size_t d = 0; d < 3; ++d) {
    mesh.cells[d] = division.cells[d];
    if (division.cells[d] < 1)
      base::fail(ErrorCode::Plugin, "a stage divides {} x {} x {} cells", division.cells[0],
                 division.cells[1], division.cells[2]);
  }
  return mesh;
}

Request request_of(const pillion_division& division) {
  Request request;
  request.kind = static_cast<Kind>(division.layout);
  request.axis = division.axis;
  if (request.kind != Kind::Blocks && request.kind != Kind::Slabs && request.kind != Kind::Pencils)
    base::fail(ErrorCode::Plugin,
               "a stage divides cells in layout {}; only blocks, slabs and pencils can be",
               division.layout);
  const std::string fault = layout::fault_of(request, mesh_of(division));
  if (!fault.empty()) base::fail(ErrorCode::Plugin, "a stage divides cells wrongly: {}", fault);
  return request;
}

/// The boxes of a division that a peer has and that are not empty: one or none.
std::vector<Box> boxes_of(const pillion_division& division, const comm::Communicator& peers) {
  const auto wanted = layout::wanted_of(request_of(division), mesh_of(division), peers.size());
  std::vector<Box> boxes;
  for (const auto& place : wanted.tiling.places_of(peers.rank()))
    if (place.box.volume() > 0) boxes.push_back(place.box);
  return boxes;
}

}  // namespace

Box part_of(const pillion_division& division, const comm::Communicator& peers) {
  const auto boxes = boxes_of(division, peers);
  return boxes.empty() ? Box{{0, 0, 0}, {0, 0, 0}} : boxes.front();
}

void regroup(const pillion_division& from, const pillion_division& to, int64_t bytes_per_cell,
             const void* source, void* target, const ExecutionContext& context) {
  for (int d = 0; d < 3; ++d)
    if (from.cells[d] != to.cells[d])
      base::fail(ErrorCode::Plugin, "a stage moves {} cells along axis {} to {}", from.cells[d], d,
                 to.cells[d]);
  auto& plans = *context.plans;
  auto& fence = *context.fence;
  const auto& peers = *context.peers;
  const auto here = boxes_of(from, peers);
  const auto mesh = mesh_of(to);
  const auto request = request_of(to);
  const auto per_cell = static_cast<size_t>(bytes_per_cell);
  redistribution::FieldArrays cells{.components = 1, .element = per_cell};
  // What takes memory comes before the fence behind which all peers exchange: at most one box here.
  cells.from.reserve(here.size());
  cells.to.reserve(1);
  const uint32_t common =
      fence.common_before_collective(plans.fitting(Division(request, mesh), here, per_cell));
  Plan* plan = nullptr;
  if (common != 0) {
    plan = plans.use(common);
  } else {
    auto made = plans.make(request, mesh, here, per_cell, peers);
    fence.before_collective();
    plan = plans.keep(std::move(made));
  }
  for (const auto& box : plan->moves.here())
    cells.from.push_back(layout::packed_at(static_cast<const std::byte*>(source), box, 1));
  for (const auto& box : plan->moves.boxes())
    cells.to.push_back(layout::packed_at(static_cast<std::byte*>(target), box, 1));
  plan->moves.exchange({&cells, 1});
}

}  // namespace pillion::stagehost
