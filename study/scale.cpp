// SPDX-License-Identifier: BSD-3-Clause
// One point of the scale study: a mesh in 32^3 boxes goes from the simulation ranks to the analysis
// ranks, once by the library's Redistribution and once box by box. Prints one line of JSON; times
// are simulated. Run it by run.sh.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "by_box.hpp"
#include "redistribution/exchange.hpp"
#include "simulated.hpp"

namespace {

using namespace pillion;
using namespace study;
using redistribution::FieldArrays;
using redistribution::Redistribution;

constexpr int side = 5;  // boxes of 32^3
constexpr int cores = 24;

struct Case {
  int64_t cells;
  int components;
  int targets;
  int broadcasts;     ///< how many are simulated; their number is known
  bool has_blocks;    ///< one block for each analysis rank, or whole boxes by the curve?
  bool is_scattered;  ///< box by box: to the analysis ranks in turn
  int sources = 0;
  [[nodiscard]] Box domain() const { return {{0, 0, 0}, {cells, cells, cells}}; }
  [[nodiscard]] Tiling from() const {
    return Tiling::powers_of_two(domain(), {side, side, side}, sources);
  }
  [[nodiscard]] layout::Wanted wanted() const {
    auto tiling = has_blocks ? Tiling::blocks(domain(), 3, targets)
                             : Tiling::powers_of_two(domain(), {side, side, side}, targets);
    return {std::move(tiling), {0, 0, 0}, {}};
  }
  [[nodiscard]] double bytes() const {
    return static_cast<double>(domain().volume()) * components * 8;
  }
};

/// What one rank found.
struct Found {
  double planned = 0, carried = 0, copied = 0;
  double bytes = 0;  ///< received
  size_t messages = 0;
  Broadcasts broadcasts;
  double by_box = 0;
  Spent spent;
};

// Common to all ranks: each writes its own.
std::vector<Found> found;
std::vector<std::vector<Piece>> pieces_of;

void share_pieces(const Case& c) {
  pieces_of.resize(static_cast<size_t>(c.sources + c.targets));
  for (const auto& piece : all_pieces(c.from(), c.wanted(), c.is_scattered)) {
    pieces_of[static_cast<size_t>(piece.source)].push_back(piece);
    pieces_of[static_cast<size_t>(piece.target)].push_back(piece);
  }
}

/// Places without memory behind them: nothing is read or written in the simulation.
FieldArrays field_of(const Redistribution& plan, int components) {
  FieldArrays field;
  field.components = components;
  field.from.resize(plan.here().size());
  field.to.resize(plan.boxes().size());
  return field;
}

void carry_as_planned(const comm::Communicator& world, const Case& c, Found& mine) {
  std::vector<Box> here;
  if (world.rank() < c.sources)
    for (const auto& place : c.from().places_of(world.rank())) here.push_back(place.box);
  std::vector<int> owners(static_cast<size_t>(c.targets));
  std::iota(owners.begin(), owners.end(), c.sources);
  world.barrier();
  const double begin = MPI_Wtime();
  Redistribution plan(world, here, c.wanted(), owners);
  mine.planned = MPI_Wtime() - begin;
  const FieldArrays field = field_of(plan, c.components);
  seconds_copied();
  const double planned = begin_together();
  plan.exchange(std::span(&field, 1));
  mine.carried = MPI_Wtime() - planned;
  mine.copied = seconds_copied();
  mine.messages = plan.messages_sent();
  mine.bytes = static_cast<double>(plan.cells_received()) * c.components * 8;
}

void carry_boxes(const comm::Communicator& world, const Case& c, Found& mine) {
  if (world.rank() == 0) share_pieces(c);
  world.barrier();
  mine.broadcasts = time_broadcasts(c.sources, c.broadcasts);
  const double begin = begin_together();
  mine.spent = carry_by_box(pieces_of[static_cast<size_t>(world.rank())], c.components);
  mine.by_box = MPI_Wtime() - begin;
}

template <class Value>
double most(size_t first, size_t last, Value&& value) {
  double out = 0;
  for (size_t r = first; r < last; ++r) out = std::max(out, static_cast<double>(value(found[r])));
  return out;
}

template <class Value>
double mean(size_t first, size_t last, Value&& value) {
  double out = 0;
  for (size_t r = first; r < last; ++r) out += static_cast<double>(value(found[r]));
  return out / static_cast<double>(last - first);
}

/// Bytes that the fullest analysis node gets.
double fullest_node(const Case& c) {
  const int nodes = (c.targets + cores - 1) / cores;
  std::vector<double> bytes(static_cast<size_t>(nodes));
  for (int t = 0; t < c.targets; ++t)
    bytes[static_cast<size_t>(t) * static_cast<size_t>(nodes) / static_cast<size_t>(c.targets)] +=
        found[static_cast<size_t>(c.sources + t)].bytes;
  return *std::max_element(bytes.begin(), bytes.end());
}

void print(const Case& c) {
  const auto s = static_cast<size_t>(c.sources), all = found.size();
  const auto boxes = static_cast<double>(c.from().tiles());
  std::printf(
      "{\"cells\": %lld, \"components\": %d, \"sources\": %d, \"targets\": %d, \"layout\": \"%s\", "
      "\"target_nodes\": %d, \"boxes\": %.0f, \"bytes\": %.0f, \"fullest_node_bytes\": %.0f, ",
      static_cast<long long>(c.cells), c.components, c.sources, c.targets,
      c.has_blocks     ? "blocks"
      : c.is_scattered ? "scattered"
                       : "boxes",
      (c.targets + cores - 1) / cores, boxes, c.bytes(), fullest_node(c));
  std::printf(
      "\"planned_seconds\": %.6g, \"seconds\": %.6g, \"messages\": %.0f, "
      "\"pack_seconds_most\": %.6g, \"unpack_seconds_most\": %.6g, ",
      most(0, all, [](auto& f) { return f.planned; }),
      most(0, all, [](auto& f) { return f.carried; }),
      mean(0, all, [](auto& f) { return f.messages; }) * static_cast<double>(all),
      most(0, s, [](auto& f) { return f.copied; }), most(s, all, [](auto& f) { return f.copied; }));
  const double each = most(0, all, [](auto& f) { return f.broadcasts.each; });
  std::printf(
      "\"broadcast_seconds_alone\": %.6g, \"broadcast_seconds_each\": %.6g, "
      "\"broadcasts_simulated\": %d, \"broadcast_seconds\": "
      "%.6g, "
      "\"by_box_message_seconds\": %.6g, \"receiver_waits_for_sender\": %.6g, "
      "\"receiver_takes_values\": %.6g, \"receiver_copies\": %.6g, \"sender_blocked\": %.6g}\n",
      most(0, all, [](auto& f) { return f.broadcasts.alone; }), each, c.broadcasts,
      each * 3 * boxes, most(0, all, [](auto& f) { return f.by_box; }),
      mean(s, all, [](auto& f) { return f.spent.sizes; }),
      mean(s, all, [](auto& f) { return f.spent.values; }),
      mean(s, all, [](auto& f) { return f.spent.copying; }),
      mean(0, s, [](auto& f) { return f.spent.sizes + f.spent.values; }));
  std::fflush(stdout);
}

}  // namespace

// Else hidden, so that the linker drops what is not used of the library.
__attribute__((visibility("default"))) int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const comm::Communicator world(MPI_COMM_WORLD);
    if (argc != 6) {
      if (world.rank() == 0)
        std::fputs(
            "scale: usage: scale CELLS COMPONENTS TARGETS BROADCASTS boxes|blocks|scattered\n",
            stderr);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    Case c{std::atoll(argv[1]),
           std::atoi(argv[2]),
           std::atoi(argv[3]),
           std::atoi(argv[4]),
           std::strcmp(argv[5], "blocks") == 0,
           std::strcmp(argv[5], "scattered") == 0};
    c.sources = world.size() - c.targets;
    if (world.rank() == 0) found.resize(static_cast<size_t>(world.size()));
    world.barrier();
    Found& mine = found[static_cast<size_t>(world.rank())];
    carry_as_planned(world, c, mine);
    carry_boxes(world, c, mine);
    world.barrier();
    if (world.rank() == 0) print(c);
  }
  MPI_Finalize();
  return 0;
}
