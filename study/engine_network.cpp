// SPDX-License-Identifier: BSD-3-Clause
// When messages arrive, and whom they wake.
#include "engine_network.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <queue>
#include <simgrid/s4u.hpp>
#include <string>

namespace study {

namespace s4u = simgrid::s4u;

// As in smpi.sh and machine.py.
constexpr double message_seconds = 4e-7, poll_seconds = 5e-7;
constexpr double bandwidth = 4e9, bandwidth_on_node = 5e9, latency_on_node = 3e-7;
constexpr size_t eager = 8192;
constexpr double precision = 2e-9;
// A rank that polls may look at the clock too, so it rests no longer than this part of the time for
// which it has polled in vain.
constexpr double part_of_polls = 0.125;

struct Message : UncountedObject {
  int from = 0, to = 0;  ///< in the world
  Envelope envelope;
  size_t size = 0;
  const void* data = nullptr;  ///< the sender's
  std::vector<std::byte, Uncounted<std::byte>> copy;
  double here_at = 0;  ///< the message, or the question whether it may come
  Operation* send = nullptr;
};

namespace {

/// A direction of a node's link. Small messages go between the packets of large ones.
struct Link {
  double small_free_at = 0, free_at = 0;
  double take(double from, double seconds, bool is_small) {
    if (!is_small) return free_at = std::max(free_at, from) + seconds;
    free_at = std::max(free_at, from) + seconds;
    return small_free_at = std::max(small_free_at, from) + seconds;
  }
};

struct Node {
  s4u::Host* host = nullptr;
  Link out, in, inside;
};

struct Rank {
  size_t node = 0;
  s4u::SemaphorePtr bell;
  bool is_resting = false;
  double rests_until = 0;
  std::priority_queue<double, std::vector<double, Uncounted<double>>, std::greater<>> events;
  size_t operations = 0, polls_in_vain = 0;
  double polls_since = 0;
  std::list<Operation*, Uncounted<Operation*>> posted;
  std::list<Message*, Uncounted<Message*>> unexpected;
};

std::array<Rank, most_ranks> ranks;
std::deque<Node> nodes;
std::map<std::pair<size_t, size_t>, double> latencies;

Rank& mine() { return ranks[static_cast<size_t>(here())]; }

double latency(size_t from, size_t to) {
  if (from == to) return latency_on_node;
  const auto [at, is_new] = latencies.try_emplace({from, to}, 0);
  if (is_new) {
    std::vector<s4u::Link*> links;
    nodes[from].host->route_to(nodes[to].host, links, &at->second);
  }
  return at->second;
}

/// When a message arrives that may leave at an instant.
double arrival(const Message& message, double from, size_t size) {
  const size_t a = ranks[static_cast<size_t>(message.from)].node;
  const size_t b = ranks[static_cast<size_t>(message.to)].node;
  const auto bytes = static_cast<double>(size);
  const bool is_small = size <= eager;
  if (a == b)
    return nodes[a].inside.take(from, bytes / bandwidth_on_node, is_small) + latency_on_node;
  const double seconds = bytes / bandwidth;
  const double left = nodes[a].out.take(from, seconds, is_small);
  return nodes[b].in.take(left - seconds + latency(a, b), seconds, is_small);
}

/// Wakes a rank that would sleep beyond it.
void schedule(int rank, double instant) {
  auto& of_rank = ranks[static_cast<size_t>(rank)];
  of_rank.events.push(instant);
  if (!of_rank.is_resting || instant >= of_rank.rests_until) return;
  of_rank.is_resting = false;
  of_rank.bell->release();
}

void finish(Operation& operation, double instant) {
  operation.done_at = instant;
  schedule(operation.owner, instant);
}

// A large message comes after a question and an answer.
void meet(Message* message, Operation& receive) {
  if (receive.data != nullptr && message->size > receive.room) {
    std::fprintf(stderr, "engine: rank %d receives %zu bytes where %zu fit\n", message->to,
                 message->size, receive.room);
    std::abort();
  }
  const bool is_small = message->size <= eager;
  if (receive.data != nullptr && message->size > 0)
    std::memcpy(receive.data, is_small ? message->copy.data() : message->data, message->size);
  receive.envelope = message->envelope;
  receive.size = message->size;
  const double back = latency(ranks[static_cast<size_t>(message->to)].node,
                              ranks[static_cast<size_t>(message->from)].node);
  double instant = std::max(message->here_at, now());
  if (!is_small) instant = arrival(*message, instant + back, message->size);
  finish(receive, instant);
  if (message->send != nullptr) finish(*message->send, is_small ? instant + back : instant);
  delete message;
}

/// Forgets events that have passed; when the next one is.
double next_event(Rank& rank) {
  while (!rank.events.empty() && rank.events.top() <= now() + precision) {
    rank.events.pop();
    rank.polls_in_vain = 0;
  }
  return rank.events.empty() ? never : rank.events.top();
}

}  // namespace

int here() { return static_cast<int>(s4u::this_actor::get_pid()) - 1; }
double now() { return s4u::Engine::get_clock(); }

Operation::Operation() : owner(here()) {
  ++mine().operations;
  mine().polls_in_vain = 0;
}
Operation::~Operation() { --ranks[static_cast<size_t>(owner)].operations; }
bool Operation::is_done() const { return done_at <= now() + precision; }

void join_network() {
  auto* host = s4u::this_actor::get_host();
  auto at =
      std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.host == host; });
  if (at == nodes.end()) at = nodes.insert(nodes.end(), Node{host, {}, {}, {}});
  mine().node = static_cast<size_t>(at - nodes.begin());
  mine().bell = s4u::Semaphore::create(0);
}

