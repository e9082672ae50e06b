// SPDX-License-Identifier: BSD-3-Clause
// One sparse exchange of boxes.
#include "redistribution/coverage.hpp"

#include <map>

#include "comm/agreement.hpp"
#include "comm/message.hpp"
#include "layout/coverage.hpp"
#include "layout/tiling.hpp"

namespace pillion::redistribution {

using layout::Box;
using layout::Tiling;

namespace {

/// The boxes, whole, for each rank in whose part they are.
std::map<int, base::Bytes> boxes_by_rank(const std::vector<Box>& here, const Tiling& parts) {
  std::map<int, base::ByteWriter> writers;
  for (const auto& box : here)
    if (!layout::is_empty(box))
      parts.each_near(box, {0, 0, 0}, [&](const layout::Place& place) {
        if (!layout::is_empty(place.box)) writers[place.rank].put(box);
      });
  std::map<int, base::Bytes> out;
  for (auto& [rank, writer] : writers) out[rank] = writer.take();
  return out;
}

}  // namespace

CoverageFault find_coverage_fault(const comm::Communicator& ranks, const std::vector<Box>& here,
                                  const Box& domain) {
  CoverageFault out;
  for (const auto& box : here) out.covered += box.volume();
  out.covered = ranks.reduced(out.covered, comm::Operation::Sum);
  const auto parts = Tiling::blocks(domain, 3, ranks.size());
  comm::SparseExchange exchange(ranks, comm::tags::box_meeting);
  const auto received = exchange.made_by([&] { return boxes_by_rank(here, parts); });
  comm::together(ranks, [&] {
    std::vector<Box> boxes;
    for (const auto& [rank, bytes] : received)
      for (base::ByteReader in(bytes); !in.done();) boxes.push_back(in.get<Box>());
    for (const auto& place : parts.places_of(ranks.rank())) {
      const auto fault = layout::find_coverage_fault(boxes, place.box);
      if (fault.overlap && !out.overlap)
        out.overlap.emplace(boxes[fault.overlap->first], boxes[fault.overlap->second]);
      if (fault.hole && !out.hole) out.hole = fault.hole;
    }
  });
  return out;
}

}  // namespace pillion::redistribution
