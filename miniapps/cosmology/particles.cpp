// SPDX-License-Identifier: BSD-3-Clause
// Particles change ranks by one exchange among all, since they may go anywhere in one step.
#include "particles.hpp"

#include <cmath>
#include <numeric>

namespace cosmology {
namespace {

struct Traveller {
  int64_t id;
  Vector position;
  Vector momentum;
};

double wrapped(double x, double length) {
  x -= length * std::floor(x / length);
  return x < length ? x : 0;  // -1e-20 becomes the length itself
}

std::vector<Traveller> exchanged(const std::vector<std::vector<Traveller>>& leaving,
                                 MPI_Comm comm) {
  std::vector<int> sent, received(leaving.size());
  std::vector<Traveller> out;
  for (const auto& list : leaving) {
    sent.push_back(static_cast<int>(list.size()));
    out.insert(out.end(), list.begin(), list.end());
  }
  MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm);
  std::vector<Traveller> in(std::accumulate(received.begin(), received.end(), size_t{0}));
  MPI_Datatype type;
  MPI_Type_contiguous(sizeof(Traveller), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Alltoallv(out.data(), sent.data(), offsets(sent).data(), type, in.data(), received.data(),
                offsets(received).data(), type, comm);
  MPI_Type_free(&type);
  return in;
}

}  // namespace

void Particles::exchange(const Slabs& slabs) {
  int ranks = 0;
  MPI_Comm_size(slabs.comm, &ranks);
  std::vector<std::vector<Traveller>> leaving(ranks);
  size_t kept = 0;
  for (size_t i = 0; i < count(); ++i) {
    for (double& x : position[i]) x = wrapped(x, slabs.length);
    const int owner = slabs.owner[plane_of(position[i][2], slabs)];
    if (owner != slabs.rank) {
      leaving[owner].push_back({id[i], position[i], momentum[i]});
      continue;
    }
    id[kept] = id[i], position[kept] = position[i], momentum[kept] = momentum[i];
    ++kept;
  }
  id.resize(kept), position.resize(kept), momentum.resize(kept);
  for (const auto& t : exchanged(leaving, slabs.comm)) add(t.id, t.position, t.momentum);
}

}  // namespace cosmology
