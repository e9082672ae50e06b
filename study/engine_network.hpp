// SPDX-License-Identifier: BSD-3-Clause
// Messages between the ranks of the study of the engine. SimGrid works out again for each message
// how all others share the links, which takes minutes where thousands are on their way. Here a
// message takes a moment of each side's processor, then the link of its node, one message after the
// other, and the latency of SimGrid's route. All ranks are contexts of one thread, so that the
// instant at which a message arrives is known when it is sent, and a rank that waits sleeps until
// then.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <vector>

namespace study {

/// For what belongs to MPI and not to the library, so that it is not counted.
template <class T>
struct Uncounted {
  using value_type = T;
  Uncounted() = default;
  template <class Other>
  explicit(false) Uncounted(const Uncounted<Other>&) {}
  T* allocate(size_t count) {
    if (void* memory = std::malloc(count * sizeof(T))) return static_cast<T*>(memory);
    throw std::bad_alloc();
  }
  void deallocate(T* memory, size_t) { std::free(memory); }
  friend bool operator==(const Uncounted&, const Uncounted&) { return true; }
};
struct UncountedObject {
  static void* operator new(size_t size) { return Uncounted<std::byte>().allocate(size); }
  static void operator delete(void* memory) { std::free(memory); }
};

constexpr size_t most_ranks = 1 << 14;
constexpr int any = -1;
constexpr double never = std::numeric_limits<double>::infinity();

/// The rank that runs, in the world.
int here();
double now();

/// By what a receive finds its message.
struct Envelope {
  int communicator = 0;
  int from = any, tag = any;  ///< a rank in the communicator
  [[nodiscard]] bool holds(const Envelope& message) const {
    return communicator == message.communicator && (from == any || from == message.from) &&
           (tag == any || tag == message.tag);
  }
};

struct Message;

/// A send or a receive that has begun. It belongs to the rank that began it.
struct Operation : UncountedObject {
  Operation();
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  [[nodiscard]] bool is_done() const;

  int owner;
  double done_at = never;
  bool is_receive = false, is_withdrawn = false;
  void* data = nullptr;  ///< of a receive
  size_t room = 0;
  Envelope envelope;  ///< of the message, once there is one
  size_t size = 0;
};

/// The machine; each rank says that it is there before the first message.
void join_network();

/// Sends up to 8 KiB are done at once; larger ones, and synchronous ones, when they are received.
Operation* start_sending(int to_in_world, const Envelope& envelope, const void* data, size_t size,
                         bool synchronous);
Operation* start_receiving(const Envelope& wanted, void* data, size_t room);
/// Takes out a message that has come; null if none has.
Message* find_message(const Envelope& wanted);
const Envelope& envelope_of(const Message* message);
size_t size_of(const Message* message);
/// The message is no more after this. Without `data` its bytes go nowhere.
Operation* start_receiving(Message* message, void* data, size_t room);
/// Withdraws a receive that no message has met.
void withdraw(Operation* receive);

/// Sleeps until something that this rank began is done, a message comes, or so late.
void rest_until(double instant);
/// What a poll takes that found nothing. If no poll of this rank can find anything before the next
/// event, the rank sleeps until then.
void poll_in_vain();
/// The processor's part of a receive.
void spend_receiving();

}  // namespace study
