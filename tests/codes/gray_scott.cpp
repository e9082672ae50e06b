// SPDX-License-Identifier: BSD-3-Clause
// The simulation of gray_scott.hpp as a code with a Catalyst adaptor of its own. It knows nothing
// of Pillion.
//   gray_scott NX NY STEPS EVERY
#include "gray_scott.hpp"

#include <catalyst.hpp>
#include <cstdint>
#include <cstdio>

using gray_scott::Cell;
using gray_scott::Simulation;

namespace {

/// The node of a step; it points at the simulation's memory and the flags of ghost cells.
void describe(Simulation& dish, std::vector<uint8_t>& ghosts, conduit_cpp::Node& node, int step) {
  node["catalyst/state/timestep"].set_int64(step);
  node["catalyst/state/time"].set_float64(step);
  auto channel = node["catalyst/channels/dish"];
  channel["type"] = "mesh";
  auto mesh = channel["data"];
  auto coords = mesh["coordsets/coords"];
  coords["type"] = "uniform";
  coords["dims/i"].set_int32(dish.nx() + 1);
  coords["dims/j"].set_int32(dish.rows() + 3);
  coords["origin/x"].set_float64(0);
  coords["origin/y"].set_float64(dish.first() - 1);
  mesh["topologies/cells/type"] = "uniform";
  mesh["topologies/cells/coordset"] = "coords";
  const size_t count = dish.count();
  auto both = mesh["fields/concentration"];
  both["association"] = "element";
  both["topology"] = "cells";
  both["values/u"].set_external(&dish.cells()->u, count, 0, sizeof(Cell));
  both["values/v"].set_external(&dish.cells()->v, count, 0, sizeof(Cell));
  auto flags = mesh["fields/vtkGhostType"];
  flags["association"] = "element";
  flags["topology"] = "cells";
  flags["values"].set_external(ghosts.data(), count);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5) return 2;
  const int steps = std::atoi(argv[3]), every = std::atoi(argv[4]);
  Simulation dish(std::atoi(argv[1]), std::atoi(argv[2]), MPI_COMM_WORLD);
  std::vector<uint8_t> ghosts(dish.count(), 0);
  std::fill_n(ghosts.begin(), dish.nx(), 1);
  std::fill_n(ghosts.end() - dish.nx(), dish.nx(), 1);
  conduit_cpp::Node start, end;
  start["catalyst/mpi_comm"].set_int64(MPI_Comm_c2f(MPI_COMM_WORLD));
  if (catalyst_initialize(conduit_cpp::c_node(&start)) != catalyst_status_ok)
    std::puts("no analysis: catalyst_initialize failed");
  MPI_Barrier(MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::puts("begins"), std::fflush(stdout);
  const double begin = MPI_Wtime();
  for (int step = 0; step <= steps; ++step) {
    if (step > 0) dish.advance();
    if (step % every != 0) continue;
    conduit_cpp::Node node;
    describe(dish, ghosts, node, step);
    if (catalyst_execute(conduit_cpp::c_node(&node)) != catalyst_status_ok)
      std::printf("step %d: catalyst_execute failed\n", step);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - begin;
  catalyst_finalize(conduit_cpp::c_node(&end));
  if (rank == 0) std::printf("microseconds per step: %.3f\n", 1e6 * seconds / steps);
  return MPI_Finalize();
}
