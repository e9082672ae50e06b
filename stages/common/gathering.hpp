// SPDX-License-Identifier: BSD-3-Clause
// What peers send to each other to make one thing together: to each what belongs to its part of it,
// and all finished parts to the first.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <pillion/stage.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pillion::stages {

/// Peers that fail before they get here make the others fail, too; so nobody waits for ever.
/// [peers]
inline void agree(const stage::Step& step) {
  int64_t nothing = 0;
  step.sum(std::span(&nothing, 1));
}

/// Sends out[p] to peer p; what all have sent to this one, in the order of peers. [peers]
template <class T>
std::vector<T> send_to_owners(const stage::Step& step, std::vector<std::vector<T>> out) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto peers = static_cast<size_t>(step.peers());
  if (peers == 1) return std::move(out[0]);
  MPI_Datatype one;
  std::vector<int> counts(peers), places(peers), from_counts(peers), from_places(peers);
  std::vector<T> all;
  const auto expect_countable = [](uint64_t records) {
    if (records > INT_MAX)
      throw Error(ErrorCode::Stage, "a peer would have to send or get " + std::to_string(records) +
                                        " records, more than MPI can count; use more ranks");
  };
  size_t total = 0;
  for (size_t p = 0; p < peers; ++p) {
    places[p] = static_cast<int>(total);
    counts[p] = static_cast<int>(out[p].size());
    total += out[p].size();
    expect_countable(total);
  }
  all.reserve(total);
  for (auto& part : out) {
    all.insert(all.end(), part.begin(), part.end());
    part = {};
  }
  agree(step);
  const MPI_Comm comm = step.communicator();
  MPI_Alltoall(counts.data(), 1, MPI_INT, from_counts.data(), 1, MPI_INT, comm);
  int64_t coming = 0;
  for (size_t p = 0; p < peers; ++p) {
    from_places[p] = static_cast<int>(coming);
    coming += from_counts[p];
  }
  expect_countable(static_cast<uint64_t>(coming));
  std::vector<T> in(static_cast<size_t>(coming));
  agree(step);
  MPI_Type_contiguous(sizeof(T), MPI_BYTE, &one);
  MPI_Type_commit(&one);
  MPI_Alltoallv(all.data(), counts.data(), places.data(), one, in.data(), from_counts.data(),
                from_places.data(), one, comm);
  MPI_Type_free(&one);
  return in;
}

/// What all peers have, one after another, at the first. [peers]
template <class T>
std::vector<T> gathered(const stage::Step& step, std::vector<T> mine) {
  std::vector<std::vector<T>> out(static_cast<size_t>(step.peers()));
  out[0] = std::move(mine);
  return send_to_owners(step, std::move(out));
}

}  // namespace pillion::stages
