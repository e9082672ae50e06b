// SPDX-License-Identifier: BSD-3-Clause
// Channels between processes, and step by step against a naive count of who needs what. Threads are
// in channel_threads_test.cpp.
#include "node/channel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "channel_memory.hpp"
#include "child.hpp"

using namespace pillion::node;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double soon = 0.02;  // seconds

/// A token of a process that is dead.
Token dead_token() {
  Shared<Token> token;
  Child child([&] {
    *token = this_process();
    return 0;
  });
  child.wait();
  return *token;
}

/// A reader at one slot, and what it should see.
struct AttachedJob {
  AttachedJob(ChannelMemory& memory, int slot) : reader(memory.reader(slot)) {}
  ChannelReader reader;
  int64_t next = 0, begun = 0;
  enum { Away, Waiting, Here } state = Away;
};

}  // namespace

TEST_CASE("memory is free again when all who need it have finished, and not before") {
  std::mt19937 random(1);
  Shared<ChannelMemory> memory;
  memory->prepare();
  auto writer = memory->writer(true);
  std::deque<AttachedJob> attached_jobs;
  for (int s = 0; s < slot_count; ++s) attached_jobs.emplace_back(*memory, s);
  REQUIRE(attached_jobs[primary].reader.claim());
  attached_jobs[primary].state = decltype(AttachedJob::state)::Here;
  int64_t read = 0, admitted = 0;
  for (int n = 0; n < 60000; ++n) {
    const int s = static_cast<int>(random() % slot_count);
    auto& attached_job = attached_jobs[static_cast<size_t>(s)];
    switch (random() % 4) {
      case 0: publish_one(*memory, writer, random); break;
      case 1:  // come or go
        if (s == primary || random() % 8 != 0) break;
        if (attached_job.state == AttachedJob::Away && attached_job.reader.claim()) {
          attached_job.reader.slot().state = SlotPhase::Ready;
          attached_job.state = AttachedJob::Waiting;
        } else if (attached_job.state == AttachedJob::Here) {
          attached_job.reader.leave();
          attached_job.state = AttachedJob::Away;
          REQUIRE(writer.is_deserted(s));
          writer.vacate(s);
        }
        break;
      case 2:  // the simulation looks
        if (attached_job.state == AttachedJob::Waiting) {
          writer.activate(s);
          attached_job.state = AttachedJob::Here;
          attached_job.next = attached_job.begun = writer.published();
          ++admitted;
        }
        break;
      default:
        if (attached_job.state != AttachedJob::Here) break;
        if (attached_job.begun == attached_job.next) {
          if (attached_job.reader.wait(attached_job.next, 0.0) != ChannelReader::Next::Message) {
            REQUIRE(attached_job.next == writer.published());
            break;
          }
          attached_job.reader.begin(attached_job.begun++);
        }
        REQUIRE(
            is_whole(*memory, attached_job.reader.record(attached_job.next), attached_job.next));
        if (random() % 2 == 0) break;
        attached_job.reader.finish(attached_job.next++);
        ++read;
    }
    int64_t needed = writer.published();
    for (const auto& g : attached_jobs)
      if (g.state == AttachedJob::Here) needed = std::min(needed, g.next);
    REQUIRE(writer.reclaim() == needed);
  }
  CHECK(read > 3000);
  CHECK(admitted > 50);
  CHECK(writer.published() > 1000);
}

TEST_CASE("no primary slot in use: nothing is kept for it") {
  Shared<ChannelMemory> memory;
  memory->prepare();
  auto writer = memory->writer(false);
  std::mt19937 random(1);
  for (int n = 0; n < 5000; ++n) {
    writer.reclaim();
    REQUIRE(publish_one(*memory, writer, random));
  }
}

TEST_CASE("records run out before they are overwritten, and some are kept for heads") {
  Shared<ChannelMemory> memory;
  memory->prepare();
  auto writer = memory->writer(true);
  while (writer.fits(0)) {
    REQUIRE(writer.reserve(0));
    writer.publish({});
  }
  CHECK(writer.published() < record_count);
  int64_t heads = 0;
  for (; writer.fits_head(); ++heads) writer.publish({});
  CHECK(heads > 100);
  while (writer.published() < record_count) writer.publish({});
  CHECK_THROWS(writer.publish({}));
  CHECK(memory->words.published == record_count);
}

