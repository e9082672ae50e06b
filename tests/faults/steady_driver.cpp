// SPDX-License-Identifier: BSD-3-Clause
// A simulation that publishes a few numbers again and again: the time at which each step began.
//   steady_driver CONFIG STEPS MILLISECONDS COLUMNS [regrid]
// waits MILLISECONDS after each step; from the second step on other ranks than rank 0 come half of
// that later. Prints what memory rank 0 has after a tenth of the steps, but 8,000 at least, and
// after all. Each simulation rank writes its process number to the file simulation-RANK. Each has
// COLUMNS columns of 8 cells; with `regrid` in memory that sidecars read in place, in another block
// after every 8 steps.
#include <mpi.h>
#include <pillion/pillion.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

#include "memory_use.hpp"

namespace {

/// As long as a solver, which does not sleep: the last millisecond is spent awake.
void compute(std::chrono::milliseconds pause) {
  if (pause.count() == 0) return;
  const double end = faults::monotonic_seconds() + 1e-3 * static_cast<double>(pause.count());
  std::this_thread::sleep_for(pause - std::chrono::milliseconds(1));
  while (faults::monotonic_seconds() < end) continue;
}

int fail(const char* call) {
  std::fprintf(stderr, "steady_driver: %s: %s\n", call, pillion_error_message());
  return 1;
}

/// The values of this rank, which all hold the time at which a step began.
class Values {
 public:
  Values(pillion_session* session, int rank, int64_t columns, bool regrids)
      : session_(session),
        lo_{columns * rank, 0},
        hi_{columns * (rank + 1), 8},
        own_(static_cast<size_t>(8 * columns)),
        regrids_(regrids) {
    if (!regrids) share(0, own_.data());
  }
  void set(int64_t step, double value) {
    void* data = own_.data();
    if (regrids_ && step % 8 == 0) {
      const auto block = static_cast<int32_t>(step / 8 % 2);
      if (step > 0) pillion_unshare(session_, "began", 1 - block);
      pillion_allocate(session_, "began", block, own_.size() * sizeof(double), 2, &data);
      share(block, data);
    } else if (regrids_) {
      pillion_swap(session_, "began", static_cast<int32_t>(step / 8 % 2), &data);
    }
    std::fill_n(static_cast<double*>(data), own_.size(), value);
  }

 private:
  void share(int32_t block, const void* data) {
    pillion_share_box_typed(session_, "began", block, lo_, hi_, data, PILLION_FLOAT64);
  }
  pillion_session* session_;
  int64_t lo_[2], hi_[2];
  std::vector<double> own_;
  bool regrids_;
};

void print_memory(const char* when) {
  for (const auto& [name, value] : faults::memory_use())
    std::printf("%s_%s %lld\n", name.c_str(), when, static_cast<long long>(value));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5) return 2;
  pillion_session* session = nullptr;
  if (pillion_open(argv[1], MPI_COMM_WORLD, &session) != PILLION_OK) return fail("open");
  if (pillion_serve(session) != 0) return MPI_Finalize();
  const int64_t steps = std::atoll(argv[2]);
  const std::chrono::milliseconds pause(std::atoi(argv[3]));
  const int64_t early = std::min(steps, std::max<int64_t>(steps / 10, 8000));
  int rank = 0;
  MPI_Comm_rank(pillion_communicator(session), &rank);
  std::ofstream("simulation-" + std::to_string(rank)) << getpid();
  Values values(session, rank, std::atoll(argv[4]), argc > 5);
  for (int64_t step = 0; step < steps; ++step) {
    values.set(step, faults::monotonic_seconds());
    if (pillion_step(session, step, static_cast<double>(step)) != PILLION_OK) return fail("step");
    if (rank == 0 && step + 1 == early) print_memory("early");
    // All ranks come to the first step together.
    if (step == 0 && rank > 0) compute(pause / 2);
    compute(pause);
  }
  if (rank == 0) print_memory("late");
  if (pillion_close(session) != PILLION_OK) return fail("close");
  return MPI_Finalize();
}
