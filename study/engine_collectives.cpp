// SPDX-License-Identifier: BSD-3-Clause
// The algorithms of the collectives.
#include "engine_collectives.hpp"

#include <bit>
#include <cstring>

namespace study {
namespace {

using Buffer = std::vector<std::byte, Uncounted<std::byte>>;

}  // namespace

Collective reduce(Wire wire, void* values, int count, MPI_Datatype type, MPI_Op op) {
  const auto size = static_cast<size_t>(size_of(count, type));
  const int paired = static_cast<int>(std::bit_floor(static_cast<unsigned>(wire.ranks())));
  const int rank = wire.rank(), beyond = wire.ranks() - paired;
  Buffer theirs(size), mine(size);
  if (rank >= paired) {
    co_await wire.send(rank - paired, values, size);
    co_await wire.receive(rank - paired, values, size);
    co_return;
  }
  if (rank < beyond) {
    co_await wire.receive(rank + paired, theirs.data(), size);
    PMPI_Reduce_local(theirs.data(), values, count, type, op);
  }
  for (int distance = 1; distance < paired; distance *= 2) {
    std::memcpy(mine.data(), values, size);
    co_await wire.swap(rank ^ distance, mine.data(), size, rank ^ distance, theirs.data(), size);
    PMPI_Reduce_local(theirs.data(), values, count, type, op);
  }
  if (rank < beyond) co_await wire.send(rank + paired, values, size);
}

Collective meet(Wire wire) {
  for (int distance = 1; distance < wire.ranks(); distance *= 2)
    co_await wire.swap((wire.rank() + distance) % wire.ranks(), nullptr, 0,
                       (wire.rank() - distance + wire.ranks()) % wire.ranks(), nullptr, 0);
}

Collective broadcast(Wire wire, void* data, size_t size, int root) {
  const int ranks = wire.ranks(), rank = (wire.rank() - root + ranks) % ranks;
  const auto real = [&](int which) { return (which + root) % ranks; };
  int distance = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
  if (rank != 0) {
    distance = 1 << std::countr_zero(static_cast<unsigned>(rank));
    co_await wire.receive(real(rank - distance), data, size);
  }
  for (distance /= 2; distance > 0; distance /= 2)
    if (rank + distance < ranks) co_await wire.send(real(rank + distance), data, size);
}

Collective gather_all(Wire wire, const void* own, size_t each, void* out) {
  const int ranks = wire.ranks(), rank = wire.rank();
  Buffer all(each * static_cast<size_t>(ranks));
  std::memcpy(all.data(), own, each);
  for (int have = 1; have < ranks; have *= 2) {
    const auto size = each * static_cast<size_t>(std::min(have, ranks - have));
    co_await wire.swap((rank - have + ranks) % ranks, all.data(), size, (rank + have) % ranks,
                       all.data() + each * static_cast<size_t>(have), size);
  }
  for (int r = 0; r < ranks; ++r)
    std::memcpy(static_cast<std::byte*>(out) + each * static_cast<size_t>((rank + r) % ranks),
                all.data() + each * static_cast<size_t>(r), each);
}

}  // namespace study
