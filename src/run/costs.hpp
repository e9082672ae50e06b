// SPDX-License-Identifier: BSD-3-Clause
// What an analysis costs one rank. run/summary.hpp adds up the costs of ranks.
#pragma once

#include <cstdint>
#include <tuple>

namespace pillion::run {

struct CostCounters {
  double simulation_seconds = 0;  ///< of a simulation rank, for this analysis: stages and copies
  double waiting = 0;             ///< of a simulation rank, in stages, for other simulation ranks
  double copy_seconds = 0;        ///< the part of these that only publishing costs
  double sidecar_seconds = 0;
  double sidecar_waiting = 0;  ///< of a sidecar, in stages, for other sidecars
  double stall_seconds = 0;    ///< of a simulation rank, waiting for sidecars
  double lag_seconds = 0;      ///< sum over publications: from publishing to having finished
  double longest_lag = 0;
  double last_lag = 0;
  int64_t last_step = 0;     ///< that was worked on, or handed on; if any was
  int64_t bytes = 0;         ///< sent to sidecars
  int64_t publications = 0;  ///< worked on, or handed on by a simulation rank
  int64_t here = 0;          ///< of an analysis that may move: worked on in the simulation
  int64_t skipped = 0;
  int64_t dropped = 0;    ///< published by some ranks, but not by all
  int64_t withdrawn = 0;  ///< of an analysis with sidecars: dropped before they were published
  int64_t coarsened = 0;  ///< published as a subsample
  int64_t spilled = 0;    ///< that went to disk, at some rank
  int64_t thinned = 0;    ///< left out because the attached jobs' share was used up
  int64_t lost = 0;       ///< published, and worked on by no sidecar, or by one that died

  static constexpr auto members() {
    using C = CostCounters;
    return std::tuple{&C::simulation_seconds,
                      &C::waiting,
                      &C::copy_seconds,
                      &C::sidecar_seconds,
                      &C::sidecar_waiting,
                      &C::stall_seconds,
                      &C::lag_seconds,
                      &C::longest_lag,
                      &C::last_lag,
                      &C::last_step,
                      &C::bytes,
                      &C::publications,
                      &C::here,
                      &C::skipped,
                      &C::dropped,
                      &C::withdrawn,
                      &C::coarsened,
                      &C::spilled,
                      &C::thinned,
                      &C::lost};
  }
};

}  // namespace pillion::run
