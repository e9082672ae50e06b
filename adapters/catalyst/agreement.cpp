// SPDX-License-Identifier: BSD-3-Clause
// Facts go up a binomial tree, and the whole comes down as a broadcast.
#include "agreement.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace pillion::catalyst {

namespace {

constexpr int tag = 1;
constexpr double none = std::numeric_limits<double>::max();

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

std::array<double, 6> bounds_of(const Key& key, const Description& description) {
  std::array<double, 6> bounds;
  bounds.fill(none);
  for (const auto& part : description.parts) {
    if (part.key != key) continue;
    for (size_t d = 0; d < part.coordinates.size(); ++d)
      for (int64_t i = 0; i < part.coordinates[d].count; ++i) {
        const double x = part.coordinates[d].real(i);
        bounds[d] = std::min(bounds[d], x);
        bounds[3 + d] = std::min(bounds[3 + d], -x);
      }
  }
  return bounds;
}

AgreedDomain agree_on_domain(const std::optional<pillion_domain>& given,
                             const std::array<double, 6>& bounds, MPI_Comm comm) {
  // One reduction finds the least of all: of the bounds, of a domain that is given, with other
  // signs for its upper end and for `periodic`, and of whether it is given.
  std::array<double, 16> least;
  least.fill(none);
  std::copy(bounds.begin(), bounds.end(), least.begin());
  for (size_t d = 0; d < 3 && given; ++d) {
    least[6 + d] = given->lo[d];
    least[9 + d] = -given->hi[d];
    least[12 + d] = -given->periodic[d];
  }
  least[15] = given ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, least.data(), least.size(), MPI_DOUBLE, MPI_MIN, comm);
  AgreedDomain out{.domain = {}, .is_given_by_all = least[15] > 0};
  for (size_t d = 0; d < 3; ++d) {
    const bool is_known = least[d] < none;
    const double extent = is_known ? -least[3 + d] - least[d] : 0;
    out.domain.lo[d] = is_known ? least[d] : 0;
    out.domain.hi[d] = out.domain.lo[d] + (extent > 0 ? extent * (1 + 1e-9) : 1);
    if (least[6 + d] == none) continue;
    out.domain.lo[d] = least[6 + d];
    out.domain.hi[d] = -least[9 + d];
    out.domain.periodic[d] = least[12 + d] < 0 ? 1 : 0;
  }
  return out;
}

}  // namespace pillion::catalyst
