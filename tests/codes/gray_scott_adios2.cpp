// SPDX-License-Identifier: BSD-3-Clause
// The simulation of gray_scott.hpp as a code that writes with ADIOS2. It knows nothing of Pillion.
//   gray_scott_adios2 NX NY STEPS EVERY
#include <adios2.h>

#include <cstdint>
#include <cstdio>

#include "gray_scott.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5) return 2;
  const int nx = std::atoi(argv[1]), ny = std::atoi(argv[2]);
  const int steps = std::atoi(argv[3]), every = std::atoi(argv[4]);
  {
    gray_scott::Simulation dish(nx, ny, MPI_COMM_WORLD);
    adios2::ADIOS adios("adios2.xml");
    auto io = adios.DeclareIO("output");
    const adios2::Dims shape{size_t(ny), size_t(nx), 2}, start{size_t(dish.first()), 0, 0};
    const adios2::Dims count{size_t(dish.rows()), size_t(nx), 2};
    auto concentration = io.DefineVariable<double>("concentration", shape, start, count);
    auto number = io.DefineVariable<int64_t>("step");
    auto engine = io.Open("dish.bp", adios2::Mode::Write);
    MPI_Barrier(MPI_COMM_WORLD);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) std::puts("begins"), std::fflush(stdout);
    for (int step = 0; step <= steps; ++step) {
      if (step > 0) dish.advance();
      if (step % every != 0) continue;
      engine.BeginStep();
      engine.Put(number, int64_t{step});
      engine.Put(concentration, &dish.cells()[nx].u);
      engine.EndStep();
    }
    engine.Close();
  }
  return MPI_Finalize();
}
