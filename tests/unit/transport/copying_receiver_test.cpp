// SPDX-License-Identifier: BSD-3-Clause
// An attached job that takes copies, with the simulation rank in the same process.
#include "transport/copying_receiver.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "../limits.hpp"
#include "base/clock.hpp"
#include "simulation/allocations.hpp"

using namespace pillion;
using namespace pillion::transport;
using node::Segment;

namespace {

constexpr size_t cells = size_t{1} << 20;
constexpr size_t channel_memory = cells * 8 + (size_t{64} << 10);
constexpr int32_t analysis = 5;

/// A run without sidecars of its own, and its first attached job.
struct World {
  std::unique_ptr<Segment> segment;
  std::unique_ptr<NodeSender> sender;
  std::unique_ptr<CopyingReceiver> receiver;
  std::vector<double> wave = std::vector<double>(cells), other = std::vector<double>(8);
  std::unique_ptr<NodeReceiver> admitted;

  World() {
    segment =
        std::make_unique<Segment>(Segment::make({"copies", 1, 0, 1, 1}, {{0, channel_memory}}, {}));
    segment->take_channel(0);
    sender = std::make_unique<NodeSender>(*segment, 0, false, nullptr);
    segment->open_channel(0);
    const auto opened =
        std::make_shared<Segment>(Segment::open(segment->address(), Segment::Role::Sidecar));
    admitted =
        std::make_unique<NodeReceiver>(std::vector<Source>{{opened, 0}}, 1, [] { return false; });
    REQUIRE(admitted->claim());
    admitted->show_ready();
    sender->slots()->activate(0, analysis, 1);
    REQUIRE(admitted->await_activation());
    admitted->start_at(node::progress_of(admitted->begun(), 0));
  }
  void receive(size_t heads = size_t{1} << 20) {
    receiver = std::make_unique<CopyingReceiver>(
        std::move(admitted), WantedValues{analysis, 1, {"wave"}, heads}, [] { return false; });
  }
  /// Publishes a step, all of whose values are its number. False if there is no room.
  bool publish(int64_t step, int32_t due) {
    std::fill(wave.begin(), wave.end(), static_cast<double>(step));
    std::fill(other.begin(), other.end(), static_cast<double>(step));
    Meshes meshes;
    const model::Box box{{0, 0, 0}, {int64_t{cells}, 1, 1}}, small{{0, 0, 0}, {8, 1, 1}};
    const auto array = [](const std::vector<double>& of, const model::Box& in) {
      return model::Array{of.data(), model::ElementType::Float64, 1, model::packed_strides(in, 1),
                          model::Centering::Cell};
    };
    meshes["line"].blocks.push_back(
        {.id = 1, .box = box, .owned = int64_t{cells}, .arrays = {{"wave", array(wave, box)}}});
    meshes["line"].blocks.push_back(
        {.id = 2, .box = small, .owned = 8, .arrays = {{"other", array(other, small)}}});
    PublicationHeader head;
    head.sequence = step;
    head.step = step;
    head.due = {{.analysis = due}};
    const Encoder encoder(head, meshes);
    sender->poll();
    std::byte* to = sender->reserve(encoder.size());
    if (to == nullptr) return false;
    encoder.encode(to);
    sender->commit(step);
    return true;
  }
  Decoded decoded(const Delivery& delivery) {
    return decode(delivery.data, delivery.size, delivery.keep);
  }
  /// Whether the copy has the values of `step`, and no other.
  bool is_whole(const Delivery& delivery, int64_t step) {
    const auto meshes = decoded(delivery).meshes;
    const auto* values =
        static_cast<const double*>(meshes.at("line").blocks.at(0).arrays.at("wave").data);
    return std::all_of(values, values + cells,
                       [&](double value) { return value == static_cast<double>(step); });
  }
};

/// Waits until the simulation rank sees that all is taken.
bool is_taken(World& world) {
  return base::wait_until(
      [&] { return world.sender->released() == world.sender->writer().published(); },
      unit::hang_begins());
}

}  // namespace

TEST_CASE("a message is free as soon as it is copied, and its values are those of the copy") {
  World world;
  world.receive();
  REQUIRE(world.publish(1, analysis));
  REQUIRE(is_taken(world));
  CHECK(world.sender->slots()->worked(0) == 0);
  REQUIRE(world.publish(2, analysis));  // where the first one was
  const auto first = world.receiver->next();
  REQUIRE(first);
  CHECK(world.is_whole(first->at(0), 1));
  world.receiver->finish(1, {}, {});
  CHECK(world.sender->slots()->worked(0) == 1);
  const auto second = world.receiver->next();
  REQUIRE(second);
  CHECK(world.is_whole(second->at(0), 2));
  CHECK(world.is_whole(first->at(0), 1));
}

TEST_CASE("a receiver ends although the simulation publishes without a pause") {
  World world;
  world.receive();
  std::atomic<bool> is_over = false;
  const double limit = unit::hang_begins(10);
  std::thread simulation([&] {
    for (int64_t step = 1; !is_over && base::monotonic_seconds() < limit;)
      if (world.publish(step, analysis)) ++step;
  });
  const auto first = world.receiver->next();
  CHECK(first);
  world.receiver.reset();
  CHECK(base::monotonic_seconds() < limit);
  is_over = true;
  simulation.join();
}

