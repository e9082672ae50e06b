// SPDX-License-Identifier: BSD-3-Clause
#include "node/segment.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "child.hpp"

using namespace pillion;
using namespace pillion::node;

namespace {

base::Bytes bytes(size_t count, int seed) {
  base::Bytes out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = static_cast<std::byte>(i * 7 + static_cast<size_t>(seed));
  return out;
}

/// No run on this machine has it.
uint64_t new_run() {
  static uint64_t last = this_process() << 8;
  return ++last;
}

std::vector<Found> runs_with(uint64_t run) {
  auto found = find_runs();
  std::erase_if(found, [&](const Found& f) { return f.identity.run != run; });
  return found;
}

const Identity identity{"run", 77, 1, 2, 5};
const std::vector<ChannelPlan> two_channels{{3, 10000}, {4, 1}};

}  // namespace

TEST_CASE("who opens a segment finds what its maker put there") {
  const auto made = Segment::make(identity, two_channels, bytes(5000, 1));
  const auto opened = Segment::open(this_process(), made.descriptor());
  for (const Segment* s : {&made, &opened}) {
    CHECK(s->identity().name == "run");
    CHECK(s->identity().run == 77);
    CHECK(s->identity().node == 1);
    CHECK(s->identity().nodes == 2);
    CHECK(s->identity().simulation_ranks == 5);
    CHECK(s->configuration() == bytes(5000, 1));
    CHECK(s->maker() == this_process());
    REQUIRE(s->channels() == 2);
    CHECK(s->channel(0).rank == 3);
    CHECK(s->channel(1).rank == 4);
    CHECK(s->channel(0).values_size >= 10000);
    CHECK(s->channel(0).spill_descriptor == -1);
  }
  made.channel(1).published = 9;
  CHECK(opened.channel(1).published == 9);
}

TEST_CASE("channels, control pages and regions have memory of their own") {
  auto first = Segment::make(identity, two_channels, bytes(100, 1));
  auto second = Segment::open(this_process(), first.descriptor());
  auto reader = Segment::open(this_process(), first.descriptor());
  first.take_channel(0);
  second.take_channel(1);
  const auto small = first.add_region(10), large = second.add_region(100000);
  struct Stretch {
    uint64_t offset;
    std::byte* memory;
    size_t size;
  };
  const auto& a = first.channel(0);
  const auto& b = first.channel(1);
  const std::vector<Stretch> stretches{
      {a.values_offset, first.own(a.values_offset), a.values_size},
      {a.heads_offset, first.own(a.heads_offset), a.heads_size},
      {b.values_offset, second.own(b.values_offset), b.values_size},
      {b.heads_offset, second.own(b.heads_offset), b.heads_size},
      {small.offset, small.memory.data(), small.memory.size()},
      {large.offset, large.memory.data(), large.memory.size()}};
  for (int slot = 0; slot < slot_count; ++slot) second.write_control(slot, bytes(1000, slot));
  for (size_t s = 0; s < stretches.size(); ++s)
    std::memset(stretches[s].memory, static_cast<int>(s) + 1, stretches[s].size);
  for (size_t s = 0; s < stretches.size(); ++s) {
    const auto* seen = reader.look(stretches[s].offset, stretches[s].size);
    CHECK(std::all_of(seen, seen + stretches[s].size,
                      [&](std::byte v) { return v == static_cast<std::byte>(s + 1); }));
  }
  for (int slot = 0; slot < slot_count; ++slot)
    CHECK(first.read_control(slot) == bytes(1000, slot));
  CHECK(reader.configuration() == bytes(100, 1));
  large.memory.give_back();
  CHECK(reader.look(large.offset, 1)[0] == std::byte{0});
  CHECK(reader.look(small.offset, 1)[0] == std::byte{5});
}

