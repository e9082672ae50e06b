// SPDX-License-Identifier: BSD-3-Clause
// A sidecar job that writes anything to all that it can write to, while the simulation publishes:
// the simulation continues as if nothing had happened, and the job in another slot reads what was
// published. PILLION_TEST_ALL=1 tries a thousand seeds, others every day; PILLION_FAULT_SEED=N sets
// the first.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "child.hpp"
#include "run/attached_job.hpp"
#include "transport/node.hpp"

using namespace pillion;
using namespace pillion::node;

namespace {

constexpr int attached = 2;           ///< the slot of the other job
constexpr int64_t messages = 40;      ///< of one seed
constexpr size_t head_size = 64;      ///< of a message that was dropped
constexpr size_t control = 64 << 10;  ///< bytes before the words of a slot
constexpr size_t channel_memory = size_t{1} << 16;
constexpr double soon = 2e-4;  // seconds

size_t size_of(int64_t message) { return 128 + static_cast<size_t>(message * 7919 % 3000) * 8; }

uint64_t word_of(int64_t message, size_t at) {
  return (static_cast<uint64_t>(message) + 1) * 0x9e3779b97f4a7c15u + at;
}

/// What the children say where no stray store reaches.
struct Notes {
  std::atomic<int64_t> last;  ///< the number after the last message of this seed, or 0
  std::atomic<int64_t> stores, read, broken;
};

std::vector<transport::Source> sources_of(const Segment& made) {
  const auto segment =
      std::make_shared<Segment>(Segment::open(made.address(), Segment::Role::Sidecar));
  return {{segment, 0}, {segment, 1}};
}

/// Takes the slot; returns whether messages come.
bool sit_down(transport::NodeReceiver& receiver, int slot) {
  while (!receiver.claim()) base::clock().sleep(1e-4);
  if (slot == primary) {
    receiver.start_at(receiver.progress());
    return true;
  }
  receiver.show_ready();
  return receiver.await_activation();
}

/// What is worth writing where a number, a process or a state is expected.
uint64_t tempting(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0: return 0;
    case 1: return ~uint64_t{0};
    case 2: return random() % 6;
    case 3: return static_cast<uint64_t>(getpid());
    case 4: return random() % (uint64_t{1} << 40);
    case 5: return uint64_t{1} << (random() % 64);
    default: return random();
  }
}

/// Sits in a slot, and writes over its pages.
int go_astray(uint64_t seed, const Segment& made, int slot, Notes& notes) {
  std::mt19937_64 random(seed);
  const auto sources = sources_of(made);
  transport::NodeReceiver receiver(sources, slot, [&] { return notes.last != 0; });
  (void)sit_down(receiver, slot);
  const auto first = sources[0].segment->slot(0, slot);
  auto* begin = reinterpret_cast<std::byte*>(first.get()) - control;
  constexpr size_t words = (control + 2 * sizeof(SlotWords)) / 8;
  for (int n = 0; n < 2000; ++n) {
    // Half of them go to the words of a channel that change most.
    size_t at = random() % words;
    if (random() % 2 == 0) at = (control + random() % 2 * sizeof(SlotWords)) / 8 + random() % 8;
    reinterpret_cast<volatile uint64_t*>(begin)[at] = tempting(random);
    ++notes.stores;
    if (random() % 64 == 0) base::clock().sleep(1e-5);
    if (random() % 64 == 0) try {
        if (!receiver.next()) continue;
        receiver.begin();
        receiver.finish(1, {static_cast<int32_t>(random() % 300)}, "a reason");
      } catch (const Error&) {}
  }
  return 0;
}

bool is_whole(const transport::Delivery& d, int64_t message) {
  bool whole = d.size == head_size || d.size == size_of(message);
  for (size_t at = 0; whole && at + 8 <= d.size; at += 8) {
    const uint64_t expected = word_of(message, at);
    whole = std::memcmp(d.data + at, &expected, 8) == 0;
  }
  return whole;
}

int read_all(const Segment& made, int slot, Notes& notes) {
  // Where cores are busy, all may be published before this process sees that it is activated.
  bool sits = false;
  transport::NodeReceiver receiver(sources_of(made), slot, [&] { return sits && notes.last != 0; });
  sits = sit_down(receiver, slot);
  if (!sits) return 1;
  int64_t index = slot == primary ? done_in(receiver.progress()) : receiver.begun();
  while (notes.last == 0 || index < notes.last) {
    const auto deliveries = receiver.next();
    if (!deliveries) continue;
    receiver.begin();
    for (const auto& delivery : *deliveries) notes.broken += is_whole(delivery, index) ? 0 : 1;
    ++notes.read;
    receiver.finish(++index, {}, "");
  }
  receiver.leave();
  return 0;
}

/// The simulation on one rank after the other, with a channel each.
class Simulation {
 public:
  explicit Simulation(Segment& segment) {
    for (int c = 0; c < segment.channels(); ++c) {
      segment.take_channel(c);
      segments_.push_back(
          std::make_unique<Segment>(Segment::open(segment.address(), Segment::Role::Simulation)));
      segments_.back()->take_channel(c);
      senders_.push_back(
          std::make_unique<transport::NodeSender>(*segments_.back(), c, true, nullptr));
      segment.open_channel(c);
    }
  }

