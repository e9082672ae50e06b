// SPDX-License-Identifier: BSD-3-Clause
// Integer arithmetic of parts and runs.
#include "replay/distribute.hpp"

namespace replay {

int64_t Part::count() const {
  int64_t count = 1;
  for (size_t d = 0; d < lo.size(); ++d) count *= hi[d] - lo[d];
  return count;
}

Part part_of(const std::vector<int64_t>& extents, int rank, int ranks) {
  Part part{std::vector<int64_t>(extents.size()), extents};
  int64_t mine = rank, among = ranks;
  for (size_t d = 0; d < extents.size(); ++d) {
    const int64_t planes = extents[d];
    if (planes >= among || d + 1 == extents.size()) {
      part.lo[d] = planes * mine / among;
      part.hi[d] = planes * (mine + 1) / among;
      return part;
    }
    // Several ranks share the plane; those before them have the planes before it.
    const int64_t plane = planes * mine / among;
    part.lo[d] = plane;
    part.hi[d] = planes == 0 ? 0 : plane + 1;
    if (planes == 0) return part;
    const int64_t first = (plane * among + planes - 1) / planes;
    const int64_t last = ((plane + 1) * among + planes - 1) / planes;
    mine -= first;
    among = last - first;
  }
  return part;
}

std::vector<Run> runs_of(const std::vector<int64_t>& extents, const Part& part) {
  if (part.count() == 0) return {};
  // From `whole` on the part has all there is, so that it is contiguous there.
  size_t whole = extents.size();
  int64_t length = 1;
  while (whole > 0 && part.hi[whole - 1] - part.lo[whole - 1] == extents[whole - 1])
    length *= extents[--whole];
  if (whole > 0) {
    --whole;
    length *= part.hi[whole] - part.lo[whole];
  }
  std::vector<Run> runs;
  auto at = part.lo;
  while (true) {
    int64_t begin = 0;
    for (size_t d = 0; d < extents.size(); ++d) begin = begin * extents[d] + at[d];
    runs.push_back({begin, length});
    size_t d = whole;
    while (d > 0 && ++at[d - 1] == part.hi[d - 1]) at[d - 1] = part.lo[d - 1], --d;
    if (d == 0) return runs;
  }
}

}  // namespace replay
