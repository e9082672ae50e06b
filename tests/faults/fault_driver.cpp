// SPDX-License-Identifier: BSD-3-Clause
// A small simulation on a grid of 8 x 4 cells, cut along the first axis, and with particles, that
// can be told to share wrongly. Every rank prints one line: "rank R: ok" or "rank R: CALL:
// MESSAGE".
//   fault_driver CONFIG STEPS
//     [wrong-type|wrong-box|overlap|hole|unshared|late|no-close|ballast|pause=MS
//      |counts=LIST|timed|ballast-timed|until-stop|until-stop-two|until-stop-wave
//      |until-stop-lent]
// `ballast` also shares 64 MiB of a field of that name. `timed` saves `checkpoint` at the end, and
// prints how long that and the close took. `until-stop` shares ballast, pauses 5 ms a step, and
// ends at the step that finds a file `stop`; `until-stop-two` shares it a second time as `other`.
// `until-stop-wave` shares 1 MiB as `wave` instead, all of whose cells hold the step;
// `until-stop-lent` has it in memory that sidecars read in place.
// `counts=FIRST:LAST:TIME,...` offers steps FIRST to LAST, the first at TIME, then those of the
// next entry, and saves `checkpoint`.
//
// Where the environment says so, a sidecar hangs: FAULT_HANG=notice, when it has told the first
// simulation rank that it failed; FAULT_HANG=timeline, when it puts its timeline in place. With
// FAULT_HANG=disk, each pwrite to a file without a name takes two seconds; with FAULT_HANG=report,
// it takes three to put the report in place.
#include <dlfcn.h>
#include <mpi.h>
#include <pillion/pillion.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

bool hangs_at(const char* point) {
  const char* chosen = std::getenv("FAULT_HANG");
  return chosen != nullptr && std::string(chosen) == point;
}

}  // namespace

