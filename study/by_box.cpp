// SPDX-License-Identifier: BSD-3-Clause
// Blocking messages in the order of the boxes, on the sender's and on the receiver's side.
#include "by_box.hpp"

#include <algorithm>
#include <memory>
#include <tuple>

#include "simulated.hpp"

namespace study {

std::vector<Piece> all_pieces(const Tiling& from, const pillion::layout::Wanted& wanted,
                              bool scattered) {
  std::vector<Piece> pieces;
  for (int source = 0; source < from.ranks(); ++source) {
    std::vector<Box> boxes;
    for (const auto& place : from.places_of(source)) boxes.push_back(place.box);
    for (const auto& moves : pillion::layout::plan_moves(boxes, wanted))
      for (const auto& move : moves.moves)
        pieces.push_back({source, from.ranks() + moves.rank, boxes[static_cast<size_t>(move.from)],
                          move.region});
  }
  const auto corner = [](const Box& b) { return std::tuple(b.lo[2], b.lo[1], b.lo[0]); };
  std::sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) {
    return std::pair(corner(a.box), corner(a.region)) < std::pair(corner(b.box), corner(b.region));
  });
  for (size_t i = 0; scattered && i < pieces.size(); ++i)
    pieces[i].target = from.ranks() + static_cast<int>(i) % wanted.tiling.ranks();
  return pieces;
}

Spent carry_by_box(const std::vector<Piece>& mine, int components) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Spent spent;
  int64_t most = 0;
  for (const auto& piece : mine) most = std::max(most, piece.region.volume() * components);
  const auto memory = std::make_unique_for_overwrite<double[]>(static_cast<size_t>(most));
  for (const auto& piece : mine) {
    auto count = static_cast<int>(piece.region.volume() * components);
    const double begin = MPI_Wtime();
    if (piece.source == rank) MPI_Send(&count, 1, MPI_INT, piece.target, 1, MPI_COMM_WORLD);
    else MPI_Recv(&count, 1, MPI_INT, piece.source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double told = MPI_Wtime();
    if (piece.source == rank)
      MPI_Send(memory.get(), count, MPI_DOUBLE, piece.target, 2, MPI_COMM_WORLD);
    else
      MPI_Recv(memory.get(), count, MPI_DOUBLE, piece.source, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    spent.sizes += told - begin;
    spent.values += MPI_Wtime() - told;
    if (piece.source != rank) spend_copying(static_cast<size_t>(count) * sizeof(double));
  }
  spent.copying = seconds_copied();
  return spent;
}

Broadcasts time_broadcasts(int sources, int times) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool takes_part = rank == 0 || rank >= sources;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, rank, &comm);
  Broadcasts seconds;
  const double begin = begin_together();
  if (!takes_part) return seconds;
  int box[6] = {};
  for (int t = 0; t < times; ++t) {
    MPI_Bcast(box, 6, MPI_INT, 0, comm);
    if (t == 0) seconds.alone = MPI_Wtime() - begin;
  }
  seconds.each = (MPI_Wtime() - begin - seconds.alone) / (times - 1);
  MPI_Comm_free(&comm);
  return seconds;
}

}  // namespace study
