// SPDX-License-Identifier: BSD-3-Clause
// Both ends of channels as threads of one process, over the same addresses, for ThreadSanitizer to
// see what it cannot see between processes: whether every byte that a reader reads was handed to
// it.
#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "channel_memory.hpp"
#include "child.hpp"
#include "simulation/allocations.hpp"
#include "transport/node.hpp"
#include "transport/publication_header.hpp"

using namespace pillion;
using namespace pillion::node;

namespace {

constexpr int64_t messages = 4000;
constexpr double soon = 0.002;  // seconds

Token dead_token() {
  Shared<Token> token;
  Child child([&] {
    *token = this_process();
    return 0;
  });
  child.wait();
  return *token;
}

/// Reads from `index` on until the end or `count` messages; returns the number of the next.
int64_t read_some(ChannelMemory& memory, ChannelReader& reader, int64_t index, int64_t count,
                  std::atomic<int64_t>& broken) {
  for (const int64_t end = index + count; index < end; ++index) {
    auto now = ChannelReader::Next::Nothing;
    while (now == ChannelReader::Next::Nothing) now = reader.wait(index, soon);
    if (now == ChannelReader::Next::End) break;
    reader.begin(index);
    if (!is_whole(memory, reader.record(index), index)) ++broken;
    reader.finish(index);
  }
  return index;
}

/// Home readers that follow each other: every one but the last ends with a message begun with and
/// not finished, and is then taken for dead.
void be_primary(ChannelMemory& memory, Token dead, std::atomic<int64_t>& broken) {
  std::mt19937 random(5);
  for (bool over = false; !over;) {
    auto reader = memory.reader(primary);
    while (!reader.claim()) std::this_thread::yield();
    const Progress before = reader.progress();
    const int64_t next = std::max(reader.begun(), done_in(before));
    reader.start_at(progress_of(next, lost_in(before) + next - done_in(before)));
    const auto count = static_cast<int64_t>(random() % 200);
    const int64_t index = read_some(memory, reader, next, count, broken);
    over = index < next + count;
    if (over) return reader.leave();
    if (memory.words.published > index) {
      reader.begin(index);
      if (!is_whole(memory, reader.record(index), index)) ++broken;
    }
    reader.slot().holder = dead;
  }
}

/// Attached jobs that come, read a while, and leave. Returns how many were admitted.
int64_t be_attached_jobs(ChannelMemory& memory, int slot, std::atomic<int64_t>& broken) {
  std::mt19937 random(static_cast<unsigned>(slot));
  int64_t admitted = 0;
  while (memory.words.closed == 0) {
    auto reader = memory.reader(slot);
    if (!reader.claim()) {
      std::this_thread::yield();
      continue;
    }
    reader.slot().state = SlotPhase::Ready;
    while (reader.slot().state == SlotPhase::Ready && memory.words.closed == 0)
      reader.wait(std::numeric_limits<int64_t>::max(), soon);
    if (reader.slot().state == SlotPhase::Active) {
      ++admitted;
      read_some(memory, reader, reader.begun(), static_cast<int64_t>(random() % 100), broken);
    }
    reader.leave();
  }
  return admitted;
}

}  // namespace

TEST_CASE("a writer and readers that come and go") {
  const auto dead = dead_token();
  const auto memory = std::make_unique<ChannelMemory>();
  memory->prepare();
  auto writer = memory->writer(true);
  std::atomic<int64_t> broken = 0, admitted = 0;
  std::vector<std::thread> readers;
  readers.emplace_back([&] { be_primary(*memory, dead, broken); });
  for (int slot = 1; slot < slot_count; ++slot)
    readers.emplace_back([&, slot] { admitted += be_attached_jobs(*memory, slot, broken); });
  std::mt19937 random(2);
  while (writer.published() < messages) {
    if (!publish_one(*memory, writer, random)) writer.wait(soon);
    writer.reclaim();
    for (int slot = 1; slot < slot_count; ++slot) {
      if (writer.is_deserted(slot)) writer.vacate(slot);
      else if (writer.slot(slot).state == SlotPhase::Ready) writer.activate(slot);
    }
  }
  writer.close();
  for (auto& reader : readers) reader.join();
  CHECK(broken == 0);
  CHECK(admitted > 3);
  CHECK(done_in(writer.slot(primary).progress) == messages);
  CHECK(lost_in(writer.slot(primary).progress) > 3);
}

