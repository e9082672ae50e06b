// SPDX-License-Identifier: BSD-3-Clause
// Runs the example stage on a ramp that rises with time, and compares its table with counts made
// here, value by value. Halfway it makes a checkpoint; `try_exceedance resume` resumes there,
// and must end with the table of an uninterrupted run.
#include <cstdio>
#include <fstream>
#include <pillion/session.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int64_t all_cells = 30, all_steps = 8, half = 4;
constexpr double thresholds[] = {9.5, 20.0};
constexpr auto table_path = "results/ramp/exceedance_ramp.csv";

double value(int64_t cell, int64_t step) { return static_cast<double>(cell + step); }

double expected_fraction(double threshold, int64_t step) {
  int64_t above = 0;
  for (int64_t cell = 0; cell < all_cells; ++cell) above += value(cell, step) > threshold ? 1 : 0;
  return static_cast<double>(above) / static_cast<double>(all_cells);
}

/// A rank's part of the ramp: every second value is shared, so that strides matter.
void simulate(pillion::Session& session, int64_t first, int64_t last) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(session.communicator(), &rank);
  MPI_Comm_size(session.communicator(), &ranks);
  const int64_t lo = all_cells * rank / ranks, hi = all_cells * (rank + 1) / ranks;
  std::vector<float> ramp(static_cast<size_t>(2 * (hi - lo)), -1.0F);
  const int64_t strides[] = {2, 1};
  session.share_strided("ramp", ramp.data(), pillion::Box({lo}, {hi}), strides);
  for (int64_t step = first; step < last; ++step) {
    for (int64_t cell = lo; cell < hi; ++cell)
      ramp[static_cast<size_t>(2 * (cell - lo))] = static_cast<float>(value(cell, step));
    session.step(step, 0.25 * static_cast<double>(step));
    if (step + 1 == half) session.checkpoint("checkpoint");
  }
}

/// Rows of the table, without its head.
std::vector<std::vector<double>> rows_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::vector<double>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.starts_with("step")) continue;
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(std::stod(cell));
  }
  return rows;
}

bool table_is_right() {
  const auto rows = rows_of(table_path);
  if (rows.size() != all_steps) {
    std::fprintf(stderr, "expected %d rows, found %zu\n", static_cast<int>(all_steps), rows.size());
    return false;
  }
  for (int64_t step = 0; step < all_steps; ++step) {
    const auto& row = rows[static_cast<size_t>(step)];
    const std::vector<double> expected = {
        static_cast<double>(step), 0.25 * static_cast<double>(step),
        expected_fraction(thresholds[0], step), expected_fraction(thresholds[1], step)};
    if (row == expected) continue;
    std::fprintf(stderr, "the row of step %d is wrong\n", static_cast<int>(step));
    return false;
  }
  return true;
}

bool run(const std::string& restart, int64_t first) {
  int ranks = 1, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::remove(table_path);  // what an earlier run left proves nothing
  MPI_Barrier(MPI_COMM_WORLD);
  pillion::Options options;
  options.set("sidecars", ranks > 1 ? 1 : 0).restart(restart);
  auto session = pillion::Session::open("pillion.yaml", MPI_COMM_WORLD, options);
  if (!session.serve()) simulate(session, first, all_steps);
  session.close();
  MPI_Barrier(MPI_COMM_WORLD);
  return rank != 0 || table_is_right();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool good = false;
  try {
    good = argc > 1 && std::string(argv[1]) == "resume" ? run("checkpoint", half) : run("", 0);
  } catch (const pillion::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  if (!good) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}
