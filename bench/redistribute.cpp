// SPDX-License-Identifier: BSD-3-Clause
// How fast is a mesh moved from many small boxes on some ranks to one block on each of the
// others? Against MPI_Alltoallv of the same bytes, which lie ready in one piece on both sides,
// against one blocking message for each box, and against the same plan without the node's memory,
// one message for each pair of ranks. Then how long planning takes for 10^4 to 10^6 boxes.
// On 2 to 8 ranks; a third of them, rounded up, receive.
#include <mpi.h>

#include <cstdio>
#include <numeric>
#include <vector>

#include "redistribution/exchange.hpp"
#include "timing.hpp"

namespace {

using namespace pillion;
using bench::median;
using layout::Box;
using layout::Tiling;
using redistribution::FieldArrays;
using redistribution::Redistribution;

constexpr int repetitions = 15;

struct Case {
  const char* name;
  Box domain;
  int side;  ///< of a box is two to this power
  int32_t components;
};

/// Ranks [0, sources) have the boxes, the others want blocks.
struct Sides {
  const comm::Communicator& world;
  int targets = (world.size() + 2) / 3;
  int sources = world.size() - targets;
  [[nodiscard]] bool is_source() const { return world.rank() < sources; }
  [[nodiscard]] std::vector<int> owners() const {
    std::vector<int> ranks(static_cast<size_t>(targets));
    std::iota(ranks.begin(), ranks.end(), sources);
    return ranks;
  }
};

std::vector<Box> boxes_here(const Sides& sides, const Box& domain, int side) {
  std::vector<Box> boxes;
  if (!sides.is_source()) return boxes;
  const auto tiling = Tiling::powers_of_two(domain, {side, side, side}, sides.sources);
  for (const auto& place : tiling.places_of(sides.world.rank())) boxes.push_back(place.box);
  return boxes;
}

/// A field of float64 on the boxes of both sides, each box with memory of its own.
struct Field {
  Field(const Redistribution& plan, int32_t components) {
    arrays.components = components;
    for (const auto& box : plan.here()) {
      from.emplace_back(static_cast<size_t>(box.volume() * components), 1.0);
      const auto* data = reinterpret_cast<const std::byte*>(from.back().data());
      arrays.from.push_back({data, box.lo, model::packed_strides(box, components)});
    }
    for (const auto& box : plan.boxes()) {
      to.emplace_back(static_cast<size_t>(box.volume() * components), 0.0);
      arrays.to.push_back(
          layout::packed_at(reinterpret_cast<std::byte*>(to.back().data()), box, components));
    }
  }
  std::vector<std::vector<double>> from, to;
  FieldArrays arrays;
};

/// What goes from each box to each target, in the order of the boxes of the sources.
struct Piece {
  int source, target;
  int32_t from;
  Box region;
};

std::vector<Piece> all_pieces(const Sides& sides, const Case& c, const layout::Wanted& wanted) {
  std::vector<Piece> pieces;
  const auto tiling = Tiling::powers_of_two(c.domain, {c.side, c.side, c.side}, sides.sources);
  for (int s = 0; s < sides.sources; ++s) {
    std::vector<Box> boxes;
    for (const auto& place : tiling.places_of(s)) boxes.push_back(place.box);
    std::vector<Piece> mine;
    for (const auto& moves : layout::plan_moves(boxes, wanted))
      for (const auto& move : moves.moves)
        mine.push_back({s, sides.sources + moves.rank, move.from, move.region});
    std::stable_sort(mine.begin(), mine.end(),
                     [](const Piece& a, const Piece& b) { return a.from < b.from; });
    pieces.insert(pieces.end(), mine.begin(), mine.end());
  }
  return pieces;
}

/// One blocking message for each part of a box; receivers take the boxes of one source after the
/// other, into memory aside, and copy them from there.
void carry_by_box(const Sides& sides, const std::vector<Piece>& pieces, const FieldArrays& field,
                  std::vector<double>& aside) {
  const int rank = sides.world.rank();
  auto* memory = reinterpret_cast<std::byte*>(aside.data());
  for (const auto& piece : pieces) {
    const auto count = static_cast<int>(piece.region.volume() * field.components);
    const auto packed = layout::packed_at(memory, piece.region, field.components);
    if (piece.source == rank) {
      layout::copy_region(packed, field.from[static_cast<size_t>(piece.from)], piece.region,
                          {0, 0, 0}, field.components, 8);
      MPI_Send(memory, count, MPI_DOUBLE, piece.target, 1, sides.world.handle());
    } else if (piece.target == rank) {
      MPI_Recv(memory, count, MPI_DOUBLE, piece.source, 1, sides.world.handle(), MPI_STATUS_IGNORE);
      layout::copy_region(field.to.front(), {memory, packed.lo, packed.strides}, piece.region,
                          {0, 0, 0}, field.components, 8);
    }
  }
}

struct Contiguous {
  std::vector<int> give, give_at, take, take_at;
  std::vector<double> from, to;