Operation* start_sending(int to_in_world, const Envelope& envelope, const void* data, size_t size,
                         bool synchronous) {
  s4u::this_actor::sleep_for(message_seconds);
  auto* send = new Operation;
  auto* message = new Message;
  message->from = here();
  message->to = to_in_world;
  message->envelope = envelope;
  message->size = size;
  message->data = data;
  const bool is_small = size <= eager;
  const auto* bytes = static_cast<const std::byte*>(data);
  if (is_small && size > 0) message->copy.assign(bytes, bytes + size);
  message->here_at = arrival(*message, now(), is_small ? size : 0);
  if (synchronous || !is_small) message->send = send;
  else send->done_at = now();
  auto& to = ranks[static_cast<size_t>(to_in_world)];
  const auto at = std::find_if(to.posted.begin(), to.posted.end(), [&](const Operation* receive) {
    return receive->envelope.holds(envelope);
  });
  if (at == to.posted.end()) {
    to.unexpected.push_back(message);
    schedule(to_in_world, message->here_at);
  } else {
    auto* receive = *at;
    to.posted.erase(at);
    meet(message, *receive);
  }
  return send;
}

Operation* start_receiving(const Envelope& wanted, void* data, size_t room) {
  auto* receive = new Operation;
  receive->is_receive = true;
  receive->data = data;
  receive->room = room;
  receive->envelope = wanted;
  auto& unexpected = mine().unexpected;
  const auto at = std::find_if(unexpected.begin(), unexpected.end(), [&](const Message* message) {
    return wanted.holds(message->envelope);
  });
  if (at == unexpected.end()) {
    mine().posted.push_back(receive);
  } else {
    auto* message = *at;
    unexpected.erase(at);
    meet(message, *receive);
  }
  return receive;
}

// Messages from a rank are found in the order in which it sent them.
Message* find_message(const Envelope& wanted) {
  auto& unexpected = mine().unexpected;
  std::vector<int, Uncounted<int>> not_here;
  for (auto at = unexpected.begin(); at != unexpected.end(); ++at) {
    auto* message = *at;
    if (!wanted.holds(message->envelope)) continue;
    const int from = message->envelope.from;
    if (std::find(not_here.begin(), not_here.end(), from) != not_here.end()) continue;
    if (message->here_at <= now() + precision) {
      unexpected.erase(at);
      return message;
    }
    not_here.push_back(from);
  }
  return nullptr;
}

const Envelope& envelope_of(const Message* message) { return message->envelope; }
size_t size_of(const Message* message) { return message->size; }

Operation* start_receiving(Message* message, void* data, size_t room) {
  auto* receive = new Operation;
  receive->is_receive = true;
  receive->data = data;
  receive->room = room;
  meet(message, *receive);
  return receive;
}

void withdraw(Operation* receive) {
  auto& posted = mine().posted;
  const auto at = std::find(posted.begin(), posted.end(), receive);
  if (at == posted.end()) return;
  posted.erase(at);
  receive->is_withdrawn = true;
  receive->done_at = now();
}

void rest_until(double instant) {
  auto& rank = mine();
  instant = std::min(instant, next_event(rank));
  const double left = instant - now();
  if (left <= precision) return;
  rank.rests_until = instant;
  rank.is_resting = true;
  if (instant == never) rank.bell->acquire();
  else (void)rank.bell->acquire_timeout(left);
  rank.is_resting = false;
}

// Nothing that has begun can be done before the next event, so once each of these was looked at in
// vain, all further looks are. A message that has come may be one that is asked for later.
void poll_in_vain() {
  constexpr size_t spare = 4, to_be_found = 256;
  auto& rank = mine();
  (void)next_event(rank);
  const size_t most = rank.operations + spare + (rank.unexpected.empty() ? 0 : to_be_found);
  if (rank.polls_in_vain == 0) rank.polls_since = now();
  double seconds = poll_seconds;
  if (++rank.polls_in_vain > most)
    seconds = std::max(seconds, part_of_polls * (now() - rank.polls_since));
  rest_until(now() + seconds);
}

void spend_receiving() { s4u::this_actor::sleep_for(message_seconds); }

}  // namespace study
