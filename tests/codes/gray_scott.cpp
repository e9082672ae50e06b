// SPDX-License-Identifier: BSD-3-Clause
// A reaction and diffusion of two substances (Gray and Scott), as a code with a Catalyst adaptor of
// its own has it: rows of cells for each rank, with a ghost row at either end, and both substances
// of a cell side by side in memory. It knows nothing of Pillion.
//   gray_scott NX NY STEPS EVERY
#include <mpi.h>

#include <algorithm>
#include <catalyst.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr double feed = 0.037, kill = 0.06, diffusion_u = 0.16, diffusion_v = 0.08;

struct Cell {
  double u, v;
};

class Simulation {
 public:
  Simulation(int nx, int ny, MPI_Comm comm) : nx_(nx), comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    first_ = ny * rank_ / ranks_;
    rows_ = ny * (rank_ + 1) / ranks_ - first_;
    now_.assign(static_cast<size_t>(nx) * static_cast<size_t>(rows_ + 2), {1, 0});
    next_ = now_;
    for (int j = 1; j <= rows_; ++j)
      for (int i = 0; i < nx; ++i) {
        const int y = first_ + j - 1;
        const bool is_seed = std::abs(i - nx / 2) < nx / 16 && std::abs(y - ny / 2) < ny / 8;
        if (is_seed) at(now_, i, j) = {0.5, 0.25 + 0.01 * ((7 * i + 3 * y) % 11)};
      }
    ghosts_.assign(now_.size(), 0);
    std::fill_n(ghosts_.begin(), nx, 1);
    std::fill_n(ghosts_.end() - nx, nx, 1);
  }

  void advance() {
    exchange();
    for (int j = 1; j <= rows_; ++j)
      for (int i = 0; i < nx_; ++i) {
        const Cell &c = at(now_, i, j), &w = at(now_, (i + nx_ - 1) % nx_, j),
                   &e = at(now_, (i + 1) % nx_, j), &s = at(now_, i, j - 1),
                   &n = at(now_, i, j + 1);
        const double reaction = c.u * c.v * c.v;
        const double spread_u = w.u + e.u + s.u + n.u - 4 * c.u;
        const double spread_v = w.v + e.v + s.v + n.v - 4 * c.v;
        at(next_, i, j) = {c.u + diffusion_u * spread_u - reaction + feed * (1 - c.u),
                           c.v + diffusion_v * spread_v + reaction - (feed + kill) * c.v};
      }
    now_.swap(next_);
  }

  /// The node of a step; it points at the simulation's memory.
  void describe(conduit_cpp::Node& node, int step) {
    node["catalyst/state/timestep"].set_int64(step);
    node["catalyst/state/time"].set_float64(step);
    auto channel = node["catalyst/channels/dish"];
    channel["type"] = "mesh";
    auto mesh = channel["data"];
    auto coords = mesh["coordsets/coords"];
    coords["type"] = "uniform";
    coords["dims/i"].set_int32(nx_ + 1);
    coords["dims/j"].set_int32(rows_ + 3);
    coords["origin/x"].set_float64(0);
    coords["origin/y"].set_float64(first_ - 1);
    mesh["topologies/cells/type"] = "uniform";
    mesh["topologies/cells/coordset"] = "coords";
    const size_t count = now_.size();
    auto both = mesh["fields/concentration"];
    both["association"] = "element";
    both["topology"] = "cells";
    both["values/u"].set_external(&now_[0].u, count, 0, sizeof(Cell));
    both["values/v"].set_external(&now_[0].v, count, 0, sizeof(Cell));
    auto ghosts = mesh["fields/vtkGhostType"];
    ghosts["association"] = "element";
    ghosts["topology"] = "cells";
    ghosts["values"].set_external(ghosts_.data(), count);
  }

 private:
  Cell& at(std::vector<Cell>& cells, int i, int j) {
    return cells[static_cast<size_t>(i) + static_cast<size_t>(nx_) * static_cast<size_t>(j)];
  }
  /// Rows of the neighbours; the dish is periodic.
  void exchange() {
    const int below = (rank_ + ranks_ - 1) % ranks_, above = (rank_ + 1) % ranks_, count = 2 * nx_;
    MPI_Sendrecv(&at(now_, 0, 1), count, MPI_DOUBLE, below, 0, &at(now_, 0, rows_ + 1), count,
                 MPI_DOUBLE, above, 0, comm_, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&at(now_, 0, rows_), count, MPI_DOUBLE, above, 1, &at(now_, 0, 0), count,
                 MPI_DOUBLE, below, 1, comm_, MPI_STATUS_IGNORE);
  }

  int nx_, rank_ = 0, ranks_ = 1, first_ = 0, rows_ = 0;
  MPI_Comm comm_;
  std::vector<Cell> now_, next_;
  std::vector<uint8_t> ghosts_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5) return 2;
  const int steps = std::atoi(argv[3]), every = std::atoi(argv[4]);
  Simulation dish(std::atoi(argv[1]), std::atoi(argv[2]), MPI_COMM_WORLD);
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
    dish.describe(node, step);
    if (catalyst_execute(conduit_cpp::c_node(&node)) != catalyst_status_ok)
      std::printf("step %d: catalyst_execute failed\n", step);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - begin;
  catalyst_finalize(conduit_cpp::c_node(&end));
  if (rank == 0) std::printf("microseconds per step: %.3f\n", 1e6 * seconds / steps);
  return MPI_Finalize();
}
