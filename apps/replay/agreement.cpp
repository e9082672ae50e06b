// SPDX-License-Identifier: BSD-3-Clause
// Agreement by a reduction and a broadcast.
#include "replay/agreement.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <pillion/error.hpp>

namespace replay {
namespace {

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

/// Messages of MPI count with int.
void broadcast(MPI_Comm comm, std::string& text, int root) {
  auto size = static_cast<int64_t>(text.size());
  MPI_Bcast(&size, 1, MPI_INT64_T, root, comm);
  text.resize(static_cast<size_t>(size));
  constexpr int64_t most = int64_t{1} << 30;
  for (int64_t at = 0; at < size; at += most)
    MPI_Bcast(text.data() + at, static_cast<int>(std::min(most, size - at)), MPI_CHAR, root, comm);
}

}  // namespace

void together(MPI_Comm comm, const std::function<void()>& work) {
  std::string failure;
  bool failed = false;
  try {
    work();
  } catch (const std::exception& error) {
    failed = true;
    failure = error.what();
  }
  constexpr int nobody = std::numeric_limits<int>::max();
  int first = failed ? rank_in(comm) : nobody;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == nobody) return;
  broadcast(comm, failure, first);
  throw pillion::Error(pillion::ErrorCode::File, failure);
}

std::string from_first(MPI_Comm comm, const std::function<std::string()>& work) {
  std::string result;
  together(comm, [&] {
    if (rank_in(comm) == 0) result = work();
  });
  broadcast(comm, result, 0);
  return result;
}

}  // namespace replay
