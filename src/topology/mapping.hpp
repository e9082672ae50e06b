// SPDX-License-Identifier: BSD-3-Clause
// Which spots sidecars take: four rules, and what a choice costs. docs/placement.md draws them.
#pragma once

#include <cstdint>
#include <vector>

#include "model/mapping.hpp"
#include "topology/location.hpp"

namespace pillion::topology {

using model::Mapping;

/// Spots of ranks about which there is nothing to choose, by what they are.
struct FixedRanks {
  std::vector<Location> sidecars, simulation;
};

/// Which of some spots, of one node or of several, become `count` sidecars. `spread` is one of the
/// four rules; `numa` counts those that are settled in their domains, too. Order counts where spots
/// are not known. The result has the size of `spots`.
std::vector<bool> choose_sidecars(const std::vector<Location>& locations, int64_t count,
                                  Mapping mapping, const FixedRanks& settled = {});

/// Sum over simulation ranks of distances to their sidecars, and for contention the sum over
/// intakes of the squares of the hand-overs into each, over their mean: 1 for each hand-over if all
/// take as many. In hand-overs times levels. `server` has indices in `sidecars`.
double cost_of(const std::vector<Location>& simulation, const std::vector<Location>& sidecars,
               const std::vector<int>& server);

}  // namespace pillion::topology