namespace {

using transport::Delivery;
using transport::Lent;

constexpr int64_t publications = 2000;
constexpr int64_t values = 1500;

/// One block of one field.
transport::Meshes block_of(const double* data) {
  const model::Box box{{0, 0, 0}, {values, 1, 1}};
  transport::Meshes meshes;
  meshes["grid"].blocks.push_back(
      {0,
       box,
       values,
       {{"density", {data, model::ElementType::Float64, 1, model::packed_strides(box, 1)}}}});
  return meshes;
}

/// What sidecars say of a publication that the simulation waits for.
std::string word_on(int64_t n) { return n % 100 == 99 ? "failure " + std::to_string(n) : ""; }

/// Publishes 0, 1, 2, ... as the simulation does: from memory of the session, or of its own.
void simulate(transport::NodeSender& sender, simulation::Allocations& allocations, bool lent) {
  auto* data = static_cast<double*>(allocations.allocate("density", 0, values * 8, 3));
  std::vector<double> own(values);
  for (int64_t n = 0; n < publications; ++n) {
    double* to = lent ? data : own.data();
    std::fill_n(to, values, static_cast<double>(n));
    transport::PublicationHeader head;
    head.sequence = n + 1;
    head.step = n;
    const auto meshes = block_of(to);
    const transport::Encoder encoder(head, meshes, &allocations);
    std::byte* memory = nullptr;
    while ((memory = sender.reserve(encoder.size())) == nullptr) sender.wait(soon);
    encoder.encode(memory);
    sender.commit(n + 1);
    allocations.lend(n);
    allocations.reclaim(sender.released());
    if (lent) data = reinterpret_cast<double*>(allocations.swap("density", 0).now);
    sender.poll();
    if (word_on(n).empty()) continue;
    while (sender.behind() > 0) sender.wait(soon);
    CHECK(sender.failure() == word_on(n));
    CHECK(sender.disabled().contains(static_cast<int32_t>(n / 100)));
  }
  sender.writer().close();
}

/// Reads all there is; returns how many publications were whole and in order.
int64_t analyse(transport::NodeReceiver& receiver) {
  int64_t right = 0;
  for (int64_t n = 0; auto deliveries = receiver.next(); ++n) {
    receiver.begin();
    const Delivery& delivery = deliveries->front();
    const auto decoded = transport::decode(
        delivery.data, delivery.size, delivery.keep,
        [&](const Lent& lent, size_t bytes) { return receiver.look(0, lent, bytes); });
    const auto* seen = static_cast<const double*>(
        decoded.meshes.at("grid").blocks.at(0).arrays.at("density").data);
    right += decoded.head.step == n && std::all_of(seen, seen + values, [&](double v) {
               return v == static_cast<double>(n);
             });
    receiver.finish(n + 1, {static_cast<int32_t>(n / 100)}, word_on(n));
  }
  return right;
}

}  // namespace

// The receiver maps values at addresses of its own, so it is what it reads that is checked here.
TEST_CASE("a sender and a receiver, with and without copies") {
  for (const bool lent : {false, true}) {
    const auto segment = std::make_shared<Segment>(
        Segment::make({"threads", 1, 0, 1, 1}, {{0, size_t{1} << 16}}, {}));
    segment->take_channel(0);
    segment->open_channel(0);
    transport::NodeSender sender(*segment, 0, true, nullptr);
    simulation::Allocations allocations(segment.get());
    transport::NodeReceiver receiver({{segment, 0}}, primary, [] { return false; });
    REQUIRE(receiver.claim());
    int64_t right = 0;
    std::thread sidecar([&] { right = analyse(receiver); });
    simulate(sender, allocations, lent);
    sidecar.join();
    CHECK(right == publications);
  }
}
