// SPDX-License-Identifier: BSD-3-Clause
// What does a step cost at which nothing is due? Calls pillion_is_due and pillion_step as often as
// a clock can resolve, in batches, with one analysis that counts steps and one that counts time, in
// the simulation and, on two ranks or more, in a sidecar. Target: under 1 µs.
#include <mpi.h>
#include <pillion/pillion.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace {

constexpr int64_t batch = 100000;

void write_configuration(const char* file, bool sidecar) {
  std::ofstream(file)
      << "output: bench_idle_step.out\n"
      << (sidecar ? "sidecars: {ranks: 1}\n" : "")
      << "meshes: {grid: {kind: uniform, cells: [16]}}\n"
         "fields: {density: {mesh: grid, type: float64}}\n"
         "analyses:\n"
         "  steps: {every: 1000000000 steps, stages: [{statistics: {fields: [density]}}]}\n"
         "  time: {every: 1.0e9 time, stages: [{statistics: {fields: [density]}}]}\n";
}

/// Median over batches of the seconds that one call takes.
template <class Call>
double seconds_per_call(Call&& call) {
  std::vector<double> all;
  for (int b = 0; b < 21; ++b) {
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < batch; ++i) call();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    all.push_back(took.count() / static_cast<double>(batch));
  }
  std::nth_element(all.begin(), all.begin() + 10, all.end());
  return all[10];
}

void check(pillion_status status) {
  if (status == PILLION_OK) return;
  std::fprintf(stderr, "idle_step: %s\n", pillion_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void measure(pillion_session* session) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(pillion_communicator(session), &rank);
  MPI_Comm_size(pillion_communicator(session), &ranks);
  const int64_t lo = 16 * rank / ranks, hi = 16 * (rank + 1) / ranks;
  const std::vector<double> density(16, 1.0);
  check(pillion_share_box_typed(session, "density", 0, &lo, &hi, density.data(), PILLION_FLOAT64));
  int64_t step = 0;
  check(pillion_step(session, step, 0));
  const double step_seconds = seconds_per_call([&] {
    ++step;
    check(pillion_step(session, step, 1e-3 * static_cast<double>(step)));
  });
  int32_t due = 0, ever = 0;
  const double due_seconds = seconds_per_call([&] {
    check(pillion_is_due(session, step + 1, 1e-3 * static_cast<double>(step), &due));
    ever |= due;
  });
  if (rank == 0) {
    std::printf("{\"bench\": \"idle_step\", \"step_seconds\": %.3g, \"is_due_seconds\": %.3g}\n",
                step_seconds, due_seconds);
    std::printf("bench idle_step: step_ns=%.1f is_due_ns=%.1f target_ns=1000 met=%s\n",
                1e9 * step_seconds, 1e9 * due_seconds,
                step_seconds < 1e-6 && ever == 0 ? "yes" : "no");
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* file = "bench_idle_step.yaml";
  if (rank == 0) write_configuration(file, ranks > 1);
  MPI_Barrier(MPI_COMM_WORLD);
  pillion_session* session = nullptr;
  check(pillion_open(file, MPI_COMM_WORLD, &session));
  if (pillion_serve(session) == 0) {
    measure(session);
    check(pillion_close(session));
  }
  if (rank == 0) {
    std::filesystem::remove_all("bench_idle_step.out");
    std::filesystem::remove(file);
  }
  MPI_Finalize();
  return 0;
}
