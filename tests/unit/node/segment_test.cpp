// SPDX-License-Identifier: BSD-3-Clause
#include "node/segment.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>

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
  const auto opened = Segment::open(made.address(), Segment::Role::Sidecar);
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
  auto second = Segment::open(first.address(), Segment::Role::Simulation);
  auto reader = Segment::open(first.address(), Segment::Role::Sidecar);
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
  large.memory.give_back(0, large.memory.size());
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
    CHECK_THROWS_AS(Segment::open(file.address(), Segment::Role::Sidecar), Error);
  }
  const auto segment = Segment::make(identity, two_channels, {});
  const auto file = SharedFile::open(segment.address());
  const auto memory = file.map(0, whole_pages(1), SharedFile::Access::Write);
  memory.data()[16] = std::byte{99};  // the version stands behind the nonce and eight letters
  try {
    Segment::open(segment.address(), Segment::Role::Sidecar);
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
  CHECK(number_of(found[0].address.process) == other.number());
  auto opened = Segment::open(found[0].address, Segment::Role::Sidecar);
  CHECK(opened.identity().run == theirs);
  CHECK_MESSAGE(runs_with(theirs).size() == 2, "who has opened it is no second run");
  CHECK(runs_with(mine).size() == 1);
  other.kill(SIGKILL);
  other.await_death();
  CHECK_MESSAGE(runs_with(theirs).empty(), "its maker is dead, though this process has it open");
}

TEST_CASE("a sidecar job can write to the pages of its slot, and to nothing else") {
  auto made = Segment::make(identity, two_channels, bytes(100, 1));
  made.take_channel(0);
  const auto region = made.add_region(10);
  constexpr int held = 2;
  // Where a stray store of a sidecar with slot 2 goes to, and whether it is stopped.
  struct Target {
    const char* name;
    std::function<volatile std::byte*(Segment&)> at;
    bool is_writable = false;
  };
  const auto of = [](auto* p) { return reinterpret_cast<volatile std::byte*>(p); };
  const std::vector<Target> targets{
      {"header", [&](Segment& s) { return of(&s.channel(0)) - 64; }},
      {"writer", [&](Segment& s) { return of(&s.channel(0).writer); }},
      {"published", [&](Segment& s) { return of(&s.channel(1).published); }},
      {"records", [&](Segment& s) { return of(&s.channel(1).records[1023]); }},
      {"message",
       [&](Segment& s) {
         return of(const_cast<std::byte*>(s.look(s.channel(0).values_offset, 1)));
       }},
      {"region", [&](Segment& s) { return of(const_cast<std::byte*>(s.look(region.offset, 1))); }},
      {"before its slot", [&](Segment& s) { return of(s.slot(0, held).get()) - (65 << 10); }},
      {"its slot", [&](Segment& s) { return of(s.slot(0, held).get()); }, true},
      {"its slot in the other channel", [&](Segment& s) { return of(s.slot(1, held).get()); },
       true}};
  for (const auto& target : targets) {
    CAPTURE(target.name);
    Child sidecar([&] {
      auto opened = Segment::open(made.address(), Segment::Role::Sidecar);
      const auto slot = opened.slot(0, held);
      *target.at(opened) = std::byte{0x5a};
      return 0;
    });
    CHECK(sidecar.wait() == (target.is_writable ? 0 : 128 + SIGSEGV));
  }
  CHECK(made.slots_of(0)[held]->holder == 0x5a);
  CHECK(made.slots_of(0)[held + 1]->holder == 0);
}

TEST_CASE("a header that points out of its file is refused") {
  for (const size_t at :
       {size_t{20}, size_t{116}, size_t{120}, size_t{128}, size_t{136}, size_t{144}, size_t{152}}) {
    CAPTURE(at);
    const auto made = Segment::make(identity, two_channels, bytes(100, 1));
    const auto file = SharedFile::open(made.address());
    const auto memory = file.map(0, whole_pages(1), SharedFile::Access::Write);
    std::memset(memory.data() + at, 0x7f, 8);
    CHECK_THROWS_AS(Segment::open(made.address(), Segment::Role::Sidecar), Error);
  }
}
