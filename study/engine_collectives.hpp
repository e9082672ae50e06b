// SPDX-License-Identifier: BSD-3-Clause
// The collectives of the study of the engine, each a coroutine that awaits messages, by the
// algorithms that MPI libraries have for few bytes.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <coroutine>
#include <cstdlib>
#include <memory>
#include <vector>

#include "engine_mpi.hpp"
#include "engine_network.hpp"

namespace study {

// Messages on a communicator, and the bytes of values: in engine_mpi.cpp.
Operation* send_message(MPI_Comm comm, int to, int tag, const void* data, size_t size,
                        bool synchronous = false);
Operation* receive_message(MPI_Comm comm, int from, int tag, void* data, size_t room);
int64_t size_of(int count, MPI_Datatype type);

/// A collective that a rank has begun: it runs until it awaits messages.
class Collective : public UncountedObject {
 public:
  struct promise_type : UncountedObject {
    std::vector<std::unique_ptr<Operation>, Uncounted<std::unique_ptr<Operation>>> pending;
    Collective get_return_object() {
      return Collective(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };

  explicit Collective(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  ~Collective() { handle_.destroy(); }

  [[nodiscard]] bool is_done() const { return handle_.done(); }
  void advance() {
    while (!is_done()) {
      auto& pending = handle_.promise().pending;
      if (!std::all_of(pending.begin(), pending.end(),
                       [](const auto& operation) { return operation->is_done(); }))
        return;
      for (const auto& operation : pending)
        if (operation->is_receive) spend_receiving();
      pending.clear();
      handle_.resume();
    }
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// Messages of one collective.
class Wire {
 public:
  explicit Wire(MPI_Comm comm);
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }

  /// Awaits a message to one rank and one from another; -1 means no rank.
  struct Exchange {
    MPI_Comm comm;
    int tag, to, from;
    const void* out;
    size_t out_size;
    void* in;
    size_t in_size;
    [[nodiscard]] bool await_ready() const { return to < 0 && from < 0; }
    void await_suspend(std::coroutine_handle<Collective::promise_type> handle) const {
      auto& pending = handle.promise().pending;
      if (from >= 0) pending.emplace_back(receive_message(comm, from, tag, in, in_size));
      if (to >= 0) pending.emplace_back(send_message(comm, to, tag, out, out_size));
    }
    void await_resume() const {}
  };
  [[nodiscard]] Exchange swap(int to, const void* out, size_t out_size, int from, void* in,
                              size_t in_size) const {
    return {comm_, tag_, to, from, out, out_size, in, in_size};
  }
  [[nodiscard]] Exchange send(int to, const void* data, size_t size) const {
    return swap(to, data, size, -1, nullptr, 0);
  }
  [[nodiscard]] Exchange receive(int from, void* data, size_t size) const {
    return swap(-1, nullptr, 0, from, data, size);
  }

 private:
  MPI_Comm comm_;
  int rank_ = 0, ranks_ = 0, tag_ = 0;
};

/// Recursive doubling. Ranks beyond the greatest power of two give theirs to one that takes part.
Collective reduce(Wire wire, void* values, int count, MPI_Datatype type, MPI_Op op);
/// A barrier, by dissemination.
Collective meet(Wire wire);
/// Along a binomial tree.
Collective broadcast(Wire wire, void* data, size_t size, int root);
/// Bruck's: each rank begins with its own, and has twice as many after each round.
Collective gather_all(Wire wire, const void* own, size_t each, void* out);

}  // namespace study
