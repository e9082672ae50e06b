// SPDX-License-Identifier: BSD-3-Clause
// What does handing a block over cost the simulation? On two ranks, one simulates and one is a
// sidecar. For blocks from 64 KiB to 64 MiB, times a step that publishes, by the node transport
// with a copy, by the node transport from session memory (zero-copy), and by the network transport,
// against memcpy of the same bytes between touched buffers, taken in turns with it; with a copy
// also by two threads; and steps at
// which nothing is due. For 64 KiB also what is paid whatever the size: publications that follow
// each other closely (warm), with 4 MiB of other memory touched between (cold), and with pauses in
// which the sidecar falls asleep; and zero copy of ten thousand blocks.
#include <mpi.h>
#include <pillion/pillion.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "timing.hpp"

namespace {

using bench::Clock;

constexpr const char* file = "bench_handoff.yaml";
constexpr int repetitions = 25;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void check(pillion_status status) {
  if (status == PILLION_OK) return;
  std::fprintf(stderr, "handoff: %s\n", pillion_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void write_configuration(const std::string& sidecars, int64_t cells) {
  std::ofstream(file) << "output: bench_handoff.out\n"
                         "sidecars: {"
                      << sidecars
                      << ", memory: 256 MiB, when_full: wait}\n"
                         "meshes: {grid: {kind: uniform, cells: ["
                      << cells
                      << "]}}\n"
                         "fields: {density: {mesh: grid, type: float64}}\n"
                         "analyses:\n"
                         "  a: {every: 1000 steps, stages: [{statistics: {fields: [density]}}]}\n";
}

/// Waits until the sidecar is idle, so that it does not share the memory bus with what is timed.
void settle(const pillion_session* session) {
  pillion_progress progress{};
  progress.behind = 1;
  for (int i = 0; i < 700 && progress.behind > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    check(pillion_get_progress(session, &progress));
  }
  std::this_thread::sleep_for(std::chrono::microseconds(300));
}

struct Result {
  double publish = 0, copy = 0, idle = 0;
};

double memcpy_seconds(std::vector<double>& to, const std::vector<double>& from) {
  const auto begin = Clock::now();
  std::memcpy(to.data(), from.data(), from.size() * sizeof(double));
  const double seconds = since(begin);
  if (to[from.size() / 2] != from[from.size() / 2]) check(PILLION_ERROR_INTERNAL);
  return seconds;
}

double idle_seconds(pillion_session* session, int64_t step) {
  constexpr int64_t batch = 900;
  const auto begin = Clock::now();
  for (int64_t i = 1; i <= batch; ++i) check(pillion_step(session, step + i, 0));
  return since(begin) / static_cast<double>(batch);
}

Result play(pillion_session* session, int64_t cells, bool zero_copy) {
  std::vector<double> own(static_cast<size_t>(cells), 1.0), from = own, to = own;
  void* data = own.data();
  if (zero_copy)
    check(pillion_allocate(session, "density", 0, own.size() * sizeof(double), 3, &data));
  const int64_t lo = 0;
  check(pillion_share_box_typed(session, "density", 0, &lo, &cells, data, PILLION_FLOAT64));
  std::vector<double> publish, copy, idle;
  for (int64_t r = 0; r < repetitions; ++r) {
    auto* values = static_cast<double*>(data);
    std::fill(from.begin(), from.end(), static_cast<double>(r));
    copy.push_back(memcpy_seconds(to, from));
    std::fill(values, values + cells, static_cast<double>(r));
    const auto begin = Clock::now();
    check(pillion_step(session, 1000 * r, 0));
    if (zero_copy) check(pillion_swap(session, "density", 0, &data));
    publish.push_back(since(begin));
    idle.push_back(idle_seconds(session, 1000 * r));
    settle(session);
  }
  publish.erase(publish.begin(), publish.begin() + 5);
  return {bench::median(publish), bench::median(copy), bench::median(idle)};
}

Result measure(const std::string& sidecars, int64_t bytes, bool zero_copy, int rank) {
  const int64_t cells = bytes / static_cast<int64_t>(sizeof(double));
  if (rank == 0) write_configuration(sidecars, cells);
  MPI_Barrier(MPI_COMM_WORLD);
  pillion_session* session = nullptr;
  check(pillion_open(file, MPI_COMM_WORLD, &session));
  if (pillion_serve(session) != 0) return {};
  const Result result = play(session, cells, zero_copy);
  check(pillion_close(session));
  return result;
}

// ---- fixed costs

enum class Pace { Warm, Cold, Asleep };

/// Waits until the sidecar has finished, without falling asleep itself.
void await_sidecar(const pillion_session* session) {
  pillion_progress progress{};
  for (progress.behind = 1; progress.behind > 0;) check(pillion_get_progress(session, &progress));
}

void keep_pace(Pace pace, std::vector<double>& other) {
  if (pace == Pace::Cold)
    for (double& value : other) value += 1;
  if (pace == Pace::Asleep) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

/// Median seconds of a publication of one block of 64 KiB.
double fixed_cost(pillion_session* session, int64_t cells, bool zero_copy, Pace pace) {
  std::vector<double> own(static_cast<size_t>(cells), 1.0);
  void* data = own.data();
  if (zero_copy)
    check(pillion_allocate(session, "density", 0, own.size() * sizeof(double), 3, &data));
  const int64_t lo = 0;
  check(pillion_share_box_typed(session, "density", 0, &lo, &cells, data, PILLION_FLOAT64));
  std::vector<double> other(size_t{4} << 17), publish;
  const int64_t count = pace == Pace::Asleep ? 50 : 400;
  for (int64_t r = 0; r < count; ++r) {
    auto* values = static_cast<double*>(data);
    std::fill(values, values + cells, static_cast<double>(r));
    keep_pace(pace, other);
    const auto begin = Clock::now();
    check(pillion_step(session, 1000 * r, 0));
    publish.push_back(since(begin));
    if (zero_copy) check(pillion_swap(session, "density", 0, &data));
    await_sidecar(session);
  }
  publish.erase(publish.begin(), publish.begin() + 10);
  return bench::median(publish);
}

struct BlockCost {
  double publish = 0, swap = 0;  ///< median seconds of a step, and of swapping all blocks
};

/// Zero copy of `blocks` blocks of 64 values.
BlockCost block_cost(pillion_session* session, int64_t blocks) {
  constexpr int64_t cells = 64;
  std::vector<void*> data(static_cast<size_t>(blocks));
  for (int32_t b = 0; b < blocks; ++b) {
    auto& at = data[static_cast<size_t>(b)];
    check(pillion_allocate(session, "density", b, cells * sizeof(double), 3, &at));
    const int64_t lo = b * cells, hi = lo + cells;
    check(pillion_share_box_typed(session, "density", b, &lo, &hi, at, PILLION_FLOAT64));
  }
  std::vector<double> publish, swap;
  for (int64_t r = 0; r < 60; ++r) {
    for (void* at : data) std::fill_n(static_cast<double*>(at), cells, static_cast<double>(r));
    const auto begin = Clock::now();
    check(pillion_step(session, 1000 * r, 0));
    publish.push_back(since(begin));
    const auto middle = Clock::now();
    for (int32_t b = 0; b < blocks; ++b)
      check(pillion_swap(session, "density", b, &data[static_cast<size_t>(b)]));
    swap.push_back(since(middle));
    await_sidecar(session);
  }
  publish.erase(publish.begin(), publish.begin() + 10);
  return {bench::median(publish), bench::median(swap)};
}

/// Opens a session for `cells` cells and calls `work` in the simulation.
template <class Work>
auto with_session(const std::string& sidecars, int64_t cells, int rank, Work&& work) {
  if (rank == 0) write_configuration(sidecars, cells);
  MPI_Barrier(MPI_COMM_WORLD);
  pillion_session* session = nullptr;
  check(pillion_open(file, MPI_COMM_WORLD, &session));
  decltype(work(session)) result{};
  if (pillion_serve(session) != 0) return result;
  result = work(session);
  check(pillion_close(session));
  return result;
}

void measure_fixed_costs(int rank) {
  constexpr int64_t cells = (64 << 10) / sizeof(double), many = 10000;
  const char* names[] = {"warm", "cold", "asleep"};
  std::string line = "bench handoff_fixed:", asleep = "bench handoff_asleep:";
  for (const bool zero_copy : {false, true})
    for (const Pace pace : {Pace::Warm, Pace::Cold, Pace::Asleep}) {
      const double seconds = with_session("per_node: 1", cells, rank, [&](auto* session) {
        return fixed_cost(session, cells, zero_copy, pace);
      });
      char text[80];
      std::snprintf(text, sizeof text, " %s_%s_us=%.1f", zero_copy ? "zero_copy" : "copy",
                    names[static_cast<int>(pace)], 1e6 * seconds);
      (pace == Pace::Asleep ? asleep : line) += text;
    }
  BlockCost costs[2];
  for (const int64_t blocks : {int64_t{1}, many})
    costs[blocks > 1] = with_session("per_node: 1", 64 * blocks, rank,
                                     [&](auto* session) { return block_cost(session, blocks); });
  if (rank != 0) return;
  std::printf("%s\n", asleep.c_str());
  std::vector<double> to(cells), from(cells, 1.0), copy;
  for (int r = 0; r < 100; ++r) copy.push_back(memcpy_seconds(to, from));
  std::printf("%s memcpy_us=%.1f blocks_1e4_ms=%.2f further_block_ns=%.0f swap_ns=%.0f\n",
              line.c_str(), 1e6 * bench::median(copy), 1e3 * costs[1].publish,
              1e9 * (costs[1].publish - costs[0].publish) / (many - 1), 1e9 * costs[1].swap / many);
}

struct Way {
  const char* name;
  const char* sidecars;
  bool zero_copy;
};

void print(const Way& way, int64_t bytes, const Result& r) {
  std::printf(
      "{\"bench\": \"handoff\", \"way\": \"%s\", \"bytes\": %lld, \"publish_seconds\": %.3g, "
      "\"memcpy_seconds\": %.3g, \"share_of_memcpy_speed\": %.3f, \"idle_step_seconds\": %.3g}\n",
      way.name, static_cast<long long>(bytes), r.publish, r.copy, r.copy / r.publish, r.idle);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool only_fixed = argc > 1 && std::string(argv[1]) == "fixed";
  if (ranks != 2) {
    if (rank == 0) std::fputs("handoff: run me on 2 ranks\n", stderr);
    MPI_Finalize();
    return 2;
  }
  measure_fixed_costs(rank);
  if (only_fixed) {
    MPI_Finalize();
    return 0;
  }
  const std::vector<int64_t> sizes = {64 << 10, 1 << 20, 64 << 20};
  const std::vector<Way> ways = {{"network", "ranks: 1", false},
                                 {"copy", "per_node: 1", false},
                                 {"copy_by_2_threads", "per_node: 1, copy_threads: 2", false},
                                 {"zero_copy", "per_node: 1", true}};
  std::map<std::string, std::vector<Result>> results;
  for (const auto& way : ways)
    for (const int64_t size : sizes) {
      results[way.name].push_back(measure(way.sidecars, size, way.zero_copy, rank));
      if (rank == 0) print(way, size, results[way.name].back());
    }
  if (rank == 0) {
    const auto& copy = results["copy"];
    const auto& zero = results["zero_copy"];
    const auto& two = results["copy_by_2_threads"];
    std::printf(
        "bench handoff: copy_64KiB=%.2f copy_1MiB=%.2f copy_64MiB=%.2f "
        "copy_by_2_threads_64MiB=%.2f zero_copy_us_64KiB=%.1f "
        "zero_copy_us_1MiB=%.1f zero_copy_us_64MiB=%.1f idle_ns=%.1f\n",
        copy[0].copy / copy[0].publish, copy[1].copy / copy[1].publish,
        copy[2].copy / copy[2].publish, two[2].copy / two[2].publish, 1e6 * zero[0].publish,
        1e6 * zero[1].publish, 1e6 * zero[2].publish, 1e9 * copy[1].idle);
    std::filesystem::remove_all("bench_handoff.out");
    std::filesystem::remove(file);
  }
  MPI_Finalize();
  return 0;
}
