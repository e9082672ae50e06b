// SPDX-License-Identifier: BSD-3-Clause
// The study of the engine: a whole run, from open to close, and the start of another from its
// checkpoint, with the library itself. Sidecars are ranks of the job. Prints a line of JSON for
// each phase. Run it by engine.sh.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <optional>
#include <pillion/session.hpp>
#include <string>
#include <vector>

#include "engine_mpi.hpp"

namespace {

using namespace study;
using pillion::Session;

struct Case {
  int ranks, sidecars;
  std::string folder;
  int64_t side = 8;           ///< cells of a rank's box along each axis
  double quiet = 5e-3;        ///< seconds without a message after which a phase is over
  bool is_hand_over = false;  ///< only publications: of large boxes, to sidecars on the last nodes
  [[nodiscard]] int simulation() const { return ranks - sidecars; }
};

/// Boxes of the simulation along each axis.
std::array<int64_t, 3> grid_of(int ranks) {
  std::array<int, 3> dims{};
  MPI_Dims_create(ranks, 3, dims.data());
  return {dims[0], dims[1], dims[2]};
}

constexpr const char* more_analyses =
    "  plane:\n    every: 1 step\n    stages:\n"
    "      - slice: {field: density, pixels: 32, at: sidecar}\n"
    "  series:\n    every: 1 step\n    stages:\n"
    "      - autocorrelation: {field: density, lags: 2, at: sidecar}\n";

std::string configuration(const Case& c) {
  const auto grid = grid_of(c.simulation());
  std::string cells;
  for (const int64_t n : grid) cells += (cells.empty() ? "" : ", ") + std::to_string(n * c.side);
  return "output: " + c.folder + "/out\nsidecars: {ranks: " + std::to_string(c.sidecars) +
         (c.is_hand_over ? ", memory: 4 GiB, receive: 4 GiB, mapping: contiguous"
                         : ", memory: 64 MiB") +
         ", when_full: wait, deadline: 1000 s}\n"
         "meshes:\n  grid: {kind: uniform, cells: [" +
         cells +
         "], length: [1, 1, 1]}\n"
         "fields:\n  density: {mesh: grid, type: float64}\n"
         "analyses:\n"
         "  moments:\n    every: 1 step\n    stages:\n"
         "      - statistics: {fields: [density], at: sidecar}\n" +
         (c.is_hand_over ? "" : more_analyses);
}

/// Runs one phase after the other, each when all ranks are quiet, and prints what each took.
class Phases {
 public:
  /// [collective]
  Phases(MPI_Comm comm, const Case& c) : case_(c) {
    PMPI_Comm_dup(comm, &comm_);  // outlives the session
    PMPI_Comm_rank(comm_, &rank_);
  }
  Phases(const Phases&) = delete;
  Phases& operator=(const Phases&) = delete;
  ~Phases() { PMPI_Comm_free(&comm_); }

  /// Runs `work` on the ranks of the communicator; all ranks of the world are counted. [collective]
  void run(const char* name, const std::function<void()>& work) {
    settle();
    if (rank_ == 0) {
      reset_peaks();
      before_.clear();
      for (int r = 0; r < case_.ranks; ++r) before_.push_back(counters(r));
    }
    meet_uncounted(comm_);
    const double began = clock_.monotonic_seconds();
    work();
    const double most = most_uncounted(comm_, clock_.monotonic_seconds() - began);
    settle();
    if (rank_ == 0) print(name, most, latest_message() - began);
    meet_uncounted(comm_);
  }

 private:
  /// Waits until sidecars have finished what they do. [collective]
  void settle() {
    for (double left; (left = latest_message() + case_.quiet - clock_.monotonic_seconds()) > 1e-6;)
      rest_uncounted(left);
    meet_uncounted(comm_);
  }