// The library calls these instead of those of MPI and of the system.

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
                         MPI_Comm comm, MPI_Request* request) {
  constexpr int sidecar_failure = 14;  // as in src/comm/message.hpp
  static int notices = 0;
  if (tag == sidecar_failure && hangs_at("notice") && notices++ == 1)
    for (;;) pause();
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

extern "C" ssize_t pwrite(int file, const void* data, size_t size, off_t offset) {
  struct stat status {};
  const bool is_nameless = fstat(file, &status) == 0 && status.st_nlink == 0;
  if (is_nameless && hangs_at("disk")) std::this_thread::sleep_for(std::chrono::seconds(2));
  static const auto next =
      reinterpret_cast<ssize_t (*)(int, const void*, size_t, off_t)>(dlsym(RTLD_NEXT, "pwrite"));
  return next(file, data, size, offset);
}

extern "C" int rename(const char* from, const char* to) noexcept {
  if (hangs_at("timeline") && std::string(to).find("timeline/sidecar") != std::string::npos)
    for (;;) pause();
  if (hangs_at("report") && std::string(to).ends_with("/report.json"))
    std::this_thread::sleep_for(std::chrono::seconds(3));
  static const auto next =
      reinterpret_cast<int (*)(const char*, const char*)>(dlsym(RTLD_NEXT, "rename"));
  return next(from, to);
}

namespace {

struct Simulation {
  int rank = 0, ranks = 1;
  int64_t lo[2], hi[2];
  std::vector<double> density;
  std::vector<float> singles;
  std::vector<double> ballast;

  explicit Simulation(MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    lo[0] = 8 * rank / ranks, hi[0] = 8 * (rank + 1) / ranks;
    lo[1] = 0, hi[1] = 4;
    density.assign(static_cast<size_t>((hi[0] - lo[0] + 2) * 4), 1.0);
    singles.assign(density.size(), 1.0f);
  }

  void share(pillion_session* session, const std::string& fault) {
    const bool last = rank == ranks - 1;
    if (fault == "unshared") return;
    if (fault == "wrong-box" && last) hi[0] += 1;
    if (fault == "overlap" && last && ranks > 1) lo[0] -= 1;
    if (fault == "hole" && last) hi[0] -= 1;
    if (fault == "wrong-type" && last)
      pillion_share_box_typed(session, "density", 0, lo, hi, singles.data(), PILLION_FLOAT32);
    else pillion_share_box_typed(session, "density", 0, lo, hi, density.data(), PILLION_FLOAT64);
  }

  void share_ballast(pillion_session* session, std::initializer_list<const char*> names,
                     int64_t cells = int64_t{8} << 20) {
    const int64_t first = cells * rank / ranks, last = cells * (rank + 1) / ranks;
    ballast.assign(static_cast<size_t>(last - first), 1.0);
    for (const auto* name : names)
      pillion_share_box_typed(session, name, 0, &first, &last, ballast.data(), PILLION_FLOAT64);
  }

  static constexpr int64_t wave_cells = int64_t{1} << 17;
  double* lent = nullptr;
  void share_lent(pillion_session* session) {
    const int64_t first = wave_cells * rank / ranks, last = wave_cells * (rank + 1) / ranks;
    void* data = nullptr;
    pillion_allocate(session, "wave", 0, static_cast<size_t>(last - first) * sizeof(double), 3,
                     &data);
    lent = static_cast<double*>(data);
    ballast.resize(static_cast<size_t>(last - first));
    pillion_share_box_typed(session, "wave", 0, &first, &last, data, PILLION_FLOAT64);
  }

  void make_wave(pillion_session* session, int64_t step) {
    void* data = ballast.data();
    if (lent != nullptr) pillion_swap(session, "wave", 0, &data);
    std::fill_n(static_cast<double*>(data), ballast.size(), static_cast<double>(step));
  }

  /// All cells hold the step; so a test can tell which step a result is of.
  void solve(int64_t step) {
    for (auto& value : density) value = static_cast<double>(step);
  }
};

int say(int rank, const char* call) {
  std::printf("rank %d: %s: %s\n", rank, call, pillion_error_message());
  return 1;
}

/// Offers what a `counts=` says; the density of a step is its time.
bool offer_counts(pillion_session* session, Simulation& simulation, const std::string& list) {
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    long long first = 0, last = 0;
    double time = 0;
    if (std::sscanf(entry.c_str(), "%lld:%lld:%lf", &first, &last, &time) != 3) return false;
    for (int64_t step = first; step <= last; ++step) {
      const double now = time + 0.1 * static_cast<double>(step - first);
      for (auto& value : simulation.density) value = now;
      if (pillion_step(session, step, now) != PILLION_OK) return false;
    }
  }
  return pillion_checkpoint(session, "checkpoint") == PILLION_OK;
}

/// What fails is only printed: the caller judges by it, and by the seconds.
int end_timed(pillion_session* session, int rank) {
  const auto timed = [&](const char* name, auto&& call) {
    const auto begin = std::chrono::steady_clock::now();
    const bool succeeded = call() == PILLION_OK;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("rank %d: %s %s seconds=%.3f %s\n", rank, name, succeeded ? "succeeded" : "failed",
                seconds.count(), succeeded ? "" : pillion_error_message());
    std::fflush(stdout);
  };
  timed("checkpoint", [&] { return pillion_checkpoint(session, "checkpoint"); });
  timed("close", [&] { return pillion_close(session); });
  return 0;
}

int run_steps(pillion_session* session, int64_t steps, const std::string& fault, int rank) {
  Simulation simulation(pillion_communicator(session));
  simulation.share(session, fault);
  const bool until_stop = fault.starts_with("until-stop");
  const bool is_lent = fault == "until-stop-lent";
  const bool has_wave = is_lent || fault == "until-stop-wave";
  if (is_lent) simulation.share_lent(session);
  else if (has_wave) simulation.share_ballast(session, {"wave"}, Simulation::wave_cells);
  else if (fault == "until-stop-two") simulation.share_ballast(session, {"ballast", "other"});
  else if (fault.starts_with("ballast") || until_stop)
    simulation.share_ballast(session, {"ballast"});
  if (fault.starts_with("counts=")) {
    if (!offer_counts(session, simulation, fault.substr(7))) return say(rank, "counts");
    return pillion_close(session) == PILLION_OK ? 0 : say(rank, "close");
  }
  const int pause = until_stop ? 5 : fault.starts_with("pause=") ? std::atoi(fault.c_str() + 6) : 0;
  std::chrono::steady_clock::duration longest{};
  for (int64_t step = 0; step <= steps; ++step) {
    if (until_stop && std::filesystem::exists("stop")) break;
    simulation.solve(step);
    if (has_wave) simulation.make_wave(session, step);
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    // From the middle on, the last rank shares a type that does not fit.
    if (fault == "late" && step == steps / 2) simulation.share(session, "wrong-type");
    const auto begin = std::chrono::steady_clock::now();
    const auto status = pillion_step(session, step, 0.1 * static_cast<double>(step));
    longest = std::max(longest, std::chrono::steady_clock::now() - begin);
    if (status != PILLION_OK) {
      say(rank, "step");
      pillion_close(session);
      return 1;
    }
  }
  pillion_progress progress;
  pillion_get_progress(session, &progress);
  std::printf("rank %d: progress skipped=%lld stall=%.3f disabled=%lld longest=%.3f\n", rank,
              static_cast<long long>(progress.skipped), progress.stall_seconds,
              static_cast<long long>(progress.disabled),
              std::chrono::duration<double>(longest).count());
  if (fault == "no-close") return 0;
  if (fault.ends_with("timed")) return end_timed(session, rank);
  if (pillion_close(session) != PILLION_OK) return say(rank, "close");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  pillion_session* session = nullptr;
  int result = 0;
  if (pillion_open(argv[1], MPI_COMM_WORLD, &session) != PILLION_OK) result = say(rank, "open");
  else if (pillion_serve(session) == 0)
    result = run_steps(session, std::atoll(argv[2]), argc > 3 ? argv[3] : "", rank);
  if (result == 0) std::printf("rank %d: ok\n", rank);
  std::fflush(stdout);
  MPI_Finalize();
  return result;
}
