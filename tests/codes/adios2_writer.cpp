// SPDX-License-Identifier: BSD-3-Clause
// The program adios2_writer.py in C++.
//   adios2_writer STEPS
#include <adios2.h>
#include <mpi.h>

#include <numeric>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const size_t nz = 12, ny = 5, nx = 4, steps = std::stoul(argv[1]);
  const auto of_rank = static_cast<size_t>(rank), all = static_cast<size_t>(ranks);
  {
    adios2::ADIOS adios("adios2.xml");
    auto io = adios.DeclareIO("output");
    auto of_density = io.DefineVariable<double>("density", {nz, ny, nx}, {0, 0, 0}, {1, ny, nx});
    auto of_column = io.DefineVariable<float>("column", {ny, nx}, {0, 0}, {ny, nx});
    auto of_charge = io.DefineVariable<double>("charge", {1}, {0}, {1});
    auto time = io.DefineVariable<double>("time");
    auto dt = io.DefineVariable<double>("dt");
    auto counter = io.DefineVariable<int64_t>("step");
    auto engine = io.Open("output.bp", adios2::Mode::Write);
    std::vector<double> density[2], charge;
    std::vector<float> column(ny * nx);
    for (size_t n = 0; n < steps; ++n) {
      engine.BeginStep();
      for (size_t half = 0; half < 2; ++half) {
        const size_t lo = nz * (2 * of_rank + half) / (2 * all);
        const size_t hi = nz * (2 * of_rank + half + 1) / (2 * all);
        auto& values = density[half];
        values.clear();
        for (size_t k = lo; k < hi; ++k)
          for (size_t j = 0; j < ny; ++j)
            for (size_t i = 0; i < nx; ++i)
              values.push_back(static_cast<double>(n + i + 10 * j + 100 * k));
        of_density.SetSelection({{lo, 0, 0}, {hi - lo, ny, nx}});
        engine.Put(of_density, values.data());
      }
      if (rank == 0) {
        std::iota(column.begin(), column.end(), static_cast<float>(n));
        engine.Put(of_column, column.data(), adios2::Mode::Sync);
        column.assign(column.size(), -1);
      }
      const size_t each = n + 2, count = of_rank + 1 < all ? each : 0;
      charge.resize(count);
      std::iota(charge.begin(), charge.end(), static_cast<double>(each * of_rank));
      of_charge.SetShape({each * (all - 1)});
      of_charge.SetSelection({{each * of_rank}, {count}});
      engine.Put(of_charge, charge.data());
      engine.Put(time, 0.5 * static_cast<double>(n));
      engine.Put(dt, 0.25 * static_cast<double>(n));
      engine.Put(counter, static_cast<int64_t>(10 * n));
      engine.EndStep();
    }
    engine.Close();
  }
  MPI_Finalize();
  return 0;
}
