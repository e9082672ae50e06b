// SPDX-License-Identifier: BSD-3-Clause
// Messages that move while the ranks on both sides make no call of MPI. A program of its own, which
// asks MPI for MPI_THREAD_MULTIPLE, or, with the argument "single", does not. On two ranks: the
// first sends.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <mpi.h>

#include <algorithm>
#include <string_view>
#include <thread>

#include "../limits.hpp"
#include "base/clock.hpp"
#include "comm/progress_thread.hpp"
#include "transport/network.hpp"

using namespace pillion;
using namespace pillion::transport;

namespace {

bool wants_threads = true;

/// Waits without a call of MPI.
template <class Done>
bool comes_true(Done&& done) {
  return base::wait_until(done, unit::hang_begins());
}

/// Two ranks: the first is the simulation.
struct Pair {
  comm::Communicator world{MPI_COMM_WORLD};
  comm::Communicator side = world.split(world.rank());
  [[nodiscard]] bool sends() const { return world.rank() == 0; }
};

constexpr size_t large = size_t{16} << 20;  // so that MPI sends it only when it is received

void publish(NetworkSender& sender, int64_t sequence, size_t size) {
  std::byte* to = nullptr;
  REQUIRE(comes_true([&] {
    sender.poll();
    return (to = sender.reserve(size)) != nullptr;
  }));
  std::fill_n(to, size, static_cast<std::byte>(sequence));
  sender.commit(sequence);
}

void take(NetworkReceiver& receiver, int64_t sequence, size_t size) {
  const auto deliveries = receiver.next();
  REQUIRE(deliveries->size() == 1);
  const auto& one = deliveries->front();
  CHECK(one.size == size);
  CHECK(std::all_of(one.data, one.data + one.size,
                    [&](std::byte b) { return b == static_cast<std::byte>(sequence); }));
}

/// Another sight of the same process: whether the other rank has said so, without MPI.
class Flag {
 public:
  explicit Flag(const comm::Communicator& world) {
    MPI_Win_allocate_shared(world.rank() == 0 ? 64 : 0, 1, MPI_INFO_NULL, world.handle(), &mine_,
                            &window_);
    MPI_Aint size = 0;
    int unit = 0;
    MPI_Win_shared_query(window_, 0, &size, &unit, &mine_);
    if (world.rank() == 0) *word() = 0;
    world.barrier();
  }
  ~Flag() { MPI_Win_free(&window_); }
  void set(int value) { *word() = value; }
  [[nodiscard]] bool is(int value) const { return *word() == value; }