TEST_CASE("a slot has one holder, and who was refused does not harm it") {
  Shared<ChannelMemory> memory;
  memory->prepare();
  auto writer = memory->writer(true);
  for (const int slot : {primary, 2}) {
    auto first = memory->reader(slot);
    REQUIRE(first.claim());
    if (slot != primary) {
      first.slot().state = SlotPhase::Ready;
      writer.activate(slot);
    }
    Child second([&] {
      auto other = memory->reader(slot);
      if (other.claim() || other.is_mine()) return 1;
      other.leave();
      return 0;
    });
    CHECK(second.wait() == 0);
    CHECK(first.is_mine());
    CHECK(writer.is_held(slot));
    CHECK_FALSE(writer.is_deserted(slot));
    if (slot != primary) CHECK(first.slot().state == SlotPhase::Active);
    first.leave();
    if (slot == primary) CHECK_FALSE(first.is_mine());
  }
}

TEST_CASE(
    "a holder that dies gives its job away, and the job's others learn that they are expelled") {
  constexpr JobNumber job = 0x8000000000000001, other_job = 5;
  Shared<ChannelMemory> memory;
  memory->prepare();
  auto writer = memory->writer(true);
  auto survivor = memory->reader(2), stranger = memory->reader(3);
  REQUIRE(survivor.claim(job));
  REQUIRE(stranger.claim(other_job));
  Shared<std::atomic<int>> told;
  Child member([&] {
    auto reader = memory->reader(primary);
    *told = reader.claim(job) ? 1 : 2;
    while (true) pause();
    return 0;
  });
  while (*told == 0) std::this_thread::yield();
  REQUIRE(*told == 1);
  for (int s = 0; s < slot_count; ++s) CHECK(writer.lost_job(s) == 0);
  // A name that stray bytes make is no death.
  auto& holder = memory->slot_words[2].holder;
  const Token name = holder;
  holder = dead_token();
  CHECK(writer.lost_job(2) == 0);
  holder = name;
  CHECK_FALSE(survivor.is_expelled());
  member.kill(SIGKILL);
  member.await_death();
  CHECK(writer.lost_job(primary) == job);
  CHECK(writer.lost_job(2) == 0);
  writer.expel(job);
  CHECK(survivor.is_expelled());
  CHECK_FALSE(stranger.is_expelled());
  // Successors have another number, and one that leaves is not lost.
  auto successor = memory->reader(primary);
  REQUIRE(successor.claim(other_job));
  CHECK_FALSE(successor.is_expelled());
  CHECK(writer.lost_job(primary) == 0);
  successor.leave();
  CHECK(writer.lost_job(primary) == 0);
}

TEST_CASE("the primary slot retires for good, but not while sidecars live there") {
  Shared<ChannelMemory> memory;
  memory->prepare();
  auto writer = memory->writer(true);
  auto sidecar = memory->reader(primary), late = memory->reader(primary);
  const auto& slot = memory->slot_words[primary];
  REQUIRE(sidecar.claim());
  CHECK_FALSE(writer.retire());
  CHECK(slot.state == SlotPhase::Free);
  bool dead = false;
  SUBCASE("they left") { sidecar.leave(); }
  SUBCASE("they died") { dead = true; }
  if (dead) memory->slot_words[primary].holder = dead_token();
  CHECK(writer.retire());
  CHECK(slot.state == SlotPhase::Leaving);
  CHECK_FALSE(late.claim());
}

TEST_CASE("an attached job that is dead, or left before it was admitted, is noticed and cleared") {
  Shared<ChannelMemory> memory;
  memory->prepare();
  auto writer = memory->writer(false);
  for (const SlotPhase died_as : {SlotPhase::Free, SlotPhase::Claimed, SlotPhase::Ready,
                                  SlotPhase::Active, SlotPhase::Leaving}) {
    auto& slot = writer.slot(1);
    slot.holder = dead_token();
    slot.state = died_as;
    slot.disabled[0] = 5;
    CHECK(writer.is_deserted(1));
    writer.publish({});
    CHECK(writer.reclaim() == writer.published());
    writer.vacate(1);
    writer.reclaim();
    CHECK(slot.holder == 0);
    CHECK(slot.state == SlotPhase::Free);
    CHECK(slot.disabled[0] == 0);
  }
  auto attached_job = memory->reader(1);
  REQUIRE(attached_job.claim());
  attached_job.slot().state = SlotPhase::Ready;
  attached_job.leave();
  writer.activate(1);
  CHECK(writer.is_deserted(1));
  writer.vacate(1);
  writer.reclaim();
  CHECK(memory->reader(1).claim());
}

