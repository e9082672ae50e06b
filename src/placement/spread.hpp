// SPDX-License-Identifier: BSD-3-Clause
// Which spots sidecars take: four rules, and what a choice costs. docs/placement.md draws them.
#pragma once

#include <cstdint>
#include <vector>

#include "model/spread.hpp"
#include "placement/spot.hpp"

namespace pillion::placement {

using model::Spread;

/// Spots of ranks about which there is nothing to choose, by what they are.
struct Settled {
  std::vector<Spot> sidecars, simulation;
};

/// Which of some spots, of one node or of several, become `count` sidecars. `spread` is one of the
/// four rules; `numa` counts those that are settled in their domains, too. Order counts where spots
/// are not known. The result has the size of `spots`.
std::vector<bool> spread_over(const std::vector<Spot>& spots, int64_t count, Spread spread,
                              const Settled& settled = {});

/// Sum over simulation ranks of distances to their sidecars, and for contention the sum over
/// intakes of the squares of the hand-overs into each, over their mean: 1 for each hand-over if all
/// take as many. In hand-overs times levels. `server` has indices in `sidecars`.
double cost_of(const std::vector<Spot>& simulation, const std::vector<Spot>& sidecars,
               const std::vector<int>& server);

}  // namespace pillion::placement
