// SPDX-License-Identifier: BSD-3-Clause
// How long after a step does its analysis end, if the solver makes no MPI call within its steps? A
// loop publishes 64 MiB at each step, as a code does whose solver runs on a GPU, and an analysis
// that takes next to no time reads them in a sidecar. For comparison the same bytes in one MPI_Send
// to a rank that waits for them, as often, half of them before the loop and half of them after it.
// On two ranks; bench/progress.py runs all cases.
//   bench_progress node|network multiple|single STEPS SECONDS_PER_STEP
#include <mpi.h>
#include <pillion/pillion.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "timing.hpp"

namespace {

constexpr const char* file = "bench_progress.yaml";
constexpr const char* output = "bench_progress.out";
constexpr int64_t cells = 8 << 20;

void check(pillion_status status) {
  if (status == PILLION_OK) return;
  std::fprintf(stderr, "progress: %s\n", pillion_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// Stands for a solver that does not need the core.
void solve(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Adds the seconds from the begin of MPI_Send until the other rank has everything, of messages
/// between which the ranks sleep for as long as a step takes.
void send_bare(int rank, const std::vector<double>& values, int messages, double seconds,
               std::vector<double>& lags) {
  constexpr double until_received = 0.02;  // seconds until the other rank is in MPI_Recv
  std::vector<double> taken(rank == 1 ? values.size() : 0);
  for (int i = 0; i < messages; ++i) {
    solve(seconds);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      solve(until_received);
      const double begin = MPI_Wtime();
      MPI_Send(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(nullptr, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      lags.push_back(MPI_Wtime() - begin);
    } else {
      MPI_Recv(taken.data(), static_cast<int>(taken.size()), MPI_DOUBLE, 0, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
  }
}

void write_configuration(const std::string& transport) {
  std::ofstream(file) << "output: " << output << "\nsidecars: {"
                      << (transport == "node" ? "per_node" : "ranks")
                      << ": 1, memory: 512 MiB}\n"
                         "meshes: {grid: {kind: uniform, cells: ["
                      << cells
                      << "]}}\n"
                         "fields: {density: {mesh: grid, type: float64}}\n"
                         "analyses: {work: {stages: [{busy: {field: density, operations: 1, "
                         "divided: true}}]}}\n";
}

/// The longest time that a step has spent in Pillion.
double simulate(pillion_session* session, std::vector<double>& values, int steps, double seconds) {
  const int64_t lo = 0;
  double longest = 0;
  check(
      pillion_share_box_typed(session, "density", 0, &lo, &cells, values.data(), PILLION_FLOAT64));
  for (int64_t s = 0; s < steps; ++s) {
    solve(seconds);
    const auto begin = bench::Clock::now();
    check(pillion_step(session, s, static_cast<double>(s)));
    longest = std::max(longest, std::chrono::duration<double>(bench::Clock::now() - begin).count());
  }
  return longest;
}

void print(const std::string& transport, const std::string& threads, int steps, double seconds,
           const std::vector<double>& bare, double in_step) {
  nlohmann::json report =
      nlohmann::json::parse(std::ifstream(std::string(output) + "/report.json"));
  const auto& analysis = report["analyses"][0];
  std::printf("%s\n", nlohmann::json{{"bench", "progress"},
                                     {"transport", transport},
                                     {"threads", threads},
                                     {"steps", steps},
                                     {"seconds_per_step", seconds},
                                     {"bytes", cells * 8},
                                     {"bare_message_seconds",
                                      {{"mean", std::accumulate(bare.begin(), bare.end(), 0.0) /
                                                    static_cast<double>(bare.size())},
                                       {"median", bench::median(bare)},
                                       {"max", *std::max_element(bare.begin(), bare.end())}}},
                                     {"longest_step_call_seconds", in_step},
                                     {"skipped", analysis["skipped"]},
                                     {"lag_seconds", analysis["lag_seconds"]}}
                          .dump()
                          .c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string transport = argv[1], threads = argv[2];
  const int steps = std::atoi(argv[3]);
  const double seconds = std::atof(argv[4]);
  int provided = 0, rank = 0, ranks = 0;
  MPI_Init_thread(&argc, &argv, threads == "multiple" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  setenv("PILLION_STAGE_PATH", PILLION_BENCH_STAGES, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    if (rank == 0) std::fputs("progress: run me on 2 ranks\n", stderr);
    MPI_Finalize();
    return 2;
  }
  std::vector<double> values(static_cast<size_t>(cells), 1.0);
  std::vector<double> bare;
  send_bare(rank, values, (steps + 1) / 2, seconds, bare);
  if (rank == 0) write_configuration(transport);
  MPI_Barrier(MPI_COMM_WORLD);
  pillion_session* session = nullptr;
  check(pillion_open(file, MPI_COMM_WORLD, &session));
  double in_step = 0;
  if (pillion_serve(session) == 0) {
    in_step = simulate(session, values, steps, seconds);
    check(pillion_close(session));
  }
  send_bare(rank, values, (steps + 1) / 2, seconds, bare);
  if (rank == 0) print(transport, threads, steps, seconds, bare, in_step);
  MPI_Finalize();
  return 0;
}