TEST_CASE("an attached job that is evicted holds nothing, learns of it, and keeps its slot") {
  Shared<ChannelMemory> memory;
  memory->prepare();
  auto writer = memory->writer(true);
  auto sidecar = memory->reader(primary), attached_job = memory->reader(1);
  REQUIRE(sidecar.claim());
  REQUIRE(attached_job.claim());
  attached_job.slot().state = SlotPhase::Ready;
  writer.activate(1);
  const size_t half = channel_values / 2;
  const auto publish = [&] {
    const auto offset = writer.reserve(half);
    REQUIRE(offset);
    writer.publish({.offset = *offset, .size = half});
  };
  publish();
  publish();
  CHECK_FALSE(writer.attached_hold(half).decides);  // the sidecar has both messages, too
  sidecar.finish(0);
  auto hold = writer.attached_hold(half);
  CHECK(hold.decides);
  CHECK(hold.bytes == half);
  CHECK(hold.oldest == 0);
  CHECK_FALSE(writer.attached_hold(2 * half).decides);
  attached_job.finish(0);
  CHECK_FALSE(writer.attached_hold(half).decides);
  publish();
  sidecar.finish(1);
  sidecar.finish(2);
  CHECK(writer.attached_hold(half).bytes == 2 * half);
  CHECK_FALSE(attached_job.is_evicted());
  writer.evict_slowest();
  CHECK(attached_job.is_evicted());
  CHECK(attached_job.wait(1, soon) == ChannelReader::Next::End);
  CHECK(writer.attached_hold(half).bytes == 0);
  CHECK(writer.reclaim() == 3);
  CHECK(writer.finished(1) == 1);
  CHECK(writer.worked(1) == 3);
  // It may still write to its slot, so no other job has that before it has left.
  writer.vacate(1);
  writer.reclaim();
  CHECK_FALSE(memory->reader(1).claim());
  attached_job.leave();
  writer.reclaim();
  auto next = memory->reader(1);
  CHECK(next.claim());
  CHECK_FALSE(next.is_evicted());
}

TEST_CASE("a slot that is vacated on another rank holds nothing on this one either") {
  Shared<ChannelMemory> memory;
  memory->prepare();
  auto writer = memory->writer(false);
  auto attached_job = memory->reader(1);
  REQUIRE(attached_job.claim());
  attached_job.slot().state = SlotPhase::Ready;
  writer.activate(1);
  writer.publish({});
  CHECK(writer.reclaim() == 0);
  writer.vacate(1);
  CHECK(writer.reclaim() == 1);
  CHECK(attached_job.is_evicted());
}

TEST_CASE("who waits is woken at once, on either side") {
  constexpr double long_time = 30;  // seconds
  Shared<ChannelMemory> memory;
  memory->prepare();
  auto writer = memory->writer(true);
  Child reader([&] {
    auto mine = memory->reader(primary);
    if (!mine.claim()) return 1;
    for (int64_t index = 0; mine.wait(index, long_time) == ChannelReader::Next::Message; ++index) {
      mine.begin(index);
      usleep(2000);
      mine.finish(index);
    }
    return 0;
  });
  const auto begin = Clock::now();
  for (int n = 0; n < 50; ++n) {
    writer.publish({});
    while (writer.reclaim() <= n) writer.wait(long_time);
    if (n % 10 == 0) usleep(3000);
  }
  writer.close();
  CHECK(reader.wait() == 0);
  CHECK(std::chrono::duration<double>(Clock::now() - begin).count() < long_time / 2);
}

