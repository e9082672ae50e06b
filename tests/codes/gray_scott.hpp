// SPDX-License-Identifier: BSD-3-Clause
// A reaction and diffusion of two substances (Gray and Scott): rows of cells for each rank, with a
// ghost row at either end, and both substances of a cell side by side in memory.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace gray_scott {

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

  [[nodiscard]] int nx() const { return nx_; }
  [[nodiscard]] int first() const { return first_; }  ///< row of the whole dish
  [[nodiscard]] int rows() const { return rows_; }
  /// All rows of the rank, with the ghost row at either end.
  [[nodiscard]] Cell* cells() { return now_.data(); }
  [[nodiscard]] size_t count() const { return now_.size(); }

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
};

}  // namespace gray_scott
