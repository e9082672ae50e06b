// SPDX-License-Identifier: BSD-3-Clause
// What the study of the engine counts on each rank, and the clock that it gives to the library. All
// ranks are contexts of one thread with common globals, so that a rank can read what others
// counted.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/clock.hpp"

namespace study {

/// What one rank has done since the program began.
struct Counters {
  int64_t messages = 0;     ///< sent and received, those of collectives included
  int64_t bytes = 0;        ///< in them
  int64_t collectives = 0;  ///< entered
  double creating = 0;      ///< simulated seconds in making communicators, which SimGrid does
  double processor = 0;     ///< seconds of this machine, outside MPI
  int64_t memory = 0;       ///< bytes from `new`, less what was freed
  int64_t peak = 0;         ///< most of them since reset_peaks()
};

/// Those of a rank of the world.
const Counters& counters(int rank);
void reset_peaks();
/// A barrier, and a maximum over all ranks, that send no message and take no simulated time.
/// No two communicators of the same size may meet at a time. [collective over comm]
void meet_uncounted(MPI_Comm comm);
double most_uncounted(MPI_Comm comm, double value);
/// Sleeps, and advances collectives that this rank has begun.
void rest_uncounted(double seconds);
/// When the latest message of any rank was sent, in simulated time.
double latest_message();
/// Between these memory and messages are counted. [collective over the world]
void begin_counting();
void end_counting();

/// Simulated time. Sleeping lets other ranks run.
class SimulatedClock final : public pillion::base::Clock {
 public:
  double monotonic_seconds() override;
  double calendar_seconds() override;
  void sleep(double seconds) override;
  void yield() override;
  void sleep_while(const std::atomic<uint32_t>& word, uint32_t seen, double seconds) override;
  void wake(std::atomic<uint32_t>&) override {}
};

}  // namespace study
