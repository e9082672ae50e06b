// SPDX-License-Identifier: BSD-3-Clause
// Messages and reductions under way.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <span>

namespace pillion::comm {

/// A message or reduction under way; its memory must stay until it is done. Must be waited for or
/// tested until done before it is destroyed.
class Request {
 public:
  Request() = default;
  explicit Request(MPI_Request handle) : handle_(handle) {}
  Request(Request&& other) noexcept;
  Request& operator=(Request&& other) noexcept;
  ~Request() = default;
  [[nodiscard]] bool test();
  void wait();
  /// Waits for ranks that may come much later, and leaves the core to others: after 0.1 ms it only
  /// asks now and then, as nap_after() has it.
  void wait_asleep();
  /// The bytes of a message that has been received; nothing as long as it has not.
  [[nodiscard]] std::optional<size_t> received();
  /// Withdraws a receive that no message has met. False if one has, and the receive continues.
  [[nodiscard]] bool withdraw();
  friend std::optional<size_t> find_done(std::span<Request> requests, bool wait);

 private:
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

static_assert(sizeof(Request) == sizeof(MPI_Request));

/// How long a rank sleeps that has waited so long for others in vain, in seconds. In each of the
/// steps of a reduction over ranks some rank may be late by its nap. All of these naps together are
/// shorter than what was waited, so ranks that meet again and again come closer together.
double nap_after(double waited);

/// One of several that is done, now or, with `wait`, as soon as one is. It is not found again.
std::optional<size_t> find_done(std::span<Request> requests, bool wait);

}  // namespace pillion::comm