  void publish() {
    for (const auto& sender : senders_) {
      const int64_t index = sender->writer().published();
      size_t size = size_of(index);
      std::byte* to = sender->reserve(size);
      for (int n = 0; to == nullptr && n < 3; ++n) {
        sender->wait(soon);
        to = sender->reserve(size);
      }
      if (to == nullptr) to = sender->reserve_head(size = head_size);
      REQUIRE(to != nullptr);
      for (size_t at = 0; at + 8 <= size; at += 8) {
        const uint64_t word = word_of(index, at);
        std::memcpy(to + at, &word, 8);
      }
      sender->commit(index + 1);
    }
    look();
  }

  /// All that a simulation rank asks for, as it does at every step.
  void look() {
    for (const auto& sender : senders_) {
      sender->poll();
      const int64_t published = sender->writer().published();
      REQUIRE((sender->behind() >= 0 && sender->behind() <= published));
      REQUIRE((sender->released() >= 0 && sender->released() <= published));
      REQUIRE(sender->in_flight() <= channel_memory);
      for (const int32_t a : sender->disabled()) REQUIRE((a >= 0 && a < most_analyses));
      const auto why = sender->failure();
      REQUIRE(why.size() < 256);
      REQUIRE(base::unprintable_part(why) == "");
      (void)sender->is_served();
      auto& slots = *sender->slots();
      for (int s = 0; slots.any() && s + 1 < slot_count; ++s) {
        const auto sight = slots.sight(s);
        if (sight == transport::SlotSight::Lost) slots.release(s);
        if (sight == transport::SlotSight::Ready) admit(slots, s);
      }
    }
  }

  /// Whether the holder of a slot gets messages.
  [[nodiscard]] bool serves(int slot) {
    return std::all_of(senders_.begin(), senders_.end(), [&](const auto& sender) {
      return slot == primary ? sender->writer().is_held(slot) : sender->writer().is_active(slot);
    });
  }
  [[nodiscard]] int64_t published() const { return senders_[0]->writer().published(); }
  [[nodiscard]] int64_t unreadable() const { return unreadable_; }

 private:
  void admit(transport::Slots& slots, int slot) {
    try {
      (void)base::from_bytes<run::AttachedJob>(slots.request(slot));
    } catch (const Error&) {
      ++unreadable_;
    }
    slots.activate(slot, 5, 2);
  }

  std::vector<std::unique_ptr<Segment>> segments_;
  std::vector<std::unique_ptr<transport::NodeSender>> senders_;
  int64_t unreadable_ = 0;
};

/// Waits for a child without standing still itself.
int await(Child& child, Simulation& simulation) {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(child.number()), &info, WEXITED | WNOWAIT | WNOHANG) ==
             0 &&
         info.si_pid == 0) {
    simulation.look();
    base::clock().sleep(1e-4);
  }
  return child.wait();
}

bool tries_all() {
  const char* all = std::getenv("PILLION_TEST_ALL");
  return all != nullptr && std::strcmp(all, "0") != 0;
}

int seeds() { return tries_all() ? 1000 : 300; }

int first_seed() {
  if (const char* given = std::getenv("PILLION_FAULT_SEED")) return std::atoi(given);
  const double day = std::floor(base::calendar_seconds() / 86400);
  return tries_all() ? static_cast<int>(day) * 1000 : 0;
}

}  // namespace

TEST_CASE("stray stores in one slot reach neither the simulation nor the job in another slot") {
  auto segment = Segment::make({"stray", 1, 0, 1, 2}, {{0, channel_memory}, {1, channel_memory}},
                               base::Bytes(100));
  Simulation simulation(segment);
  const auto first_words = [&](int c) {
    const auto& words = segment.channel(c);
    return std::vector<uint64_t>{words.writer, words.values_offset, words.values_size,
                                 words.heads_offset, words.heads_size};
  };
  const auto before = std::pair(first_words(0), first_words(1));
  Shared<Notes> notes;
  const int first = first_seed();
  for (int seed = first; seed < first + seeds(); ++seed) {
    CAPTURE(seed);
    const int spoilt = seed % 2 == 0 ? primary : attached;
    const int sound = seed % 2 == 0 ? attached : primary;
    notes->last = 0;
    Child reader([&] { return read_all(segment, sound, *notes); });
    while (!simulation.serves(sound)) simulation.look();
    Child stray([&] { return go_astray(static_cast<uint64_t>(seed), segment, spoilt, *notes); });
    for (int64_t n = 0; n < messages; ++n) simulation.publish();
    notes->last = simulation.published();
    REQUIRE(await(stray, simulation) == 0);
    REQUIRE(await(reader, simulation) == 0);
    REQUIRE(notes->broken == 0);
  }
  CHECK(std::pair(first_words(0), first_words(1)) == before);
  CHECK(segment.configuration() == base::Bytes(100));
  CHECK(notes->stores == 2000 * seeds());
  CHECK(notes->read >= messages * seeds());
}
