// SPDX-License-Identifier: BSD-3-Clause
// Messages between the peers of a stage, through the interface that plug-ins have.
#include "stagehost/peer_messages.hpp"

#include <doctest/doctest.h>

#include <pillion/stage.hpp>
#include <random>

#include "comm/agreement.hpp"
#include "stagehost/plugin.hpp"
#include "stagehost/work.hpp"

using namespace pillion;
using namespace pillion::stagehost;

extern int sent_synchronously;  // counted in state_test.cpp

namespace {

using Bytes = std::vector<std::byte>;

/// A stage's peers: all ranks.
struct Peers {
  Peers() {
    context.peers = &world;
    context.fence = &fence;
    work.context = &context;
  }
  [[nodiscard]] stage::Step step() { return {&host_table(), &work}; }
  /// What a piece of work fails with on all ranks, or "".
  std::string failure_of(const std::function<void()>& body) {
    const auto failure = fence.run(body);
    return failure ? failure->what() : "";
  }

  comm::Communicator world{MPI_COMM_WORLD};
  comm::Fence fence{world};
  ExecutionContext context;
  pillion_work work;
};

/// So many bytes that say who sends them to whom.
Bytes bytes_between(int from, int to, size_t size) {
  return Bytes(size, static_cast<std::byte>(16 * from + to + 1));
}

size_t size_between(int from, int to, int round) {
  std::mt19937 random(static_cast<unsigned>(100 * round + 10 * from + to));
  const size_t sizes[] = {0, 1, 7, 5000, 300000};
  return sizes[random() % 5];
}

}  // namespace

TEST_CASE("exchange brings each message to its peer, and nothing else") {
  Peers peers;
  const auto step = peers.step();
  const int me = step.peer();
  CHECK(peers.failure_of([&] {
    for (int round = 0; round < 20; ++round) {
      std::vector<Bytes> out;
      std::vector<stage::Message> messages;
      for (int to = 0; to < step.peers(); ++to)
        out.push_back(bytes_between(me, to, size_between(me, to, round)));
      for (int to = step.peers(); to-- > 0;) messages.push_back({to, out[static_cast<size_t>(to)]});
      const auto in = step.exchange(messages);
      size_t at = 0;
      for (int from = 0; from < step.peers(); ++from) {
        const size_t size = size_between(from, me, round);
        if (size == 0) continue;
        REQUIRE(at < in.size());
        CHECK(in[at].peer == from);
        const auto expected = bytes_between(from, me, size);
        CHECK(
            std::equal(expected.begin(), expected.end(), in[at].bytes.begin(), in[at].bytes.end()));
        ++at;
      }
      CHECK(at == in.size());
    }
  }) == "");
}

TEST_CASE("an exchange refuses a peer that is not there, and two messages to one, on all ranks") {
  Peers peers;
  const auto step = peers.step();
  const Bytes byte(1);
  const int last = step.peers() - 1;
  std::vector<stage::Message> messages;
  if (step.peer() == last) messages = {{step.peers(), byte}};
  const std::string stranger = peers.failure_of([&] { (void)step.exchange(messages); });
  CHECK(stranger.find("peer " + std::to_string(step.peers())) != std::string::npos);
  if (step.peer() == last) messages = {{0, byte}, {0, byte}};
  const std::string twice = peers.failure_of([&] { (void)step.exchange(messages); });
  CHECK(twice.find("two messages to peer 0") != std::string::npos);
}

TEST_CASE("gather brings a message from each peer, empty ones included") {
  Peers peers;
  const auto step = peers.step();
  const int to = step.peers() - 1;
  // Few bytes go along a tree, and many from each peer to the one that gets them.
  for (const size_t size : {size_t{3000}, size_t{2} << 20}) {
    sent_synchronously = 0;
    CHECK(peers.failure_of([&] {
      const auto mine = bytes_between(step.peer(), to, step.peer() == 0 ? 0 : size);
      const auto in = step.gather(mine, to);
      REQUIRE(in.size() == (step.peer() == to ? static_cast<size_t>(step.peers()) : 0));
      for (size_t from = 0; from < in.size(); ++from) {
        CHECK(in[from].peer == static_cast<int>(from));
        CHECK(in[from].bytes.size() == (from == 0 ? 0 : size));
        if (from > 0) CHECK(in[from].bytes[17] == static_cast<std::byte>(16 * from + to + 1));
      }
    }) == "");
    const bool sends = size > 3000 && step.peer() > 0 && step.peer() != to;
    CHECK(sent_synchronously == (sends ? 1 : 0));
  }
}

TEST_CASE("broadcast brings one peer's bytes to all, and none if there are none") {
  Peers peers;
  const auto step = peers.step();
  const int from = step.peers() - 1;
  CHECK(peers.failure_of([&] {
    const auto mine = bytes_between(step.peer(), step.peer(), 40000);
    const auto got = step.broadcast(mine, from);
    CHECK(got.size() == 40000);
    CHECK(got[39999] == static_cast<std::byte>(16 * from + from + 1));
    CHECK(step.broadcast({}, from).empty());
  }) == "");
}

TEST_CASE("a peer that failed before makes every call fail on all peers") {
  Peers peers;
  const auto step = peers.step();
  const Bytes bytes(10);
  const std::vector<std::function<void()>> calls = {
      [&] { (void)step.exchange({}); }, [&] { (void)step.gather(bytes); },
      [&] { (void)step.broadcast(bytes); }, [&] { step.in_turn(1, [] {}); }, [&] { step.agree(); }};
  for (const auto& call : calls) {
    const std::string why = peers.failure_of([&] {
      if (step.peer() == step.peers() - 1) throw Error(ErrorCode::Stage, "no more paper");
      call();
    });
    CHECK(why.find("no more paper") != std::string::npos);
  }
}

TEST_CASE("at most so many peers are in turn at once, and each of them is") {
  Peers peers;
  const auto step = peers.step();
  // Ranks count in the memory of the first one who is in turn.
  MPI_Win window = MPI_WIN_NULL;
  int64_t* counter = nullptr;
  MPI_Win_allocate(step.peer() == 0 ? sizeof(int64_t) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                   static_cast<void*>(&counter), &window);
  if (step.peer() == 0) *counter = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  const auto add = [&](int64_t change) {
    int64_t before = 0;
    MPI_Fetch_and_op(&change, &before, MPI_INT64_T, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    return before + change;
  };
  for (const int64_t at_once : {1, 2})
    for (int round = 0; round < 3; ++round) {
      bool was_called = false;
      CHECK(peers.failure_of([&] {
        step.in_turn(at_once, [&] {
          was_called = true;
          CHECK(add(1) <= at_once);
          add(-1);
        });
      }) == "");
      CHECK(was_called);
    }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

TEST_CASE("a turn that fails ends, and its failure is that of the work on all peers") {
  Peers peers;
  const auto step = peers.step();
  const std::string why = peers.failure_of([&] {
    step.in_turn(1, [&] {
      if (step.peer() == 0) throw Error(ErrorCode::File, "disk full");
    });
    step.agree();
  });
  CHECK(why.find("disk full") != std::string::npos);
}