TEST_CASE(
    "constant values that are read in place are copied once, and again when they are others") {
  World world;
  world.receive();
  simulation::Allocations allocations(world.segment.get());
  auto* const memory =
      static_cast<double*>(allocations.allocate_constant("wave", 0, cells * sizeof(double)));
  const model::Box box{{0, 0, 0}, {int64_t{cells}, 1, 1}};
  // Other values under the same version show which ones are taken.
  const int64_t versions[] = {3, 3, 4, 4}, expected[] = {1, 1, 3, 3};
  for (int64_t step = 1; step <= 4; ++step) {
    std::fill(memory, memory + cells, static_cast<double>(step));
    model::Array array{memory, model::ElementType::Float64, 1, model::packed_strides(box, 1),
                       model::Centering::Cell};
    array.version = versions[step - 1];
    Meshes meshes;
    meshes["line"].blocks.push_back(
        {.id = 1, .box = box, .owned = int64_t{cells}, .arrays = {{"wave", array}}});
    PublicationHeader head;
    head.sequence = head.step = step;
    head.due = {{.analysis = analysis}};
    const Encoder encoder(head, meshes, &allocations);
    CHECK(encoder.bytes_lent() == static_cast<int64_t>(cells * sizeof(double)));
    std::byte* to = world.sender->reserve(encoder.size());
    REQUIRE(to != nullptr);
    encoder.encode(to);
    allocations.lend(step - 1);
    world.sender->commit(step);
    const auto deliveries = world.receiver->next();
    REQUIRE(deliveries);
    const auto& delivery = deliveries->at(0);
    const auto meshes_there =
        decode(delivery.data, delivery.size, delivery.keep, [&](const Lent& lent, size_t bytes) {
          return world.receiver->look(delivery.source, lent, bytes);
        }).meshes;
    const auto* values =
        static_cast<const double*>(meshes_there.at("line").blocks.at(0).arrays.at("wave").data);
    const auto wanted = static_cast<double>(expected[step - 1]);
    CHECK(std::count(values, values + cells, wanted) == int64_t{cells});
    REQUIRE(is_taken(world));
  }
}

TEST_CASE("of a publication for others only the head is copied") {
  World world;
  world.receive();
  REQUIRE(world.publish(1, analysis + 1));
  const auto deliveries = world.receiver->next();
  REQUIRE(deliveries);
  CHECK(deliveries->at(0).size < 4096);
  CHECK(decode_head(deliveries->at(0).data, deliveries->at(0).size).step == 1);
}

TEST_CASE("heads that wait for stages take their limit and no more, and none is lost") {
  World world;
  constexpr size_t limit = 16 << 10;
  constexpr int64_t messages = 300;
  world.receive(limit);
  auto& sender = *world.sender;
  const auto publish = [&](int64_t sequence) {
    PublicationHeader head;
    head.sequence = head.step = sequence;
    head.due = {{.analysis = analysis + 1}};
    const Encoder encoder(head, {});
    std::byte* to = sender.reserve_head(encoder.size());
    REQUIRE(to != nullptr);
    encoder.encode(to);
    sender.commit(sequence);
    return encoder.size();
  };
  size_t size = 0;
  for (int64_t n = 1; n <= messages; ++n) size = publish(n);
  // As many as have room are taken, and then none until one is asked for.
  const auto most = static_cast<int64_t>(limit / size) + 1;
  REQUIRE(base::wait_until([&] { return sender.released() >= most / 4; },
                           base::monotonic_seconds() + 20));
  base::clock().sleep(0.3);
  CHECK(sender.released() <= most);
  for (int64_t n = 1; n <= messages; ++n) {
    const auto deliveries = world.receiver->next();
    REQUIRE(deliveries);
    CHECK(decode_head(deliveries->at(0).data, deliveries->at(0).size).step == n);
    CHECK(sender.released() <= n + most);
  }
}

TEST_CASE("a copy that was overwritten while it was made is not given out") {
  std::mt19937 random(3);
  int lost = 0;
  for (int round = 0; round < 40; ++round) {
    World world;
    REQUIRE(world.publish(1, analysis));
    world.receive();
    base::clock().sleep(1e-6 * static_cast<double>(random() % 3000));
    if (world.sender->slots()->hold(8 * cells, 0).bytes > 0) world.sender->slots()->evict_slowest();
    REQUIRE(world.publish(2, analysis));
    const auto deliveries = world.receiver->next();
    if (deliveries) {
      REQUIRE(world.is_whole(deliveries->at(0), 1));
      continue;
    }
    REQUIRE(world.receiver->is_evicted());
    ++lost;
  }
  CHECK(lost > 0);
}

TEST_CASE("a damaged message is an error, unless the memory was taken back") {
  for (const bool evicted : {false, true}) {
    CAPTURE(evicted);
    World world;
    auto& writer = world.sender->writer();
    const auto offset = writer.reserve(64);
    REQUIRE(offset);
    std::memset(world.segment->own(*offset), 0x7f, 64);
    writer.publish({.offset = *offset, .size = 64});
    if (evicted) world.sender->slots()->evict_slowest();
    world.receive();
    if (evicted) CHECK_FALSE(world.receiver->next());
    else CHECK_THROWS_AS((void)world.receiver->next(), Error);
    CHECK(world.receiver->is_evicted() == evicted);
  }
}
