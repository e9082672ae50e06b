// SPDX-License-Identifier: BSD-3-Clause
// Were there two plans for one division, ranks might each find another one that fits.
#include "stagehost/plans.hpp"

#include <algorithm>
#include <numeric>

namespace pillion::stagehost {

using layout::Request;
using model::Box;

namespace {

// Some divisions of some meshes, each whole and at a few levels of coarseness.
constexpr size_t most = 16;

/// The request with sides, where these follow from the boxes that ranks have. [collective]
Request closed(const Request& request, const model::Mesh& mesh, const std::vector<Box>& here,
               const comm::Communicator& peers) {
  if (!layout::has_open_sides(request)) return request;
  std::array<int64_t, 3> longest{};
  for (const auto& box : here)
    for (int d = 0; d < 3; ++d)
      longest[static_cast<size_t>(d)] = std::max(longest[static_cast<size_t>(d)], box.extent(d));
  peers.reduce(longest.data(), 3, comm::Operation::Max);
  return layout::with_sides(request, longest, mesh);
}

}  // namespace

Division::Division(Request asked, const model::Mesh& divided)
    : request(std::move(asked)),
      mesh(divided.name),
      cells(divided.cells),
      periodic(divided.periodic) {
  request.fields.clear();
}

Plan* Plans::find(const Division& division) {
  const auto at = std::find_if(kept_.begin(), kept_.end(),
                               [&](const auto& plan) { return plan->division == division; });
  if (at == kept_.end()) return nullptr;
  std::rotate(at, at + 1, kept_.end());
  return kept_.back().get();
}

std::unique_ptr<Plan> Plans::make(const Request& request, const model::Mesh& mesh,
                                  std::vector<Box> here, const comm::Communicator& peers) {
  ++made_;
  Division division(request, mesh);
  std::erase_if(kept_, [&](const auto& plan) { return plan->division == division; });
  if (!neighbours_) neighbours_.emplace(peers);
  std::vector<int> owners(static_cast<size_t>(peers.size()));
  std::iota(owners.begin(), owners.end(), 0);
  const auto wanted = layout::wanted_of(closed(request, mesh, here, peers), mesh, peers.size());
  return std::unique_ptr<Plan>(new Plan{
      std::move(division), wanted.tiling.places_of(peers.rank()),
      redistribution::Redistribution(peers, std::move(here), wanted, owners, &*neighbours_)});
}

Plan* Plans::keep(std::unique_ptr<Plan> plan) {
  if (kept_.size() == most) kept_.erase(kept_.begin());
  return kept_.emplace_back(std::move(plan)).get();
}

}  // namespace pillion::stagehost
