// SPDX-License-Identifier: BSD-3-Clause
// When does it pay to analyse beside the simulation rather than in it? A compute loop of known
// length publishes 1 MiB at every step, for analyses from a five-hundredth to twice as long as the
// step. Each is run in the simulation's rank, in a sidecar on the other core, reached through the
// node's memory and through the network, and in two simulation ranks that divide the loop between
// them: that is, with the sidecar's core given to the simulation. On two ranks.
#include <mpi.h>
#include <pillion/pillion.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "busy.hpp"
#include "timing.hpp"

namespace {

using bench::Clock;
using bench::median;

constexpr const char* file = "bench_overlap.yaml";
constexpr int64_t cells = 1 << 17;
constexpr int64_t steps = 150;
constexpr double step_seconds = 5e-3;
constexpr int repetitions = 3;

void check(pillion_status status) {
  if (status == PILLION_OK) return;
  std::fprintf(stderr, "overlap: %s\n", pillion_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// A barrier that leaves the core alone.
void meet() {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

volatile double nobody_reads;

/// Seconds of so many steps of so many operations, with nothing else.
double alone(int64_t operations) {
  const std::vector<double> values(cells, 1.0);
  const auto begin = Clock::now();
  for (int64_t s = 0; s < steps; ++s) nobody_reads = bench::busy(values.data(), cells, operations);
  return since(begin);
}

int64_t operations_per_step() {
  const std::vector<double> values(cells, 1.0);
  constexpr int64_t sample = 4000000;
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) {
    const auto begin = Clock::now();
    nobody_reads = bench::busy(values.data(), cells, sample);
    times.push_back(since(begin));
  }
  return static_cast<int64_t>(step_seconds / median(times) * static_cast<double>(sample));
}

struct Way {
  const char* name;
  int simulation_ranks;
  const char* sidecar;  ///< how many, and so how they are reached; null if there are none
  bool divided;         ///< whether the analysis is divided among simulation ranks
};

constexpr Way in_one = {"one_rank", 1, nullptr, true};
constexpr Way beside = {"beside", 1, "per_node: 1", true};
constexpr Way across = {"across", 1, "ranks: 1", true};
constexpr Way in_two = {"two_ranks", 2, nullptr, true};
constexpr Way in_two_undivided = {"two_ranks_undivided", 2, nullptr, false};

void write_configuration(const Way& way, int64_t operations) {
  std::ofstream(file) << "output: bench_overlap.out\n"
                      << (way.sidecar != nullptr ? std::string("sidecars: {") + way.sidecar +
                                                       ", memory: 16 MiB, when_full: wait}\n"
                                                 : "")
                      << "meshes: {grid: {kind: uniform, cells: [" << cells
                      << "]}}\n"
                         "fields: {density: {mesh: grid, type: float64}}\n"
                         "analyses: {work: {stages: [{busy: {field: density, operations: "
                      << operations << ", divided: " << (way.divided ? "true" : "false")
                      << "}}]}}\n";
}

double simulate(pillion_session* session, const Way& way, int rank, int64_t operations) {
  const int64_t lo = cells * rank / way.simulation_ranks;
  const int64_t hi = cells * (rank + 1) / way.simulation_ranks;
  std::vector<double> values(static_cast<size_t>(hi - lo), 1.0);
  check(pillion_share_box_typed(session, "density", 0, &lo, &hi, values.data(), PILLION_FLOAT64));
  const auto begin = Clock::now();
  for (int64_t s = 0; s < steps; ++s) {
    nobody_reads = bench::busy(values.data(), hi - lo, operations / way.simulation_ranks);
    values[static_cast<size_t>(s)] = nobody_reads;
    check(pillion_step(session, s, static_cast<double>(s)));
  }
  check(pillion_close(session));
  return since(begin);
}

/// Seconds of a whole run, its analyses' end included.
double play(const Way& way, int64_t simulation, int64_t analysis, int rank) {
  if (rank == 0) write_configuration(way, analysis);
  meet();
  MPI_Comm comm;
  const bool takes_part = rank < way.simulation_ranks + (way.sidecar != nullptr ? 1 : 0);
  MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : 1, rank, &comm);
  double seconds = 0;
  if (takes_part) {
    pillion_session* session = nullptr;
    check(pillion_open(file, comm, &session));
    if (pillion_serve(session) == 0) seconds = simulate(session, way, rank, simulation);
  }
  meet();
  MPI_Comm_free(&comm);
  return seconds;
}

struct Point {
  double ratio, simulation, analysis, undisturbed, one, two, two_undivided, together, network;
  [[nodiscard]] double longest() const { return std::max(simulation, analysis); }
};

Point measure(double ratio, int64_t operations, int rank) {
  const auto analysis = static_cast<int64_t>(ratio * static_cast<double>(operations));
  std::vector<double> s, a, together, one, aside, far, two, undivided;
  for (int r = 0; r < repetitions; ++r) {
    if (rank == 0) s.push_back(alone(operations)), a.push_back(alone(analysis));
    meet();
    // What two cores give of one machine when both are busy, without Pillion.
    const double mine = alone(rank == 0 ? operations : analysis);
    double both = 0;
    MPI_Reduce(&mine, &both, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    together.push_back(both);
    one.push_back(play(in_one, operations, analysis, rank));
    aside.push_back(play(beside, operations, analysis, rank));
    far.push_back(play(across, operations, analysis, rank));
    two.push_back(play(in_two, operations, analysis, rank));
    undivided.push_back(play(in_two_undivided, operations, analysis, rank));
  }
  if (rank != 0) return {};
  return {ratio,       median(s),         median(a),     median(together), median(one),
          median(two), median(undivided), median(aside), median(far)};
}

void print(const Point& p) {
  std::printf(
      "{\"bench\": \"overlap\", \"analysis_over_simulation\": %.3f, \"simulation_seconds\": %.4f, "
      "\"analysis_seconds\": %.4f, \"both_without_pillion_seconds\": %.4f, "
      "\"synchronous_seconds\": %.4f, \"asynchronous_seconds\": %.4f, "
      "\"network_seconds\": %.4f, \"two_ranks_seconds\": %.4f, "
      "\"two_ranks_undivided_seconds\": %.4f, \"synchronous_over_sum\": %.3f, "
      "\"asynchronous_over_max\": %.3f, \"network_over_max\": %.3f}\n",
      p.ratio, p.simulation, p.analysis, p.undisturbed, p.one, p.together, p.network, p.two,
      p.two_undivided, p.one / (p.simulation + p.analysis), p.together / p.longest(),
      p.network / p.longest());
  std::fflush(stdout);
}

/// The ratio from which on analysing beside is faster than `other`, between the points measured;
/// 0 if it is at all of them, and -1 if it is at none.
double crossover(const std::vector<Point>& points, double Point::*other) {
  const auto gain = [&](const Point& p) { return p.*other - p.together; };
  for (size_t i = points.size(); i-- > 0;) {
    if (gain(points[i]) > 0) continue;
    if (i + 1 == points.size()) return -1;
    const double before = gain(points[i]), after = gain(points[i + 1]);
    return points[i].ratio + (points[i + 1].ratio - points[i].ratio) * before / (before - after);
  }
  return 0;
}

void conclude(const std::vector<Point>& points) {
  double worst = 0, network = 0, worst_disturbed = 0, sum = 0;
  for (const auto& p : points) {
    worst = std::max(worst, p.together / p.longest());
    network = std::max(network, p.network / p.longest());
    worst_disturbed = std::max(worst_disturbed, p.together / p.undisturbed);
    sum = std::max(sum, std::abs(p.one / (p.simulation + p.analysis) - 1));
  }
  std::printf(
      "bench overlap: asynchronous_over_max_worst=%.3f network_over_max_worst=%.3f "
      "over_both_without_pillion_worst=%.3f "
      "synchronous_off_sum_worst=%.3f pays_from_one_core=%.3f pays_from_undivided=%.3f "
      "pays_from_divided=%.3f\n",
      worst, network, worst_disturbed, sum, crossover(points, &Point::one),
      crossover(points, &Point::two_undivided), crossover(points, &Point::two));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  setenv("PILLION_STAGE_PATH", PILLION_BENCH_STAGES, 0);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    if (rank == 0) std::fputs("overlap: run me on 2 ranks\n", stderr);
    MPI_Finalize();
    return 2;
  }
  int64_t operations = rank == 0 ? operations_per_step() : 0;
  MPI_Bcast(&operations, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  std::vector<Point> points;
  for (const double ratio : {0.002, 0.01, 0.05, 0.2, 0.4, 0.6, 0.9, 1.2, 2.0}) {
    points.push_back(measure(ratio, operations, rank));
    if (rank == 0) print(points.back());
  }
  if (rank == 0) {
    conclude(points);
    std::filesystem::remove_all("bench_overlap.out");
    std::filesystem::remove(file);
  }
  MPI_Finalize();
  return 0;
}
