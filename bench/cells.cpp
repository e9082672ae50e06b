// SPDX-License-Identifier: BSD-3-Clause
// What does publishing an unstructured mesh cost beside a uniform one with as many values? All
// ranks but the last simulate, and that is a sidecar, on the node or over the network. Each
// simulating rank has a block of 48^3 hexahedra with one value each. Seconds of a step: the first,
// which moves points and cells; later ones, of a mesh that stays, whose points move, and whose
// cells change.
//   bench_cells [STEPS]
#include <mpi.h>
#include <pillion/pillion.h>

#include <algorithm>
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

constexpr const char* file = "bench_cells.yaml";
constexpr int64_t side = 48;
constexpr uint8_t hexahedron = 12;

void check(pillion_status status) {
  if (status == PILLION_OK) return;
  std::fprintf(stderr, "cells: %s\n", pillion_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// Seconds of the slowest rank.
template <class Deed>
double seconds_of(MPI_Comm comm, Deed&& deed) {
  MPI_Barrier(comm);
  const auto begin = bench::Clock::now();
  deed();
  double seconds = std::chrono::duration<double>(bench::Clock::now() - begin).count();
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
  return seconds;
}

void settle(const pillion_session* session) {
  pillion_progress progress{};
  progress.behind = 1;
  while (progress.behind > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    check(pillion_get_progress(session, &progress));
  }
}

void write_configuration(bool by_node, const std::string& mesh) {
  std::ofstream(file) << "output: {path: bench_cells.out, if_exists: overwrite}\nsidecars: "
                      << (by_node ? "{per_node: 1, memory: 1 GiB, when_full: wait}"
                                  : "{ranks: 1, when_full: wait}")
                      << "\nmeshes: {grid: {" << mesh
                      << "}}\nfields: {u: {mesh: grid, type: float64}}\nanalyses:\n"
                         "  a: {every: 1 steps, stages: [{statistics: {fields: [u]}}]}\n";
}

/// A cube of hexahedra.
struct Cube {
  std::vector<double> points;
  std::vector<int32_t> nodes;

  explicit Cube(int rank) {
    constexpr int64_t n = side + 1;
    for (int64_t p = 0; p < n * n * n; ++p)
      points.insert(points.end(), {static_cast<double>(p % n + side * rank),
                                   static_cast<double>(p / n % n), static_cast<double>(p / n / n)});
    constexpr std::array<int64_t, 8> corners{0,     1,         n + 1,         n,
                                             n * n, n * n + 1, n * n + n + 1, n * n + n};
    for (int64_t k = 0; k < side; ++k)
      for (int64_t j = 0; j < side; ++j)
        for (int64_t i = 0; i < side; ++i)
          for (const int64_t corner : corners)
            nodes.push_back(static_cast<int32_t>(i + n * (j + n * k) + corner));
  }
  void share_points(pillion_session* session) const {
    pillion_points of{};
    of.size = sizeof of;
    of.count = static_cast<int64_t>(points.size() / 3);
    of.data[0] = points.data();
    of.type = PILLION_FLOAT64;
    check(pillion_share_points(session, "grid", 0, &of));
  }
  void share_cells(pillion_session* session) const {
    pillion_cells of{};
    of.size = sizeof of;
    of.count = static_cast<int64_t>(nodes.size() / 8);
    of.type = hexahedron;
    of.index_type = PILLION_INT32;
    of.points = nodes.data();
    check(pillion_share_cells(session, "grid", 0, &of));
  }
};

/// Seconds of a step, with what the program must share before it.
struct Result {
  double first = 0, still = 0, points = 0, cells = 0;
};

template <class Prepare>
double median_of(pillion_session* session, int steps, int64_t& step, Prepare&& prepare) {
  std::vector<double> seconds;
  for (int n = 0; n < steps; ++n, ++step) {
    seconds.push_back(seconds_of(pillion_communicator(session), [&] {
      prepare();
      check(pillion_step(session, step, static_cast<double>(step)));
    }));
    settle(session);
  }
  return bench::median(seconds);
}

Result play(pillion_session* session, bool has_cells, int steps) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(pillion_communicator(session), &rank);
  MPI_Comm_size(pillion_communicator(session), &ranks);
  Cube cube(rank);
  std::vector<double> u(static_cast<size_t>(side * side * side), 1.0);
  if (has_cells) {
    cube.share_points(session);
    cube.share_cells(session);
    check(
        pillion_share_values_typed(session, "u", 0, side * side * side, u.data(), PILLION_FLOAT64));
  } else {
    const int64_t lo[3] = {side * rank, 0, 0}, hi[3] = {side * (rank + 1), side, side};
    check(pillion_share_box_typed(session, "u", 0, lo, hi, u.data(), PILLION_FLOAT64));
  }
  Result out;
  int64_t step = 0;
  out.first = median_of(session, 1, step, [] {});
  out.still = median_of(session, steps, step, [] {});
  if (!has_cells) return out;
  out.points = median_of(session, steps, step, [&] {
    for (double& x : cube.points) x *= 1.001;
    cube.share_points(session);
  });
  out.cells = median_of(session, steps, step, [&] {
    std::rotate(cube.nodes.begin(), cube.nodes.begin() + 8, cube.nodes.end());
    cube.share_cells(session);
  });
  return out;
}

Result measure(bool by_node, bool has_cells, int rank, int ranks, int steps) {
  const std::string n = std::to_string(side);
  const std::string box =
      "kind: uniform, cells: [" + std::to_string(side * (ranks - 1)) + ", " + n + ", " + n + "]";
  if (rank == 0) write_configuration(by_node, has_cells ? "kind: unstructured" : box);
  MPI_Barrier(MPI_COMM_WORLD);
  pillion_session* session = nullptr;
  check(pillion_open(file, MPI_COMM_WORLD, &session));
  Result out;
  if (pillion_serve(session) == 0) {
    out = play(session, has_cells, steps);
    check(pillion_close(session));
  }
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
  const int steps = argc > 1 ? std::atoi(argv[1]) : 15;
  std::string line;
  for (const bool by_node : {true, false}) {
    const char* name = by_node ? "node" : "network";
    const Result box = measure(by_node, false, rank, ranks, steps);
    const Result cells = measure(by_node, true, rank, ranks, steps);
    if (rank != 0) continue;
    std::printf(
        "{\"bench\": \"cells\", \"transport\": \"%s\", \"first_seconds\": %.3g, "
        "\"still_seconds\": %.3g, \"points_seconds\": %.3g, \"cells_seconds\": %.3g, "
        "\"uniform_first_seconds\": %.3g, \"uniform_seconds\": %.3g}\n",
        name, cells.first, cells.still, cells.points, cells.cells, box.first, box.still);
    char text[160];
    std::snprintf(
        text, sizeof text, " %s_still_ratio=%.3g %s_points_ratio=%.3g %s_cells_ratio=%.3g", name,
        cells.still / box.still, name, cells.points / box.still, name, cells.cells / box.still);
    line += text;
  }
  if (rank == 0) {
    std::printf("bench cells:%s\n", line.c_str());
    std::filesystem::remove(file);
    std::filesystem::remove_all("bench_cells.out");
  }
  MPI_Finalize();
  return 0;
}
