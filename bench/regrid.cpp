// SPDX-License-Identifier: BSD-3-Clause
// What does a regrid cost? Four ranks simulate and one is a sidecar. At every second step each rank
// shares its boxes of three levels again (10^3, 10^4 and 10^5 of 8^3 cells in all), around a point
// that moves; the step publishes them, and the sidecar finds out which cells finer boxes cover. The
// next step publishes the same boxes. In turns with a uniform mesh of as many bytes in one box on
// each rank. Time of sharing, of the step, until the sidecar is done, and of the next step; memory
// of all ranks, and how much each of the later half of regrids adds. Last, what a further box of
// the 10^4 costs a rank where sidecars read it in place, in time of its processor.
//   bench_regrid [REGRIDS]
#include <mpi.h>
#include <pillion/pillion.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "hierarchy.hpp"
#include "timing.hpp"

namespace {

constexpr const char* file = "bench_regrid.yaml";
constexpr int64_t side = 8, cells_of_box = side * side * side;

void check(pillion_status status) {
  if (status == PILLION_OK) return;
  std::fprintf(stderr, "regrid: %s\n", pillion_error_message());
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

/// Memory of these processes, all on this node, that they do not share with others, in bytes.
double memory_of(MPI_Comm comm, const std::vector<int>& processes) {
  double all = 0;
  MPI_Barrier(comm);  // no rank has gone on, or ends
  for (const int process : processes) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    double kib = 0;
    for (std::string word; status >> word;)
      if ((word == "RssAnon:" || word == "VmSwap:") && status >> kib) all += 1024 * kib;
  }
  MPI_Barrier(comm);
  return all;
}

/// Waits until the sidecar is idle.
void settle(const pillion_session* session) {
  pillion_progress progress{};
  progress.behind = 1;
  while (progress.behind > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    check(pillion_get_progress(session, &progress));
  }
}

void write_configuration(const std::string& mesh) {
  std::ofstream(file) << "output: bench_regrid.out\n"
                         "sidecars: {per_node: 1, memory: 2 GiB, when_full: wait}\n"
                         "meshes: {grid: {kind: uniform, "
                      << mesh
                      << "}}\n"
                         "fields: {density: {mesh: grid, type: float64}}\n"
                         "analyses:\n"
                         "  a: {every: 1 steps, stages: [{statistics: {fields: [density]}}]}\n";
}

struct Case {
  int64_t across = 4;  ///< boxes of the coarsest level along an axis
  int regrids = 9;
  bool has_levels = true;
  [[nodiscard]] int64_t boxes() const {
    const int64_t n = across * across * across;
    return n + 8 * (n / 2) + 8 * (8 * (n / 2) / 4);
  }
};

struct Result {
  double share = 0, step = 0, done = 0, again = 0, memory = 0, growth = 0;
};

/// Shares this rank's boxes; `values` has room for them.
void share_boxes(pillion_session* session, const std::vector<bench::Tile>& tiles,
                 const std::vector<double>& values) {
  size_t n = 0;
  check(pillion_begin_blocks(session, "density"));
  for (const auto& tile : tiles) {
    int64_t lo[3], hi[3];
    for (size_t d = 0; d < 3; ++d) {
      lo[d] = side * tile.place[d];
      hi[d] = lo[d] + side;
    }
    check(pillion_share_box_level(session, "density", tile.level, PILLION_ANY_BLOCK, lo, hi,
                                  values.data() + n, PILLION_FLOAT64, nullptr));
    n += static_cast<size_t>(cells_of_box);
  }
  check(pillion_end_blocks(session, "density"));
}

void share_one(pillion_session* session, const Case& of, int rank, int ranks,
               const std::vector<double>& values) {
  const int64_t lo[3] = {0, 0, side * (of.boxes() * rank / ranks)};
  const int64_t hi[3] = {side, side, side * (of.boxes() * (rank + 1) / ranks)};
  check(pillion_share_box_typed(session, "density", 0, lo, hi, values.data(), PILLION_FLOAT64));
}

Result play(pillion_session* session, const Case& of, const std::vector<int>& processes) {
  const MPI_Comm comm = pillion_communicator(session);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  // A rank has up to one box more of each level than others.
  const std::vector<double> values(static_cast<size_t>((of.boxes() / ranks + 4) * cells_of_box),
                                   1.0);
  std::vector<double> share, step, done, again;
  Result out;
  for (int n = 0; n < of.regrids; ++n) {
    const std::array<double, 3> point{0.3 + 0.07 * n, 0.5, 0.4 + 0.03 * n};
    std::vector<bench::Tile> tiles;
    if (of.has_levels) tiles = bench::hierarchy(of.across, point, rank, ranks);
    share.push_back(seconds_of(comm, [&] {
      if (of.has_levels) share_boxes(session, tiles, values);
      else share_one(session, of, rank, ranks, values);
    }));
    step.push_back(seconds_of(comm, [&] { check(pillion_step(session, 2 * n, n)); }));
    done.push_back(step.back() + seconds_of(comm, [&] { settle(session); }));
    again.push_back(seconds_of(comm, [&] { check(pillion_step(session, 2 * n + 1, n)); }));
    settle(session);
    out.memory = memory_of(comm, processes);
    if (n == of.regrids / 2) out.growth = -out.memory;
  }
  out.growth = (out.growth + out.memory) / (of.regrids - 1 - of.regrids / 2);
  out.memory -= static_cast<double>(ranks) * 8 * static_cast<double>(values.size());
  // The first opens transports.
  for (auto* times : {&share, &step, &done, &again}) times->erase(times->begin());
  out.share = bench::median(share);
  out.step = bench::median(step);
  out.done = bench::median(done);
  out.again = bench::median(again);
  return out;
}

/// Of this thread: ranks share the cores of a small machine.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Median seconds of a processor for a step whose boxes sidecars read in place.
double play_in_place(pillion_session* session, const Case& of) {
  const MPI_Comm comm = pillion_communicator(session);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  struct Box {
    int64_t lo[3], hi[3];
    int32_t level;
  };
  std::vector<Box> boxes;
  if (of.has_levels)
    for (const auto& [place, level] : bench::hierarchy(of.across, {0.3, 0.5, 0.4}, rank, ranks)) {
      auto& box = boxes.emplace_back(Box{{}, {}, level});
      for (size_t d = 0; d < 3; ++d) box.hi[d] = (box.lo[d] = side * place[d]) + side;
    }
  else
    boxes.push_back({{0, 0, side * (of.boxes() * rank / ranks)},
                     {side, side, side * (of.boxes() * (rank + 1) / ranks)},
                     0});
  const auto cells_in = [](const Box& box) { return side * side * (box.hi[2] - box.lo[2]); };
  std::vector<void*> data(boxes.size());
  for (size_t b = 0; b < boxes.size(); ++b) {
    const auto block = static_cast<int32_t>(b);
    const auto bytes = static_cast<size_t>(cells_in(boxes[b])) * sizeof(double);
    check(pillion_allocate(session, "density", block, bytes, 3, &data[b]));
    check(pillion_share_box_level(session, "density", boxes[b].level, block, boxes[b].lo,
                                  boxes[b].hi, data[b], PILLION_FLOAT64, nullptr));
  }
  std::vector<double> step;
  for (int n = 0; n < 3 * of.regrids; ++n) {
    for (size_t b = 0; b < data.size(); ++b)
      std::fill_n(static_cast<double*>(data[b]), cells_in(boxes[b]), 1.0 + n);
    const double begin = processor_seconds();
    check(pillion_step(session, n, n));
    step.push_back(processor_seconds() - begin);
    for (size_t b = 0; b < data.size(); ++b)
      check(pillion_swap(session, "density", static_cast<int32_t>(b), &data[b]));
    settle(session);
  }
  step.erase(step.begin(), step.begin() + of.regrids);
  return bench::median(step);
}

/// Opens a session with the mesh of a case; `play(session)` is what simulation ranks do in it.
template <class Play>
auto in_session(const Case& of, int rank, Play&& play) {
  const std::string across = std::to_string(side * of.across);
  const std::string cube = "cells: [" + across + ", " + across + ", " + across +
                           "], length: [1, 1, 1], levels: {count: 3, ratio: 2}";
  const std::string bar = "cells: [" + std::to_string(side) + ", " + std::to_string(side) + ", " +
                          std::to_string(side * of.boxes()) + "], length: [1, 1, 1]";
  if (rank == 0) write_configuration(of.has_levels ? cube : bar);
  MPI_Barrier(MPI_COMM_WORLD);
  pillion_session* session = nullptr;
  check(pillion_open(file, MPI_COMM_WORLD, &session));
  decltype(play(session)) out{};
  if (pillion_serve(session) == 0) {
    out = play(session);
    check(pillion_close(session));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::filesystem::remove_all("bench_regrid.out");
  return out;
}

/// Prints the case; returns what the last line says of it.
std::string compare(const char* name, const Case& of, int rank, const std::vector<int>& processes) {
  const auto measure = [&](const Case& one) {
    return in_session(one, rank, [&](auto* session) { return play(session, one, processes); });
  };
  const Result one = measure({of.across, of.regrids, false});
  const Result levels = measure(of);
  if (rank != 0) return "";
  std::printf(
      "{\"bench\": \"regrid\", \"boxes\": %lld, \"share_seconds\": %.3g, \"step_seconds\": %.3g, "
      "\"done_seconds\": %.3g, \"again_seconds\": %.3g, \"memory_bytes\": %.3g, "
      "\"growth_bytes\": %.3g, "
      "\"uniform_share_seconds\": %.3g, \"uniform_step_seconds\": %.3g, "
      "\"uniform_done_seconds\": %.3g, \"uniform_again_seconds\": %.3g, "
      "\"uniform_memory_bytes\": %.3g, "
      "\"uniform_growth_bytes\": %.3g}\n",
      static_cast<long long>(of.boxes()), levels.share, levels.step, levels.done, levels.again,
      levels.memory, levels.growth, one.share, one.step, one.done, one.again, one.memory,
      one.growth);
  char text[200];
  std::snprintf(
      text, sizeof text, " %s_seconds=%.3g %s_ratio=%.3g %s_again_ratio=%.3g %s_growth_bytes=%.3g",
      name, levels.share + levels.step, name, (levels.share + levels.step) / (one.share + one.step),
      name, levels.again / one.again, name, levels.growth);
  return text;
}

/// What a further box costs where none is copied.
std::string compare_in_place(const Case& of, int rank, int simulating) {
  double seconds[2];
  for (const bool has_levels : {false, true}) {
    const Case one{of.across, of.regrids, has_levels};
    seconds[has_levels ? 1 : 0] =
        in_session(one, rank, [&](auto* session) { return play_in_place(session, one); });
  }
  const auto boxes = static_cast<double>(of.boxes()) / simulating;
  char text[80];
  std::snprintf(text, sizeof text, " in_place_ns_per_box=%.0f",
                1e9 * (seconds[1] - seconds[0]) / (boxes - 1));
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int regrids = argc > 1 ? std::atoi(argv[1]) : 16;
  std::vector<int> processes(static_cast<size_t>(ranks));
  const int own = getpid();
  MPI_Allgather(&own, 1, MPI_INT, processes.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::string line;
  line += compare("boxes_1e3", {4, regrids, true}, rank, processes);
  line += compare("boxes_1e4", {9, regrids, true}, rank, processes);
  line += compare("boxes_1e5", {20, regrids, true}, rank, processes);
  line += compare_in_place({9, regrids, true}, rank, ranks - 1);
  if (rank == 0) {
    std::printf("bench regrid:%s\n", line.c_str());
    std::filesystem::remove(file);
  }
  MPI_Finalize();
  return 0;
}