  Contiguous(const Sides& sides, const std::vector<Piece>& pieces, int32_t components) {
    const auto n = static_cast<size_t>(sides.world.size());
    give.assign(n, 0), take.assign(n, 0);
    for (const auto& p : pieces) {
      const auto count = static_cast<int>(p.region.volume() * components);
      if (p.source == sides.world.rank()) give[static_cast<size_t>(p.target)] += count;
      if (p.target == sides.world.rank()) take[static_cast<size_t>(p.source)] += count;
    }
    give_at.assign(n, 0), take_at.assign(n, 0);
    std::exclusive_scan(give.begin(), give.end(), give_at.begin(), 0);
    std::exclusive_scan(take.begin(), take.end(), take_at.begin(), 0);
    from.assign(static_cast<size_t>(give_at.back() + give.back()), 1.0);
    to.assign(static_cast<size_t>(take_at.back() + take.back()), 0.0);
  }
  void carry(MPI_Comm comm) {
    MPI_Alltoallv(from.data(), give.data(), give_at.data(), MPI_DOUBLE, to.data(), take.data(),
                  take_at.data(), MPI_DOUBLE, comm);
  }
};

struct Shares {
  double of_alltoallv, of_boxes, of_messages;
};

Shares measure(const Sides& sides, const Case& c) {
  const layout::Wanted wanted{Tiling::blocks(c.domain, 3, sides.targets), {0, 0, 0}, {}};
  redistribution::TransferMemory memory(redistribution::Neighbours(sides.world), size_t{1} << 30);
  Redistribution plan(sides.world, boxes_here(sides, c.domain, c.side), wanted, sides.owners(),
                      &memory);
  Redistribution distant(sides.world, boxes_here(sides, c.domain, c.side), wanted, sides.owners());
  Field field(plan, c.components);
  const auto pieces = all_pieces(sides, c, wanted);
  Contiguous contiguous(sides, pieces, c.components);
  std::vector<double> aside(size_t{1} << (3 * c.side) << 4);
  std::vector<double> ours, theirs, by_box, by_message;
  const auto carry = [&] { plan.exchange(std::span(&field.arrays, 1)); };
  const auto ready = [&] { contiguous.carry(sides.world.handle()); };
  const auto boxes = [&] { carry_by_box(sides, pieces, field.arrays, aside); };
  const auto messages = [&] { distant.exchange(std::span(&field.arrays, 1)); };
  carry(), ready(), boxes(), messages();
  // In turns, so that all meet the same machine.
  for (int r = 0; r < repetitions; ++r) {
    ours.push_back(bench::seconds_of(carry));
    theirs.push_back(bench::seconds_of(ready));
    by_box.push_back(bench::seconds_of(boxes));
    by_message.push_back(bench::seconds_of(messages));
  }
  const double a = median(ours), b = median(theirs), d = median(by_box), e = median(by_message);
  const double bytes = static_cast<double>(c.domain.volume()) * c.components * 8;
  if (sides.world.rank() == 0)
    std::printf(
        "{\"bench\": \"redistribute\", \"case\": \"%s\", \"sources\": %d, \"targets\": %d, "
        "\"boxes\": %lld, \"bytes\": %.0f, \"seconds\": %.3g, \"alltoallv_seconds\": %.3g, "
        "\"by_box_seconds\": %.3g, \"by_message_seconds\": %.3g}\n",
        c.name, sides.sources, sides.targets,
        static_cast<long long>(c.domain.volume() >> (3 * c.side)), bytes, a, b, d, e);
  return {b / a, d / a, e / a};
}

double planning(const Sides& sides, int64_t tiles) {
  const Box domain{{0, 0, 0}, {8 * tiles, 8 * tiles, 8 * tiles}};
  const layout::Wanted wanted{Tiling::blocks(domain, 3, sides.targets), {0, 0, 0}, {}};
  const auto boxes = boxes_here(sides, domain, 3);
  std::vector<double> times;
  for (int r = 0; r < 3; ++r)
    times.push_back(
        bench::seconds_of([&] { Redistribution(sides.world, boxes, wanted, sides.owners()); }));
  return median(times);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const comm::Communicator world(MPI_COMM_WORLD);
    const Sides sides{world};
    if (world.size() < 2) {
      std::fputs("redistribute: run me on 2 to 8 ranks\n", stderr);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const auto large = measure(sides, {"32^3x10", {{0, 0, 0}, {128, 128, 64}}, 5, 10});
    const auto small = measure(sides, {"8^3x1", {{0, 0, 0}, {128, 128, 128}}, 3, 1});
    const double e4 = planning(sides, 22), e5 = planning(sides, 47), e6 = planning(sides, 100);
    if (world.rank() == 0)
      std::printf(
          "bench redistribute: ranks=%d alltoallv_share_32=%.2f alltoallv_share_8=%.2f "
          "times_by_box_32=%.1f times_by_box_8=%.1f times_by_message_32=%.2f "
          "times_by_message_8=%.2f plan_1e4=%.3g plan_1e5=%.3g plan_1e6=%.3g\n",
          world.size(), large.of_alltoallv, small.of_alltoallv, large.of_boxes, small.of_boxes,
          large.of_messages, small.of_messages, e4, e5, e6);
  }
  MPI_Finalize();
  return 0;
}
