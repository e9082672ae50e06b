// SPDX-License-Identifier: BSD-3-Clause
// Byte messages of any size, above 2 GiB too, and reductions that continue while the program works.
#pragma once

#include <mpi.h>

#include <optional>
#include <span>

#include "comm/communicator.hpp"

namespace pillion::comm {

/// A datatype that stands for `size` bytes, so that one message may exceed 2 GiB.
class ByteType {
 public:
  explicit ByteType(size_t size);
  ByteType(const ByteType&) = delete;
  ByteType& operator=(const ByteType&) = delete;
  ~ByteType();
  [[nodiscard]] MPI_Datatype handle() const { return handle_; }

 private:
  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
};

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
  friend std::optional<size_t> find_done(std::span<Request> requests, bool wait);

 private:
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

static_assert(sizeof(Request) == sizeof(MPI_Request));
/// One of several that is done, now or, with `wait`, as soon as one is. It is not found again.
std::optional<size_t> find_done(std::span<Request> requests, bool wait);

[[nodiscard]] Request send(const Communicator& comm, const void* data, size_t size, int to,
                           int tag);
[[nodiscard]] Request receive(const Communicator& comm, void* data, size_t size, int from, int tag);

/// A message that has arrived and belongs to the caller that found it.
struct Arrival {
  MPI_Message message = MPI_MESSAGE_NULL;
  int source = -1;
  size_t size = 0;
};
constexpr int any_rank = MPI_ANY_SOURCE;
/// The next message from a rank, or from any, if one has arrived. Not collective, does not wait.
[[nodiscard]] std::optional<Arrival> find_arrival(const Communicator& comm, int from, int tag);
/// Receives it; `data` has room for arrival.size bytes.
void receive(Arrival& arrival, void* data);
/// The same without waiting.
[[nodiscard]] Request start_receiving(Arrival& arrival, void* data);

/// Starts a maximum over all ranks, in place. [collective, but does not wait]
[[nodiscard]] Request start_maximum(const Communicator& comm, double* values, int count);
/// Starts a sum over all ranks, in place. [collective, but does not wait]
[[nodiscard]] Request start_sum(const Communicator& comm, double* values, int count);

}  // namespace pillion::comm