TEST_CASE("a look beyond the segment, and too much on a control page, are errors") {
  auto segment = Segment::make(identity, two_channels, {});
  CHECK_THROWS_AS(static_cast<void>(segment.look(size_t{1} << 40, 8)), Error);
  CHECK_THROWS_AS(static_cast<void>(segment.look(0, size_t{1} << 40)), Error);
  const auto& channel = segment.channel(0);
  CHECK_THROWS_AS(static_cast<void>(segment.look(channel.values_offset,
                                                 channel.values_size + channel.heads_size + 1)),
                  Error);
  CHECK_THROWS_AS(segment.write_control(1, bytes(1 << 16, 0)), Error);
  segment.write_control(1, bytes((1 << 16) - 8, 3));
  CHECK(segment.read_control(1) == bytes((1 << 16) - 8, 3));
}

TEST_CASE("other files, and runs of another version, are refused") {
  for (const size_t size : {0, 100, 1 << 20}) {
    const auto file = SharedFile::make(memory_folder, size);
    CHECK_THROWS_AS(Segment::open(this_process(), file.descriptor()), Error);
  }
  const auto segment = Segment::make(identity, two_channels, {});
  const auto file = SharedFile::open(getpid(), segment.descriptor());
  const auto memory = file.map(0, whole_pages(1), SharedFile::Access::Write);
  memory.data()[8] = std::byte{99};  // the version stands behind eight letters
  try {
    Segment::open(this_process(), segment.descriptor());
    FAIL("it was opened");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("version 99") != std::string::npos);
  }
}

TEST_CASE("runs are found while they go on, each once, whatever their names") {
  const uint64_t mine = new_run(), theirs = new_run();
  auto segment = Segment::make({"twin", mine, 0, 1, 2}, two_channels, {});
  CHECK(runs_with(mine).empty());
  segment.open_channel(0);
  CHECK_MESSAGE(runs_with(mine).empty(), "not all of its channels are there");
  segment.open_channel(1);
  REQUIRE(runs_with(mine).size() == 1);

  Shared<int> ready;
  Child other([&] {
    auto segments = std::vector<Segment>();
    for (int node : {1, 0}) {
      segments.push_back(Segment::make({"twin", theirs, node, 2, 2}, {{node, 100}}, {}));
      segments.back().open_channel(0);
    }
    *ready = 1;
    for (;;) pause();
    return 0;
  });
  while (*static_cast<volatile int*>(&*ready) == 0) usleep(1000);
  const auto found = runs_with(theirs);
  REQUIRE(found.size() == 2);
  CHECK(found[0].identity.node == 0);
  CHECK(found[1].identity.node == 1);
  CHECK(number_of(found[0].process) == other.number());
  auto opened = Segment::open(found[0].process, found[0].descriptor);
  CHECK(opened.identity().run == theirs);
  CHECK_MESSAGE(runs_with(theirs).size() == 2, "who has opened it is no second run");
  CHECK(runs_with(mine).size() == 1);
  other.kill(SIGKILL);
  other.await_death();
  CHECK_MESSAGE(runs_with(theirs).empty(), "its maker is dead, though this process has it open");
}

TEST_CASE("wrong words in the shared pages do not change what this process addresses") {
  auto made = Segment::make(identity, two_channels, bytes(100, 1));
  auto opened = Segment::open(this_process(), made.descriptor());
  made.take_channel(0);
  ChannelWriter writer(made.channel(0), true);
  const auto region = made.add_region(10);
  // What a stray store may do: everything before the channels, and what is written once in a
  // channel.
  auto& channel = opened.channel(0);
  auto* first = reinterpret_cast<std::byte*>(&channel) - 64;
  std::memset(first, 0x5a, 64);
  channel.values_offset = channel.values_size = channel.heads_offset = channel.heads_size =
      uint64_t{1} << 40;
  CHECK(&made.channel(1) - &made.channel(0) == 1);
  CHECK(made.channels() == 2);
  for (const auto at : {writer.reserve(100), writer.reserve_head(100)}) {
    REQUIRE(at.has_value());
    std::memset(made.own(*at), 1, 100);
  }
  const auto next = made.add_region(10);
  CHECK(next.offset == region.offset + region.memory.size());
  CHECK(made.read_control(1).empty());
}
