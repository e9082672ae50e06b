// SPDX-License-Identifier: BSD-3-Clause
// How long something takes on several ranks, and the middle of several such times.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

/// Seconds of the slowest rank; all ranks begin together.
template <class Deed>
double seconds_of(Deed&& deed) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = Clock::now();
  deed();
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace bench
