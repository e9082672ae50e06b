// SPDX-License-Identifier: BSD-3-Clause
// The order of plans is the same on all ranks, so a bit means the same plan on each.
#include "stagehost/plans.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "comm/agreement.hpp"
#include "layout/boxes.hpp"

namespace pillion::stagehost {

using layout::Request;
using model::Box;

namespace {

// Some divisions of some meshes, each whole and at a few levels of coarseness; and of each a few,
// for fields that lie in different boxes.
constexpr size_t most = 16, most_of_one = 4;
static_assert(most <= comm::Fence::most_common);

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

/// Which shares of the tiling this rank's boxes are in, those with most cells first.
base::Bytes affinities_of(const layout::Wanted& wanted, const std::vector<Box>& here, int rank) {
  constexpr size_t most_of_one = 8;  // a rank's blocks are in no more shares of its size, as a rule
  std::vector<layout::Affinity> mine;
  for (const auto& moves : layout::plan_moves(here, wanted))
    mine.push_back({moves.rank, rank, moves.cells});
  std::sort(mine.begin(), mine.end(),
            [](const auto& a, const auto& b) { return a.cells > b.cells; });
  mine.resize(std::min(mine.size(), most_of_one));
  base::ByteWriter writer;
  for (const auto& affinity : mine) writer.put(affinity);
  return writer.take();
}

/// The rank of each share of the tiling. Only boxes of powers of two may be anybody's. [collective]
std::vector<int> owners_of(const layout::Wanted& wanted, layout::Kind kind,
                           const std::vector<Box>& here, const comm::Communicator& peers) {
  std::vector<int> owners;
  base::Bytes mine;
  const bool anybodys = kind == layout::Kind::PowersOfTwo;
  comm::together(peers, [&] {
    owners.resize(static_cast<size_t>(peers.size()));
    std::iota(owners.begin(), owners.end(), 0);
    if (anybodys) mine = affinities_of(wanted, here, peers.rank());
  });
  if (!anybodys) return owners;
  std::vector<base::Bytes> gathered;
  const auto failure = comm::failure_of([&] { gathered = peers.gather(mine, 0); });
  comm::together(peers, [&] {
    comm::rethrow(failure);
    if (peers.rank() != 0) return;
    std::vector<layout::Affinity> all;
    for (const auto& bytes : gathered)
      for (base::ByteReader in(bytes); !in.done();) all.push_back(in.get<layout::Affinity>());
    owners = layout::match(std::move(all), peers.size());
  });
  peers.broadcast(std::as_writable_bytes(std::span(owners)), 0);
  return owners;
}

}  // namespace

Division::Division(Request asked, const model::Mesh& divided)
    : request(std::move(asked)),
      mesh(divided.name),
      cells(divided.cells),
      periodic(divided.periodic) {
  request.fields.clear();
  request.in_parts = false;
}

uint32_t Plans::fitting(const Division& division, const std::vector<Box>& here, size_t per_cell,
                        const Owners& owners) const {
  uint32_t bits = 0;
  for (size_t p = 0; p < kept_.size(); ++p) {
    Plan& plan = *kept_[p];
    const bool fits = plan.division == division && plan.moves.here() == here &&
                      (!owners || *plan.owners == *owners);
    if (!fits) continue;
    plan.moves.reserve(per_cell);
    bits |= 1u << p;
  }
  return bits;
}

Plan& Plans::peek(uint32_t bits) const {
  return *kept_[static_cast<size_t>(std::countr_zero(bits))];
}

Plan* Plans::use(uint32_t bits) {
  const auto at = kept_.begin() + std::countr_zero(bits);
  std::rotate(at, at + 1, kept_.end());
  return kept_.back().get();
}

std::unique_ptr<Plan> Plans::make(const Request& request, const model::Mesh& mesh,
                                  const std::vector<Box>& here, size_t per_cell,
                                  const comm::Communicator& peers, Owners owners) {
  ++made_;
  std::optional<Division> division;
  std::vector<Box> boxes;
  comm::together(peers, [&] {
    division.emplace(request, mesh);
    boxes = here;
  });
  if (!memory_) {
    redistribution::Neighbours neighbours(peers);
    std::unique_ptr<redistribution::TransferMemory> memory;
    comm::together(peers, [&] {
      memory =
          std::make_unique<redistribution::TransferMemory>(std::move(neighbours), node_budget_);
    });
    memory_ = std::move(memory);
  }
  const auto whole = closed(request, mesh, here, peers);
  std::optional<layout::Wanted> tiled;
  comm::together(peers, [&] { tiled = layout::wanted_of(whole, mesh, peers.size()); });
  const auto& wanted = *tiled;
  std::vector<int> found;
  if (!owners) found = owners_of(wanted, request.kind, here, peers);
  std::vector<layout::Place> places;
  comm::together(peers, [&] {
    if (!owners) owners = std::make_shared<std::vector<int>>(std::move(found));
    const auto mine = std::find(owners->begin(), owners->end(), peers.rank()) - owners->begin();
    places = wanted.tiling.places_of(static_cast<int>(mine));
  });
  redistribution::Redistribution moves(peers, std::move(boxes), wanted, *owners, memory_.get());
  moves.reserve(per_cell);
  kept_.reserve(most);
  return std::unique_ptr<Plan>(
      new Plan{made_, std::move(*division), owners, wanted, std::move(places), std::move(moves)});
}

Plan* Plans::keep(std::unique_ptr<Plan> plan) {
  const auto of_same = [&](const auto& other) { return other->division == plan->division; };
  if (std::count_if(kept_.begin(), kept_.end(), of_same) == most_of_one)
    kept_.erase(std::find_if(kept_.begin(), kept_.end(), of_same));
  if (kept_.size() == most) kept_.erase(kept_.begin());
  return kept_.emplace_back(std::move(plan)).get();
}

}  // namespace pillion::stagehost
