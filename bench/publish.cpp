// SPDX-License-Identifier: BSD-3-Clause
// What does a publication cost the simulation, as a share of copying its bytes once? On two ranks:
// one simulates, one is a sidecar. For blocks from 64 KiB to 64 MiB, times pillion_step with a
// publication due against memcpy of the same bytes between touched buffers, in the same run.
#include <mpi.h>
#include <pillion/pillion.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void check(pillion_status status) {
  if (status == PILLION_OK) return;
  std::fprintf(stderr, "publish: %s\n", pillion_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void write_configuration(const char* file, int64_t cells) {
  std::ofstream(file) << "output: bench_publish.out\n"
                         "sidecars: {ranks: 1, memory: 512 MiB, when_full: wait}\n"
                         "meshes: {grid: {kind: uniform, cells: ["
                      << cells
                      << "]}}\n"
                         "fields: {density: {mesh: grid, type: float64}}\n"
                         "analyses:\n"
                         "  a: {every: 2 steps, stages: [{statistics: {fields: [density]}}]}\n";
}

double memcpy_seconds(const std::vector<double>& from) {
  std::vector<double> to(from.size(), 1.0);
  std::vector<double> all;
  for (int i = 0; i < 9; ++i) {
    const auto begin = Clock::now();
    std::memcpy(to.data(), from.data(), from.size() * sizeof(double));
    all.push_back(since(begin));
    if (to[from.size() / 2] != from[from.size() / 2]) return 0;
  }
  return median(all);
}

/// Median time of a step that publishes, when the sidecar has had time to finish the one before.
double publish_seconds(pillion_session* session, const std::vector<double>& density) {
  const int64_t lo = 0, hi = static_cast<int64_t>(density.size());
  check(pillion_share_box_typed(session, "density", 0, &lo, &hi, density.data(), PILLION_FLOAT64));
  std::vector<double> all;
  for (int64_t step = 0; step < 40; ++step) {
    pillion_progress progress;
    const auto begin = Clock::now();
    check(pillion_step(session, step, 0));
    if (step % 2 == 0 && step >= 8) all.push_back(since(begin));
    std::this_thread::sleep_for(std::chrono::milliseconds(hi > 1000000 ? 150 : 10));
    check(pillion_get_progress(session, &progress));
  }
  return median(all);
}

void measure(const char* file, int64_t bytes, int rank, double& ratio) {
  const int64_t cells = bytes / 8;
  if (rank == 0) write_configuration(file, cells);
  MPI_Barrier(MPI_COMM_WORLD);
  pillion_session* session = nullptr;
  check(pillion_open(file, MPI_COMM_WORLD, &session));
  if (pillion_serve(session) != 0) return;
  const std::vector<double> density(static_cast<size_t>(cells), 1.0);
  const double copy = memcpy_seconds(density);
  const double publish = publish_seconds(session, density);
  ratio = copy / publish;
  std::printf(
      "{\"bench\": \"publish\", \"bytes\": %lld, \"publish_seconds\": %.3g, "
      "\"memcpy_seconds\": %.3g, \"share_of_memcpy_speed\": %.3f}\n",
      static_cast<long long>(bytes), publish, copy, ratio);
  check(pillion_close(session));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* file = "bench_publish.yaml";
  if (ranks != 2) {
    if (rank == 0) std::fputs("publish: run me on 2 ranks\n", stderr);
    MPI_Finalize();
    return 2;
  }
  const std::vector<int64_t> sizes = {64 << 10, 1 << 20, 64 << 20};
  std::vector<double> ratios(sizes.size());
  for (size_t s = 0; s < sizes.size(); ++s) measure(file, sizes[s], rank, ratios[s]);
  if (rank == 0) {
    std::printf(
        "bench publish: share_of_memcpy_64KiB=%.2f share_of_memcpy_1MiB=%.2f "
        "share_of_memcpy_64MiB=%.2f\n",
        ratios[0], ratios[1], ratios[2]);
    std::filesystem::remove_all("bench_publish.out");
    std::filesystem::remove(file);
  }
  MPI_Finalize();
  return 0;
}
