// SPDX-License-Identifier: BSD-3-Clause
// How ranks fail together. A failure on one rank becomes the same exception on all of them, and a
// rank that fails in the middle of work does not leave the others waiting in a collective.
#pragma once

#include <exception>
#include <optional>

#include "comm/communicator.hpp"
#include "comm/work.hpp"

namespace pillion::comm {

/// Runs `work` and then agrees: if it threw on any rank, the exception of the lowest such rank is
/// thrown on every rank. The work itself must not be collective. [collective]
void together(const Communicator& comm, Work<void> work);

/// The bytes that `make` returns on rank `root`, on every rank. If that fails, or a rank has no
/// memory for them, every rank throws. [collective]
[[nodiscard]] base::Bytes broadcast_made(const Communicator& comm, int root,
                                         Work<base::Bytes> make);

/// Runs a collective that ends on all ranks, though it may fail on some, and returns what it threw
/// here. The ranks agree on that later: see rethrow().
std::exception_ptr failure_of(Work<void> work);
/// Throws a failure, if there is one.
inline void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

/// Seconds that this thread has waited for other ranks, here and in fences, since it began. What a
/// piece of work waited is the difference between after and before.
[[nodiscard]] double seconds_waited();

/// Collectives of a piece of work that may fail on some ranks only. Every rank enters a fence
/// before each collective and at the end; a rank that failed enters the end at once, which the
/// others see at their next fence.
class Fence {
 public:
  explicit Fence(const Communicator& comm) : comm_(&comm) {}

  /// Call before each collective. Throws if a peer has failed or has already ended. [collective]
  void before_collective();
  /// The same, and whether any rank came with `mine`: agreement at no further cost. [collective]
  [[nodiscard]] bool any_before_collective(bool mine) {
    return common_before_collective(mine ? 0 : 1) == 0;
  }
  /// The same, and which of up to most_common bits all ranks have set.
  [[nodiscard]] uint32_t common_before_collective(uint32_t mine);
  static constexpr int most_common = 28;

  /// Runs `work`, whose collectives are all fenced, and ends it on every rank together. Returns the
  /// failure of the lowest rank that failed, the same everywhere, or nothing. [collective]
  [[nodiscard]] std::optional<Error> run(Work<void> work);
  /// For a rank that has failed before it came to run() or ask(), where the others are: ends
  /// theirs, and returns what they do. [collective with their run() or ask()]
  [[nodiscard]] std::optional<Error> fail(const std::exception& cause);
  /// The same for work that ends with a yes or no, which is `answer` then; if ranks differ in it,
  /// that is a failure.
  [[nodiscard]] std::optional<Error> ask(Work<bool> work, bool& answer);

 private:
  const Communicator* comm_;
  bool peer_failed_ = false;
};

}  // namespace pillion::comm
