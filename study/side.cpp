// SPDX-License-Identifier: BSD-3-Clause
// Nodes are distinguished by their names; messages between them go a few at a time.
#include "side.hpp"

#include <mpi.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "simulated.hpp"

namespace study {
namespace {

constexpr double flops_per_second = 1e9;  // as in the platform
constexpr double message_seconds = 4e-7;  // of CPU on either side, as for messages that are sent
constexpr size_t room = size_t{1} << 32;  // no memory is behind it

/// By rank of the world, from all of them.
std::vector<std::string> host_names() {
  static std::vector<std::string> names;
  int rank = 0, ranks = 1, length = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Get_processor_name(name, &length);
  if (rank == 0) names.resize(static_cast<size_t>(ranks));
  MPI_Barrier(MPI_COMM_WORLD);
  names[static_cast<size_t>(rank)] = name;
  MPI_Barrier(MPI_COMM_WORLD);
  return names;
}

double* anything() {
  static auto* memory = static_cast<double*>(SMPI_SHARED_MALLOC(room));
  return memory;
}

}  // namespace

void spend(double seconds) {
  if (seconds > 0) smpi_execute_flops(seconds * flops_per_second);
}

Side::Side(int first, int count, int number) : number_(number) {
  const auto names = host_names();
  for (int r = 0; r < count; ++r) {
    const auto at = static_cast<size_t>(first + r);
    const bool is_new = r > 0 && names[at] != names[at - 1];
    node_of_.push_back(r == 0 ? 0 : node_of_.back() + (is_new ? 1 : 0));
  }
  const pillion::comm::Communicator world(MPI_COMM_WORLD);
  if (world.rank() >= first && world.rank() < first + count) rank_ = world.rank() - first;
  all_ = world.split(has_me() ? 0 : -1);
  on_node_ = world.split(has_me() ? node() : -1);
  place_ = has_me() ? on_node_.rank() : -1;
  leaders_ = world.split(place_ == 0 ? 0 : -1);
}

std::array<std::shared_ptr<const void>, 2>& Side::slots() {
  static std::array<std::shared_ptr<const void>, 2> all;
  return all;
}

void Side::reduce(int64_t bytes) const {
  MPI_Allreduce(MPI_IN_PLACE, anything(), static_cast<int>(bytes / 8), MPI_DOUBLE, MPI_MAX,
                leaders_.handle());
}

double Side::most(const std::function<double(int rank)>& of_rank) const {
  double most = 0;
  for (int r = 0; r < ranks(); ++r)
    if (node_of(r) == node()) most = std::max(most, of_rank(r));
  return most;
}

Exchange::Exchange(const Side& side,
                   const std::function<std::vector<Consignment>(int rank)>& of_rank)
    : side_(&side) {
  table_ = side.common<Table>([&] {
    const auto nodes = static_cast<size_t>(side.nodes()), ranks = static_cast<size_t>(side.ranks());
    Table table;
    table.bytes.assign(nodes, std::vector<double>(nodes));
    for (auto* of : {&table.packed, &table.unpacked, &table.messages}) of->assign(ranks, 0);
    for (int r = 0; r < side.ranks(); ++r)
      for (const auto& [to, bytes] : of_rank(r)) {
        const auto from = static_cast<size_t>(r), there = static_cast<size_t>(to);
        table.packed[from] += bytes;
        if (to == r) continue;
        table.unpacked[there] += bytes;
        ++table.messages[from], ++table.messages[there];
        const auto a = static_cast<size_t>(side.node_of(r)),
                   b = static_cast<size_t>(side.node_of(to));
        if (a != b) table.bytes[a][b] += bytes;
      }
    return table;
  });
  const auto of = [&](const std::vector<double>& values) {
    return side.most([&](int r) { return values[static_cast<size_t>(r)]; });
  };
  packed_ = of(table_->packed);
  unpacked_ = of(table_->unpacked);
  messages_ = of(table_->messages);
}

// All nodes take the others in the same order of distances, so that none waits for one that is
// still busy with others. The order jumps about, so that not all take the same way at once.
void Exchange::operator()(double factor) const {
  constexpr size_t at_once = 8;
  spend(factor * packed_ / copy_rate + messages_ * message_seconds);
  const int nodes = side_->nodes(), me = side_->node();
  int jump = std::max(1, nodes * 618 / 1000);
  while (std::gcd(jump, nodes) != 1) ++jump;
  std::vector<MPI_Request> requests;
  size_t begun = 0;
  const auto count = [&](int from, int to) {
    const double bytes = table_->bytes[static_cast<size_t>(from)][static_cast<size_t>(to)];
    return static_cast<int>(factor * bytes / sizeof(double));
  };
  for (int n = 1; n < nodes; ++n) {
    const int distance = static_cast<int>(int64_t{n} * jump % nodes);
    const int to = (me + distance) % nodes, from = (me + nodes - distance) % nodes;
    const auto comm = side_->leaders().handle();
    if (count(from, me) > 0)
      MPI_Irecv(anything(), count(from, me), MPI_DOUBLE, from, 1, comm, &requests.emplace_back());
    if (count(me, to) > 0)
      MPI_Isend(anything(), count(me, to), MPI_DOUBLE, to, 1, comm, &requests.emplace_back());
    if (++begun % at_once != 0 && n + 1 < nodes) continue;
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    requests.clear();
  }
  spend(factor * unpacked_ / copy_rate);
}

}  // namespace study