  void print(const char* name, double seconds, double finished) const {
    Counters most, sum;
    for (int r = 0; r < case_.ranks; ++r) {
      const auto &now = counters(r), &before = before_[static_cast<size_t>(r)];
      const auto take = [&](auto member) {
        const auto value = now.*member - before.*member;
        most.*member = std::max(most.*member, value);
        sum.*member += value;
      };
      take(&Counters::messages);
      take(&Counters::bytes);
      take(&Counters::collectives);
      take(&Counters::creating);
      take(&Counters::processor);
      most.peak = std::max(most.peak, now.peak);
      sum.peak += now.peak;
    }
    const auto mean = [&](auto value) {
      return static_cast<double>(value) / static_cast<double>(case_.ranks);
    };
    std::printf(
        "{\"phase\": \"%s\", \"ranks\": %d, \"sidecars\": %d, \"seconds\": %.6g, "
        "\"finished_seconds\": %.6g, \"creating_seconds\": %.6g, \"messages\": %lld, "
        "\"messages_mean\": %.6g, \"bytes\": %lld, "
        "\"bytes_mean\": %.6g, \"collectives\": "
        "%lld, \"processor_seconds\": %.4g, \"processor_seconds_mean\": %.4g, \"memory\": %lld, "
        "\"memory_mean\": %.6g}\n",
        name, case_.ranks, case_.sidecars, seconds, std::max(seconds, finished), most.creating,
        static_cast<long long>(most.messages), mean(sum.messages),
        static_cast<long long>(most.bytes), mean(sum.bytes),
        static_cast<long long>(most.collectives), most.processor, mean(sum.processor),
        static_cast<long long>(most.peak), mean(sum.peak));
    std::fflush(stdout);
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  const Case& case_;
  int rank_ = 0;
  std::vector<Counters> before_;
  SimulatedClock clock_;
};

/// What one simulation rank shares: a box of its own.
std::vector<double> share_box(Session& session, const Case& c) {
  int rank = 0;
  MPI_Comm_rank(session.communicator(), &rank);
  const auto grid = grid_of(c.simulation());
  const int64_t side = c.side;
  const std::array<int64_t, 3> at = {rank % grid[0], rank / grid[0] % grid[1],
                                     rank / (grid[0] * grid[1])};
  std::vector<double> values(static_cast<size_t>(side * side * side));
  for (size_t i = 0; i < values.size(); ++i) values[i] = rank + 1e-3 * static_cast<double>(i);
  session.share("density", values.data(),
                pillion::Box({at[0] * side, at[1] * side, at[2] * side},
                             {(at[0] + 1) * side, (at[1] + 1) * side, (at[2] + 1) * side}));
  return values;
}

void live(const Case& c, Phases& world) {
  const std::string file = c.folder + "/pillion.yaml", saved = c.folder + "/saved";
  std::optional<Session> session;
  world.run("open", [&] { session = Session::open(file, MPI_COMM_WORLD); });
  if (!session->serve()) {
    Phases phases(session->communicator(), c);
    const auto values = share_box(*session, c);
    phases.run("first step", [&] { session->step(0, 0); });
    phases.run("3 publications", [&] {
      for (int step = 1; step <= 3; ++step) session->step(step, 0.1 * step);
    });
    if (c.is_hand_over) return session->close();
    phases.run("checkpoint", [&] { session->checkpoint(saved); });
    phases.run("close", [&] { session->close(); });
  }
  session.reset();
  if (c.is_hand_over) return;
  meet_uncounted(MPI_COMM_WORLD);
  world.run("restart", [&] {
    session = Session::open(file, MPI_COMM_WORLD, pillion::Options().restart(saved));
  });
  if (session->serve()) return;
  const auto values = share_box(*session, c);
  session->step(4, 0.4);
  session->close();
}

}  // namespace

// Else hidden, as the library is.
__attribute__((visibility("default"))) int main(int argc, char** argv) {
  static SimulatedClock clock;
  MPI_Init(&argc, &argv);
  pillion::base::set_clock(&clock);
  Case c{0, 0, argc > 2 ? argv[2] : ""};
  int rank = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &c.ranks);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 3 || argc > 4) {
    if (rank == 0) std::fputs("engine: usage: engine SIDECARS FOLDER [CELLS]\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  c.sidecars = std::atoi(argv[1]);
  if (argc == 4) {
    c.is_hand_over = true;
    c.side = std::atoll(argv[3]);
    c.quiet = 1;
  }
  if (rank == 0) std::ofstream(c.folder + "/pillion.yaml") << configuration(c);
  begin_counting();
  {
    Phases world(MPI_COMM_WORLD, c);
    std::string failure;
    try {
      live(c, world);
    } catch (const std::exception& e) {
      failure = e.what();
    }
    // Outside of the handler: ranks are contexts of one thread, which has one list of exceptions.
    if (!failure.empty()) {
      std::fprintf(stderr, "engine: rank %d: %s\n", rank, failure.c_str());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  end_counting();
  MPI_Finalize();
  return 0;
}
