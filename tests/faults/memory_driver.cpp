// SPDX-License-Identifier: BSD-3-Clause
// A simulation in which one rank runs out of memory inside one call, for test_no_memory.py: its
// K-th allocation there fails, in one session after another, for K = 1, 1 + STRIDE, ... until the
// call needs no more than that. Whatever fails, no rank may wait for ever; a step succeeds on every
// rank, and any other call has the same status on all; what comes after it works.
//   memory_driver CONFIG STRIDE CALL RANK [FIRST]
// FIRST is the first K; a negative one counts from the call's last allocation.
// CALL is open, ready, first (step), step, checkpoint, close or restart; RANK is one of the job. If
// CALL is save, none fails; it makes the checkpoint that restart reads.
#include <mpi.h>
#include <pillion/pillion.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>
#include <string>
#include <string_view>

namespace {

// On the thread of the simulation only. 0: none fails.
thread_local long countdown = 0;

void* take(size_t size) {
  if (countdown > 0 && --countdown == 0) return nullptr;
  return std::malloc(size == 0 ? 1 : size);
}

}  // namespace

void* operator new(size_t size) {
  if (void* memory = take(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return take(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace {

const char* state = "state";

class Trial {
 public:
  Trial(const char* file, std::string_view call, int victim, long k)
      : file_(file), call_(call), k_(k) {
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank_);
    is_victim_ = world_rank_ == victim;
  }

  /// Allocations of the call that was tried, on the rank where it was.
  [[nodiscard]] long taken() const { return taken_; }

  /// Whether an allocation failed.
  bool run() {
    const bool opened = open();
    if (opened && pillion_serve(session_) == 0) simulate();
    return failed_;
  }

 private:
  // Runs one call, in which the allocation fails if it is the one that is tried.
  template <class F>
  pillion_status within(std::string_view name, F&& body) {
    const bool tried = name == call_ && is_victim_;
    if (tried) countdown = k_;
    const double begin = MPI_Wtime();
    const auto status = body();
    if (const double seconds = MPI_Wtime() - begin; seconds > longest_)
      std::printf("allocation %ld: %s took %.0f s\n", k_, std::string(name).c_str(), seconds);
    if (tried) failed_ = countdown == 0;
    if (tried) taken_ = k_ - countdown;
    countdown = 0;
    return status;
  }

  void expect(bool holds, const char* what) {
    if (!holds) std::printf("allocation %ld: %s: %s\n", k_, what, pillion_error_message());
  }

  // The same status on every rank of `comm`, and none but in the call that is tried.
  bool agreed(pillion_status status, const char* name, MPI_Comm comm) {
    int statuses[2] = {status, -status};
    MPI_Allreduce(MPI_IN_PLACE, statuses, 2, MPI_INT, MPI_MAX, comm);
    if (statuses[0] != -statuses[1]) {
      expect(false, (std::string(name) + " differs between ranks").c_str());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (call_ != name && !(call_ == "restart" && std::string_view(name) == "open"))
      expect(status == PILLION_OK, name);
    return status == PILLION_OK;
  }

  bool open() {
    pillion_options* options = nullptr;
    expect(pillion_options_create(&options) == PILLION_OK, "options");
    if (call_ == "restart") pillion_options_set_restart(options, state);
    const auto status = within(call_ == "restart" ? "restart" : "open", [&] {
      return pillion_open_with(file_, MPI_COMM_WORLD, options, &session_);
    });
    pillion_options_free(options);
    return agreed(status, "open", MPI_COMM_WORLD);
  }

  void simulate() {
    int rank = 0, ranks = 1;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(pillion_communicator(session_), &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    static const double density[512] = {};
    const int64_t lo[2] = {8 * rank / ranks, 0}, hi[2] = {8 * (rank + 1) / ranks, 8};
    expect(pillion_share_box_typed(session_, "density", 0, lo, hi, density, 0) == 0, "share");
    const bool ready =
        agreed(within("ready", [&] { return pillion_ready(session_); }), "ready", comm);
    const int64_t before = call_ == "restart" ? 10 : 0;
    const auto step = [&](int64_t number) {
      const auto name = number == 0 ? "first" : number == 1 ? "step" : "later step";
      expect(within(name,
                    [&] {
                      return pillion_step(session_, before + number,
                                          0.1 * static_cast<double>(before + number));
                    }) == PILLION_OK,
             name);
    };
    if (ready)
      for (int64_t number = 0; number < 3; ++number) step(number);
    if (ready && (call_ == "checkpoint" || call_ == "save")) {
      agreed(within("checkpoint", [&] { return pillion_checkpoint(session_, state); }),
             "checkpoint", comm);
      step(3);
    }
    const std::string report = pillion_report_path(session_);
    agreed(within("close", [&] { return pillion_close(session_); }), "close", comm);
    if (rank == 0 && call_ == "step") expect_one_dropped(report);
    MPI_Comm_free(&comm);
  }

  // A publication that one rank could not make is dropped, and no other.
  void expect_one_dropped(const std::string& report) {
    std::ifstream in(report);
    const std::string key = "\"dropped\": ";
    for (std::string line; std::getline(in, line);)
      if (const auto at = line.find(key); at != std::string::npos)
        if (const long dropped = std::atol(line.c_str() + at + key.size()); dropped > 1)
          std::printf("allocation %ld: %ld publications were dropped\n", k_, dropped);
  }

  static constexpr double longest_ = 30;  // seconds: half of the deadline

  const char* file_;
  std::string_view call_;
  long k_;
  int world_rank_ = 0;
  bool is_victim_ = false, failed_ = false;
  long taken_ = 0;
  pillion_session* session_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long stride = std::atol(argv[2]);
  const std::string_view call = argv[3];
  const int victim = std::atoi(argv[4]);
  const bool talks = std::getenv("MEMORY_DRIVER_TALKS") != nullptr;
  long k = argc > 5 ? std::atol(argv[5]) : 1;
  if (k < 0) {
    Trial whole(argv[1], call, victim, std::numeric_limits<long>::max());
    (void)whole.run();
    long taken = whole.taken();
    MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    k = std::max(taken + k, 1L);
  }
  long sessions = 0;
  for (int more = 1; more != 0; k += stride, ++sessions) {
    if (talks) std::fprintf(stderr, "k %ld\n", k);
    more = Trial(argv[1], call, victim, k).run() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("%ld sessions\n", sessions);
  MPI_Finalize();
  return 0;
}
