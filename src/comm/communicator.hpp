// SPDX-License-Identifier: BSD-3-Clause
// MPI for the rest of the library: a communicator that owns its handle, the few collectives that
// are needed, and byte messages of any size. Nothing outside comm/ calls MPI. Errors of MPI become
// exceptions. All members but rank, size and handle are [collective] unless they say otherwise.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "comm/work.hpp"

namespace pillion::comm {

enum class Operation { Sum, Min, Max };

class Calls;

/// Throws if an MPI call did not succeed.
void check(int code, const char* call);

class Communicator {
 public:
  /// No communicator: rank -1 of 0.
  Communicator() = default;
  /// A private copy of a communicator, on which nothing is compared.
  explicit Communicator(MPI_Comm parent);
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  ~Communicator();

  [[nodiscard]] MPI_Comm handle() const { return handle_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] explicit operator bool() const { return handle_ != MPI_COMM_NULL; }

  /// Has all that its ranks do together compared with the call that each of them is in. What is
  /// split from it does the same.
  void compare(std::shared_ptr<Calls> calls) { calls_ = std::move(calls); }
  /// Null where nothing is compared.
  [[nodiscard]] Calls* calls() const { return calls_.get(); }
  /// Throws if the ranks have parted, since some would never come. Not collective.
  void expect_joined() const;

  /// The same ranks, for reductions that are under way while others are.
  [[nodiscard]] Communicator duplicate() const;
  /// The ranks that gave the same colour, in the order they have here; a negative colour gives
  /// none.
  [[nodiscard]] Communicator split(int colour) const;
  /// The ranks that share a node's memory.
  [[nodiscard]] Communicator split_by_node() const;

  void barrier() const;
  void broadcast(std::string& text, int root) const;
  void broadcast(base::Bytes& bytes, int root) const;
  /// The same where every rank knows the size.
  void broadcast(std::span<std::byte> bytes, int root) const;
  void reduce(int32_t* values, int64_t count, Operation operation) const;
  void reduce(int64_t* values, int64_t count, Operation operation) const;
  void reduce(float* values, int64_t count, Operation operation) const;
  void reduce(double* values, int64_t count, Operation operation) const;
  template <class T>
  [[nodiscard]] T reduced(T value, Operation operation) const {
    reduce(&value, 1, operation);
    return value;
  }
  [[nodiscard]] std::vector<int64_t> gather_all(int64_t value) const;
  /// The same into memory that is there.
  void gather_all(int64_t value, std::span<int64_t> all) const;
  /// The sum of the values of all ranks below this one.
  [[nodiscard]] int64_t sum_below(int64_t value) const;
  /// The same where neighbouring ranks have equal values as a rule, or values at equal distances:
  /// messages have a few words for each run of such values, and go along a tree.
  [[nodiscard]] std::vector<int64_t> gather_all_runs(int64_t value) const;
  /// Everyone's bytes at the root, in the order of ranks; empty elsewhere. They go along a tree: no
  /// rank receives more than log2 of the number of ranks messages. A rank without memory for what
  /// it passes on throws, and bytes are missing at the root.
  [[nodiscard]] std::vector<base::Bytes> gather(const base::Bytes& bytes, int root) const;
  /// Calls use(rank, bytes) at the root for everyone's bytes, in the order of ranks. The root holds
  /// one other rank's bytes at a time. If a call throws, the other messages are received all the
  /// same.
  void gather_each(std::span<const std::byte> mine, int root,
                   Work<void, int, std::span<const std::byte>> use) const;
  /// Joins everyone's bytes in the order of ranks, along a tree: no rank receives more than log2 of
  /// the number of ranks messages. `join(lower, higher)` makes one of two, and must be associative.
  /// The whole at rank 0; elsewhere, what this rank passed on. If a call of `join` throws, that
  /// rank passes on what it had before and throws at the end.
  using Join = Work<base::Bytes, const base::Bytes&, const base::Bytes&>;
  [[nodiscard]] base::Bytes fold(base::Bytes mine, Join join) const;

 private:
  [[nodiscard]] Communicator adopt(MPI_Comm handle) const;
  void measure();
  void release() noexcept;
  MPI_Comm handle_ = MPI_COMM_NULL;
  int rank_ = -1;
  int size_ = 0;
  std::shared_ptr<Calls> calls_;
};

/// Throws ErrorCode::State unless MPI is running: many MPI libraries end a program that calls them
/// before MPI_Init or after MPI_Finalize.
void expect_mpi();
/// Throws unless a program's communicator can be used: MPI must be running, and it must be an
/// intracommunicator.
void expect_usable(MPI_Comm comm);

/// The communicator of a Fortran handle.
MPI_Comm from_fortran(MPI_Fint handle);
MPI_Fint to_fortran(MPI_Comm handle);

/// Something to be done when the program calls MPI_Finalize, while MPI can still be used.
class AtFinalize {
 public:
  /// `action` is called at the start of MPI_Finalize unless this object is gone by then.
  explicit AtFinalize(std::function<void()> action);
  AtFinalize(const AtFinalize&) = delete;
  AtFinalize& operator=(const AtFinalize&) = delete;
  ~AtFinalize();

 private:
  std::shared_ptr<std::function<void()>> action_;
};

/// Ends the whole job when all ranks of `some` have come to MPI_Finalize: for jobs with other ranks
/// that will never come. The first of `some` asks `must_end` then, if there is one. Does nothing
/// and returns false if the job has ranks that are not in `all`: it is not ours to end. [collective
/// over `some`]
[[nodiscard]] bool end_job_at_finalize(const Communicator& all, const Communicator& some,
                                       std::function<bool()> must_end = {});

}  // namespace pillion::comm