 private:
  [[nodiscard]] std::atomic<int>* word() const { return static_cast<std::atomic<int>*>(mine_); }
  void* mine_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace

TEST_CASE("a thread starts only where MPI lets it, and never under another clock") {
  CHECK(comm::may_call_from_threads() == wants_threads);
  std::atomic<int> calls{0};
  {
    comm::ProgressThread thread([&] { return ++calls < 5; });
    CHECK(thread.runs() == wants_threads);
    thread.resume();
    if (wants_threads) CHECK(comes_true([&] { return calls == 5; }));
    else CHECK(calls == 0);
  }
  class Frozen final : public base::Clock {
    double monotonic_seconds() override { return 0; }
    double calendar_seconds() override { return 0; }
    void sleep(double) override {}
    void yield() override {}
    void sleep_while(const std::atomic<uint32_t>&, uint32_t, double) override {}
    void wake(std::atomic<uint32_t>&) override {}
  } frozen;
  base::set_clock(&frozen);
  const comm::ProgressThread thread([] { return true; });
  const bool runs = thread.runs();
  base::set_clock(nullptr);
  CHECK(!runs);
}

TEST_CASE("with nothing under way the thread sleeps until it is told that something is") {
  if (!wants_threads) return;
  std::atomic<int> left{3};
  comm::ProgressThread thread([&] { return left > 0 && --left > 0; });
  CHECK(comes_true([&] { return left == 0; }));
  const uint64_t before = thread.calls();
  base::clock().sleep(0.02);
  CHECK(thread.calls() <= before + 1);
  left = 3;
  thread.resume();
  CHECK(comes_true([&] { return left == 0; }));
}

TEST_CASE("a thread whose calls fail ends, and the program continues") {
  if (!wants_threads) return;
  std::atomic<int> calls{0};
  comm::ProgressThread thread([&]() -> bool {
    ++calls;
    throw std::runtime_error("no");
  });
  thread.resume();
  CHECK(comes_true([&] { return calls == 1; }));
  thread.resume();
  CHECK(comes_true([&] { return !thread.runs(); }));  // so the program moves messages itself
  CHECK(thread.take_failure() == "no");
  CHECK(thread.take_failure().empty());
  thread.stop();
  CHECK(calls == 1);
}

// The first messages are larger than what is posted, and announced; later ones fit.
TEST_CASE("messages move from end to end while neither program calls MPI") {
  if (!wants_threads) return;
  const Pair pair;
  Flag flag(pair.world);
  constexpr int64_t messages = 5;
  if (pair.sends()) {
    NetworkSender sender(pair.world, {1}, 0, 8 * large);
    for (int64_t m = 1; m <= messages; ++m) publish(sender, m, large + 4096 * m);
    // Two are received ahead of their time, all by the threads: no call of MPI from here on.
    CHECK(comes_true([&] { return flag.is(1); }));
    CHECK(comes_true([&] {
      sender.poll();
      return sender.behind() == 0;
    }));
  } else {
    NetworkReceiver receiver(pair.world, pair.side, {0}, 8 * large);
    take(receiver, 1, large + 4096);
    // The next comes in beside it although this rank does nothing.
    CHECK(comes_true([&] { return receiver.room().allocated() >= 2 * large; }));
    flag.set(1);
    receiver.finish(1, {}, {});
    for (int64_t m = 2; m <= messages; ++m) {
      take(receiver, m, large + 4096 * static_cast<size_t>(m));
      receiver.finish(m, {}, {});
    }
    CHECK(receiver.room().peak() <= 4 * (large + large / 4));
  }
  pair.world.barrier();
}

TEST_CASE("a message in a posted receive arrives without a call of MPI by either program") {
  if (!wants_threads) return;
  const Pair pair;
  Flag flag(pair.world);
  constexpr int64_t messages = 6;
  for (const bool is_sender_busy : {true, false}) {
    if (pair.sends()) {
      NetworkSender sender(pair.world, {1}, 0, large);
      for (int64_t m = 1; m <= messages; ++m) {
        publish(sender, m, large);
        // The budget is of one message: the next one needs that this has left.
        if (is_sender_busy) CHECK(comes_true([&] { return flag.is(static_cast<int>(m)); }));
      }
      CHECK(comes_true([&] {
        sender.poll();
        return sender.behind() == 0;
      }));
    } else {
      NetworkReceiver receiver(pair.world, pair.side, {0}, 4 * large);
      for (int64_t m = 1; m <= messages; ++m) {
        take(receiver, m, large);
        flag.set(static_cast<int>(m));
        receiver.finish(m, {}, {});
      }
    }
    pair.world.barrier();
    if (pair.sends()) flag.set(0);
    pair.world.barrier();
  }
}

TEST_CASE("no more than two messages, and no more than the budget, are received ahead") {
  const Pair pair;
  constexpr size_t size = 100000;
  constexpr int64_t messages = 12;
  for (const size_t budget : {size_t{1}, size_t{250000}, 20 * size}) {
    if (pair.sends()) {
      NetworkSender sender(pair.world, {1}, 0, 20 * size);
      for (int64_t m = 1; m <= messages; ++m) publish(sender, m, size);
      CHECK(comes_true([&] {
        sender.poll();
        return sender.behind() == 0;
      }));
    } else {
      NetworkReceiver receiver(pair.world, pair.side, {0}, budget);
      for (int64_t m = 1; m <= messages; ++m) {
        take(receiver, m, size);
        for (int i = 0; i < 20; ++i) receiver.look();
        receiver.finish(m, {}, {});
      }
      // One in work and two ahead, each with an eighth to spare.
      CHECK(receiver.room().peak() <= std::max<size_t>(std::min(budget, 4 * size), 130000));
    }
    pair.world.barrier();
  }
}

// Answers with cuts for thousands of sidecars are so large that MPI sends them only when they are
// received; the simulation may look for them only with its next publication.
TEST_CASE("a sidecar does not wait until its answer is taken") {
  const Pair pair;
  const std::string long_answer(4 << 20, 'x');
  if (pair.sends()) {
    NetworkSender sender(pair.world, {1}, 0, 1 << 20);
    publish(sender, 1, 1000);
    pair.world.barrier();  // the sidecar has answered, and this rank has not looked
    CHECK(comes_true([&] {
      sender.poll();
      return sender.behind() == 0;
    }));
    CHECK(sender.failure() == long_answer);
  } else {
    NetworkReceiver receiver(pair.world, pair.side, {0}, 1 << 20);
    take(receiver, 1, 1000);
    receiver.finish(1, {}, long_answer);
    pair.world.barrier();
  }
  pair.world.barrier();
}

TEST_CASE("without a thread messages leave while the step calls for it") {
  if (wants_threads) return;
  const Pair pair;
  if (pair.sends()) {
    NetworkSender sender(pair.world, {1}, 0, 4 * large);
    CHECK(!sender.must_progress());
    publish(sender, 1, large);
    CHECK(sender.must_progress());
    CHECK(comes_true([&] { return sender.progress(0.001); }));
    CHECK(!sender.must_progress());
    CHECK(comes_true([&] {
      sender.poll();
      return sender.behind() == 0;
    }));
  } else {
    NetworkReceiver receiver(pair.world, pair.side, {0}, 4 * large);
    take(receiver, 1, large);
    receiver.finish(1, {}, {});
  }
  pair.world.barrier();
}

// A sidecar that works takes nothing in; one that has finished waits for the next message.
TEST_CASE("the sender knows whether sidecars wait for what it sends") {
  if (wants_threads) return;
  const Pair pair;
  Flag flag(pair.world);
  if (pair.sends()) {
    NetworkSender sender(pair.world, {1}, 0, 4 * large);
    CHECK(!sender.is_awaited());
    publish(sender, 1, large);
    CHECK(sender.is_awaited());
    CHECK(comes_true([&] { return sender.progress(0.001); }));
    CHECK(!sender.is_awaited());
    publish(sender, 2, large);
    CHECK(!sender.is_awaited());  // the sidecar works on the first
    flag.set(1);
    CHECK(comes_true([&] {
      sender.poll();
      return sender.is_awaited();
    }));
    flag.set(2);
    CHECK(comes_true([&] {
      sender.poll();
      return sender.behind() == 0;
    }));
  } else {
    NetworkReceiver receiver(pair.world, pair.side, {0}, 4 * large);
    for (int64_t m = 1; m <= 2; ++m) {
      take(receiver, m, large);
      CHECK(comes_true([&] { return flag.is(static_cast<int>(m)); }));
      receiver.finish(m, {}, {});
      CHECK(comes_true([&] { return flag.is(2); }));
    }
  }
  pair.world.barrier();
}

int main(int argc, char** argv) {
  wants_threads = argc < 2 || std::string_view(argv[1]) != "single";
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, wants_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  int failed = 0, ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks == 2 && (!wants_threads || provided == MPI_THREAD_MULTIPLE))
    failed = doctest::Context(argc, argv).run();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
