// SPDX-License-Identifier: BSD-3-Clause
// Writers take turns: only so many write at once, and each that is done hands its place on, so that
// a file system that many share sees a steady stream rather than a burst.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace pillion::stages {

/// A peer's turn: waits for the peer `at_once` before it, and lets the one `at_once` after it begin
/// when it ends, however it ends. Whoever has a turn must not need another peer in it.
class Turn {
 public:
  Turn(MPI_Comm comm, int at_once, int tag) : comm_(comm), at_once_(at_once), tag_(tag) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    if (at_once_ <= 0 || rank_ < at_once_) return;
    // A receive that waits would keep a core busy that a solver may want.
    for (int there = 0; there == 0;) {
      MPI_Iprobe(rank_ - at_once_, tag_, comm_, &there, MPI_STATUS_IGNORE);
      if (there == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    MPI_Recv(nullptr, 0, MPI_BYTE, rank_ - at_once_, tag_, comm_, MPI_STATUS_IGNORE);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (at_once_ > 0 && rank_ + at_once_ < size_)
      MPI_Send(nullptr, 0, MPI_BYTE, rank_ + at_once_, tag_, comm_);
  }

 private:
  MPI_Comm comm_;
  int at_once_, tag_, rank_ = 0, size_ = 1;
};

class Turns {
 public:
  /// 0: everybody at once.
  explicit Turns(int64_t at_once) : at_once_(static_cast<int>(at_once)) {}

  /// Does what this peer has to do when it is its turn. [peers] They must have agreed just before
  /// that none has failed; a deed that throws ends the turn.
  template <class Deed>
  void operator()(MPI_Comm comm, Deed&& deed) {
    const Turn turn(comm, at_once_, first_tag + rounds_++ % 1000);
    deed();
  }

 private:
  static constexpr int first_tag = 1000;
  int at_once_;
  int rounds_ = 0;
};

}  // namespace pillion::stages
