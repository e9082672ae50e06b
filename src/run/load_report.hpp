// SPDX-License-Identifier: BSD-3-Clause
// What sidecars of the simulation's own job tell it of the time that they spend, where an analysis
// may run on either side: now and then a small message from the first of them to the first
// simulation rank, which looks for it when it wants to know. Nobody waits.
#pragma once

#include <vector>

#include "run/run.hpp"

namespace pillion::run {

/// Sums since the run began.
struct LoadReport {
  double busy = 0;               ///< seconds of work on anything
  std::vector<double> worked;    ///< seconds, by analysis; of those that may move
  std::vector<double> finished;  ///< publications of these
};

/// Tells the first simulation rank, if this is the first sidecar.
void send_load_report(const Run& run, double busy);
/// Takes note of what sidecars have told last. By the first simulation rank.
void receive_load_report(const Run& run, LoadReport& load_report);

}  // namespace pillion::run
