// SPDX-License-Identifier: BSD-3-Clause
// Facts go up a binomial tree, and the whole comes down as a broadcast.
#include "agreement.hpp"

#include <cstdint>

namespace pillion::catalyst {

namespace {

constexpr int tag = 1;

void send(const std::string& text, int to, MPI_Comm comm) {
  const auto size = static_cast<int64_t>(text.size());
  MPI_Send(&size, 1, MPI_INT64_T, to, tag, comm);
  MPI_Send(text.data(), static_cast<int>(size), MPI_CHAR, to, tag, comm);
}

std::string receive(int from, MPI_Comm comm) {
  int64_t size = 0;
  MPI_Recv(&size, 1, MPI_INT64_T, from, tag, comm, MPI_STATUS_IGNORE);
  std::string text(static_cast<size_t>(size), '\0');
  MPI_Recv(text.data(), static_cast<int>(size), MPI_CHAR, from, tag, comm, MPI_STATUS_IGNORE);
  return text;
}

}  // namespace

std::string broadcast(std::string text, MPI_Comm comm) {
  auto size = static_cast<int64_t>(text.size());
  MPI_Bcast(&size, 1, MPI_INT64_T, 0, comm);
  text.resize(static_cast<size_t>(size));
  MPI_Bcast(text.data(), static_cast<int>(size), MPI_CHAR, 0, comm);
  return text;
}

Facts agree(Facts mine, MPI_Comm comm) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  // In round n, ranks with bit n set hand their facts to the rank without it, and are done. The
  // receiver waits for a rank that has come to this call, or will: it is collective.
  for (int bit = 1; bit < ranks; bit *= 2) {
    if ((rank & bit) != 0) {
      send(to_text(mine), rank - bit, comm);
      break;
    }
    if (rank + bit < ranks) merge(mine, read_facts(receive(rank + bit, comm)));
  }
  return read_facts(broadcast(rank == 0 ? to_text(mine) : std::string(), comm));
}

}  // namespace pillion::catalyst