TEST_CASE("a reader gets all that a dead simulation had published, and then the end") {
  for (const bool closes : {false, true}) {
    Shared<ChannelMemory> memory;
    auto reader = memory->reader(primary);
    REQUIRE(reader.claim());
    Child simulation([&] {
      memory->prepare();
      auto writer = memory->writer(true);
      std::mt19937 random(1);
      while (writer.published() < 3) publish_one(*memory, writer, random);
      if (closes) writer.close();
      else ::kill(getpid(), SIGKILL);
      return 0;
    });
    simulation.await_death();
    for (int64_t index = 0; index < 3; ++index) {
      REQUIRE(reader.wait(index, soon) == ChannelReader::Next::Message);
      CHECK(is_whole(*memory, reader.record(index), index));
    }
    CHECK(reader.wait(3, soon) == ChannelReader::Next::End);
  }
}

namespace {

/// What readers have done with each message, kept where their deaths do not matter.
struct Diary {
  static constexpr int64_t messages = 20000;
  /// Some messages are read until somebody kills the reader; none of the last ones.
  static bool is_endless(int64_t message) { return message % 1000 == 500; }
  std::atomic<int32_t> offered[messages], finished[messages];
  std::atomic<int32_t> overwritten, takeovers;
};

/// Sits down at the primary slot as Sidecar job does, and reads until the end.
int read_on(ChannelMemory& memory, Diary& diary) {
  auto reader = memory.reader(primary);
  while (!reader.claim()) usleep(50);
  const Progress before = reader.progress();
  const int64_t begun = reader.begun(), done = done_in(before);
  const int64_t next = std::max(begun, done);
  reader.start_at(progress_of(next, lost_in(before) + (next - done)));
  ++diary.takeovers;
  for (int64_t index = next;; ++index) {
    ChannelReader::Next now{};
    while ((now = reader.wait(index, soon)) == ChannelReader::Next::Nothing) {}
    if (now == ChannelReader::Next::End) return 0;
    reader.begin(index);
    ++diary.offered[index];
    while (Diary::is_endless(index)) usleep(1000);
    const Record record = reader.record(index);
    if (!is_whole(memory, record, index)) ++diary.overwritten;
    ++diary.finished[index];
    reader.finish(index);
  }
}

}  // namespace

TEST_CASE("readers that are killed at any moment lose what they had begun with, which is counted") {
  Shared<ChannelMemory> memory;
  Shared<Diary> diary;
  memory->prepare();
  auto writer = memory->writer(true);
  std::mt19937 random(7);
  const auto start = [&] {
    return std::make_unique<Child>([&] { return read_on(*memory, *diary); });
  };
  auto reader = start();
  int kills = 0;
  while (writer.published() < Diary::messages) {
    if (!publish_one(*memory, writer, random)) writer.wait(500e-6);
    if (random() % 40 != 0) continue;
    usleep(random() % 300);
    reader->kill(SIGKILL);
    // Now and then the successor comes while the other is a zombie.
    if (random() % 2 == 0) reader->await_death();
    auto next = start();
    reader->wait();
    reader = std::move(next);
    ++kills;
  }
  writer.close();
  CHECK(reader->wait() == 0);
  writer.reclaim();
  CHECK(writer.freed() == Diary::messages);
  const Progress progress = writer.slot(primary).progress;
  int64_t missing = 0, twice = 0;
  for (int64_t i = 0; i < Diary::messages; ++i) {
    missing += diary->finished[i] == 0;
    twice += diary->offered[i] > 1 || diary->finished[i] > 1;
  }
  CHECK(kills > 100);
  CHECK(diary->takeovers > kills / 4);
  CHECK(diary->overwritten == 0);
  CHECK(twice == 0);
  CHECK(done_in(progress) == Diary::messages);
  CHECK(missing >= Diary::messages / 1000);
  CHECK(missing <= lost_in(progress));
  CHECK(lost_in(progress) <= kills);
}

TEST_CASE("more lost messages than the word can count spoil no other number") {
  constexpr int64_t million = 1 << 20;
  for (const int64_t lost : {million - 1, million, 5 * million}) {
    const Progress progress = progress_of(77, lost);
    CHECK(done_in(progress) == 77);
    CHECK(lost_in(progress) == million - 1);
  }
  CHECK(done_in(progress_of(int64_t{1} << 43, 3)) == int64_t{1} << 43);
}
