// SPDX-License-Identifier: BSD-3-Clause
// What do constant fields cost at a publication, beside fields that may change? All ranks but the
// last simulate, and that is a sidecar, on the node or over the network. Each simulating rank has a
// block of 64^3 cells with one value that changes, and three that do not. Seconds of a step of the
// simulation, which then leaves the sidecar time to finish: with the three as fields that may
// change, as constant ones, and without them.
//   bench_constant [STEPS]
#include <mpi.h>
#include <pillion/pillion.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "timing.hpp"

namespace {

constexpr const char* file = "bench_constant.yaml";
constexpr int64_t side = 64;
enum class Others { Changing, Constant, None };

void check(pillion_status status) {
  if (status == PILLION_OK) return;
  std::fprintf(stderr, "constant: %s\n", pillion_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// A stage that reads one value of each cell, so that little but moving them takes time.
void write_configuration(bool by_node, Others others, int ranks) {
  std::ofstream out(file);
  out << "output: {path: bench_constant.out, if_exists: overwrite}\nsidecars: "
      << (by_node ? "{per_node: 1, memory: 1 GiB, when_full: wait}"
                  : "{ranks: 1, memory: 1 GiB, when_full: wait}")
      << "\nmeshes: {grid: {kind: uniform, cells: [" << side * (ranks - 1) << ", " << side << ", "
      << side << "]}}\nfields:\n  u: {mesh: grid, type: float64}\n";
  const char* constant = others == Others::Constant ? ", constant: true" : "";
  if (others != Others::None)
    for (const char* name : {"x", "y", "z"})
      out << "  " << name << ": {mesh: grid, type: float64" << constant << "}\n";
  out << "analyses:\n  a:\n    every: 1 steps\n    stages: [statistics: {fields: [u"
      << (others == Others::None ? "" : ", x, y, z") << "]}]\n";
}

/// Seconds of a step, the median of the slowest rank.
double play(pillion_session* session, Others others, int steps) {
  const MPI_Comm comm = pillion_communicator(session);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::array<std::vector<double>, 4> fields;
  const std::array names{"u", "x", "y", "z"};
  const int64_t lo[3] = {side * rank, 0, 0}, hi[3] = {side * (rank + 1), side, side};
  for (size_t f = 0; f < (others == Others::None ? 1 : names.size()); ++f) {
    fields[f].assign(static_cast<size_t>(side * side * side), static_cast<double>(f));
    check(pillion_share_box_typed(session, names[f], 0, lo, hi, fields[f].data(), PILLION_FLOAT64));
  }
  std::vector<double> step_seconds;
  constexpr int first = 3;  // values of constant fields move, and memory is found
  for (int step = 0; step < first + steps; ++step) {
    MPI_Barrier(comm);
    const auto before = bench::Clock::now();
    check(pillion_step(session, step, step));
    double seconds = std::chrono::duration<double>(bench::Clock::now() - before).count();
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
    if (step >= first) step_seconds.push_back(seconds);
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  }
  check(pillion_close(session));
  return bench::median(step_seconds);
}

double measure(bool by_node, Others others, int rank, int ranks, int steps) {
  if (rank == 0) write_configuration(by_node, others, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  pillion_session* session = nullptr;
  check(pillion_open(file, MPI_COMM_WORLD, &session));
  double out = 0;
  if (pillion_serve(session) == 0) out = play(session, others, steps);
  MPI_Barrier(MPI_COMM_WORLD);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  // Over the network, a thread moves messages while this program waits.
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int steps = argc > 1 ? std::atoi(argv[1]) : 25;
  std::string line;
  for (const bool by_node : {true, false}) {
    const char* name = by_node ? "node" : "network";
    const double changing = measure(by_node, Others::Changing, rank, ranks, steps);
    const double constant = measure(by_node, Others::Constant, rank, ranks, steps);
    const double none = measure(by_node, Others::None, rank, ranks, steps);
    if (rank != 0) continue;
    std::printf(
        "{\"bench\": \"constant\", \"transport\": \"%s\", \"changing_seconds\": %.3g, "
        "\"constant_seconds\": %.3g, \"none_seconds\": %.3g}\n",
        name, changing, constant, none);
    char text[160];
    std::snprintf(text, sizeof text, " %s_constant_ratio=%.3g %s_none_ratio=%.3g", name,
                  constant / changing, name, none / changing);
    line += text;
  }
  if (rank == 0) {
    std::printf("bench constant:%s\n", line.c_str());
    std::filesystem::remove(file);
    std::filesystem::remove_all("bench_constant.out");
  }
  MPI_Finalize();
  return 0;
}
