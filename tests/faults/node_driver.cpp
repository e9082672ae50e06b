// SPDX-License-Identifier: BSD-3-Clause
// A simulation for the fault tests of the node transport: a chaotic map on a grid whose columns are
// coupled to their neighbours on other ranks, so that one wrong bit anywhere changes everything
// later, and particles. At its end it writes its whole state, and the extremes of every step, for
// comparison with a build of the same file with the header of no-ops.
//   node_driver CONFIG COLUMNS STEPS MILLISECONDS STATE CHECKPOINT [allocate]
// MILLISECONDS is how long a step takes, CHECKPOINT the step after which a checkpoint is made, or
// -1; with `allocate` the density lies in the session's memory.
#include <fcntl.h>
#include <mpi.h>
#include <pillion/pillion.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int64_t rows = 16;
constexpr int64_t particles = 200;

struct Simulation {
  int rank = 0, ranks = 1;
  MPI_Comm comm;
  int64_t lo[2], hi[2];
  std::vector<double> density, next, velocity;
  std::vector<int64_t> ids;
  std::vector<double> extremes;  ///< of every step so far: least and greatest density

  Simulation(MPI_Comm simulation, int64_t columns) : comm(simulation) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    lo[0] = columns * rank / ranks, hi[0] = columns * (rank + 1) / ranks;
    lo[1] = 0, hi[1] = rows;
    for (int64_t cell = lo[0] * rows; cell < hi[0] * rows; ++cell)
      density.push_back(0.1 + 0.8 * static_cast<double>(cell * 7919 % 104729) / 104729);
    next.resize(density.size());
    for (int64_t p = 0; p < particles; ++p) ids.push_back(rank * particles + p);
    velocity.assign(static_cast<size_t>(3 * particles), 0.5);
  }

  /// Columns are contiguous: the slower axis comes first here, and is the second one of the mesh.
  void advance() {
    const auto width = static_cast<size_t>(hi[0] - lo[0]);
    std::vector<double> mine(rows), theirs(rows);
    for (size_t j = 0; j < rows; ++j) mine[j] = density[j * width + width - 1];
    MPI_Sendrecv(mine.data(), rows, MPI_DOUBLE, (rank + 1) % ranks, 0, theirs.data(), rows,
                 MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, comm, MPI_STATUS_IGNORE);
    for (size_t j = 0; j < rows; ++j)
      for (size_t i = 0; i < width; ++i) {
        const double left = i == 0 ? theirs[j] : density[j * width + i - 1];
        const double x = 0.9 * density[j * width + i] + 0.1 * left;
        next[j * width + i] = 3.9 * x * (1 - x);
      }
    density.swap(next);
    for (size_t v = 0; v < velocity.size(); ++v)
      velocity[v] = 3.9 * velocity[v] * (1 - velocity[v]) + 1e-9 * static_cast<double>(v);
  }

  void note_extremes() {
    double local[2] = {-density[0], density[0]}, all[2];
    for (const double x : density) {
      local[0] = std::max(local[0], -x);
      local[1] = std::max(local[1], x);
    }
    MPI_Allreduce(local, all, 2, MPI_DOUBLE, MPI_MAX, comm);
    extremes.insert(extremes.end(), {-all[0], all[1]});
  }

  void write_state(const std::string& path) const {
    for (int r = 0; r < ranks; ++r) {
      MPI_Barrier(comm);
      if (r != rank) continue;
      std::ofstream file(path, r == 0 ? std::ios::binary : std::ios::binary | std::ios::app);
      const auto put = [&](const std::vector<double>& values) {
        file.write(reinterpret_cast<const char*>(values.data()),
                   static_cast<std::streamsize>(values.size() * sizeof(double)));
      };
      if (r == 0) put(extremes);
      put(density);
      put(velocity);
    }
    MPI_Barrier(comm);
  }
};

/// Where the density is shared from: the simulation's own memory, or a copy in the session's.
class Shared {
 public:
  Shared(pillion_session* session, Simulation& simulation, bool allocate)
      : session_(session), simulation_(simulation) {
    pillion_domain domain{};
    for (int axis = 0; axis < 3; ++axis) domain.hi[axis] = 1;
    pillion_set_domain(session, "atoms", &domain);
    for (const char* name : {"id", "velocity"})
      pillion_share_particles_typed(session, name, 0, particles,
                                    name[0] == 'i' ? static_cast<void*>(simulation.ids.data())
                                                   : static_cast<void*>(simulation.velocity.data()),
                                    name[0] == 'i' ? PILLION_INT64 : PILLION_FLOAT64);
#if PILLION_ENABLED
    if (allocate) pillion_allocate(session, "density", 0, bytes(), 2, &memory_);
#else
    (void)allocate;
#endif
    if (memory_ != nullptr) offer(memory_);
  }

  void refresh() {
    if (memory_ == nullptr) return offer(simulation_.density.data());
#if PILLION_ENABLED
    pillion_swap(session_, "density", 0, &memory_);
#endif
    std::memcpy(memory_, simulation_.density.data(), bytes());
  }

 private:
  [[nodiscard]] size_t bytes() const { return simulation_.density.size() * sizeof(double); }
  void offer(const void* data) {
    pillion_share_box_typed(session_, "density", 0, simulation_.lo, simulation_.hi, data,
                            PILLION_FLOAT64);
  }
  pillion_session* session_;
  Simulation& simulation_;
  void* memory_ = nullptr;
};

/// Survives this process, so that a test knows how far it came.
void note_progress(int rank, int64_t step) {
  if (PILLION_ENABLED == 0) return;
  static const int file =
      open(("progress-" + std::to_string(rank)).c_str(), O_CREAT | O_WRONLY, 0600);
  (void)!pwrite(file, &step, sizeof step, 0);
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A thread that sleeps for 10 ms again and again, and adds up how much too late it wakes: for so
/// long this process had no core, or was stopped, and no library could have done anything about it.
class Watchdog {
 public:
  ~Watchdog() {
    end_ = true;
    thread_.join();
  }
  /// Seconds that it has overslept so far; with those of the sleep that has not ended yet.
  [[nodiscard]] double overslept() const {
    const std::lock_guard lock(mutex_);
    return late_ + std::max(0.0, seconds_now() - woke_ - nap);
  }

 private:
  static constexpr double nap = 0.01;
  void watch() {
    while (!end_) {
      std::this_thread::sleep_for(std::chrono::duration<double>(nap));
      // Together, or a reader between would count the same time twice.
      const std::lock_guard lock(mutex_);
      const double now = seconds_now();
      late_ += std::max(0.0, now - woke_ - nap);
      woke_ = now;
    }
  }
  mutable std::mutex mutex_;
  double late_ = 0;
  double woke_ = seconds_now();
  std::atomic<bool> end_ = false;
  std::thread thread_{[this] { watch(); }};
};

/// How long Pillion's calls have taken on this rank, less what the watchdog overslept meanwhile,
/// for comparison with the promised bound: all of them, and the one that took longest.
class Delay {
 public:
  template <class Call>
  pillion_status of(const std::string& name, Call&& call) {
    const double begin = seconds_now();
    const double late = watchdog_.overslept();
    const auto status = call();
    const double seconds = seconds_now() - begin - (watchdog_.overslept() - late);
    total_ += seconds;
    if (seconds > longest_) longest_ = seconds, longest_call_ = name;
    return status;
  }
  void write(int rank) const {
    if (PILLION_ENABLED == 0) return;
    std::ofstream("delay-" + std::to_string(rank))
        << total_ << ' ' << longest_ << ' ' << longest_call_;
  }

 private:
  Watchdog watchdog_;
  double total_ = 0;
  double longest_ = 0;
  std::string longest_call_ = "none";
};

int stop(const char* call) {
  std::fprintf(stderr, "node_driver: %s: %s\n", call, pillion_error_message());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Delay delay;
  pillion_session* session = nullptr;
  const auto open = [&] { return pillion_open(argv[1], MPI_COMM_WORLD, &session); };
  if (delay.of("open", open) != PILLION_OK) return stop("open");
  if (pillion_serve(session) != 0) return MPI_Finalize();
  {
    Simulation simulation(pillion_communicator(session), std::atoll(argv[2]));
    Shared shared(session, simulation, argc > 7 && std::string(argv[7]) == "allocate");
    const int64_t steps = std::atoll(argv[3]), checkpoint = std::atoll(argv[6]);
    for (int64_t step = 0; step < steps; ++step) {
      simulation.advance();
      simulation.note_extremes();
      std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(argv[4])));
      shared.refresh();
      const double time = 0.5 * static_cast<double>(step);
      const auto publish = [&] { return pillion_step(session, step, time); };
      if (delay.of("step " + std::to_string(step), publish) != PILLION_OK) return stop("step");
      note_progress(simulation.rank, step);
      // It may fail, for want of sidecars or of room on the disk, but may not take long.
      if (step == checkpoint)
        delay.of("checkpoint", [&] { return pillion_checkpoint(session, "checkpoint"); });
    }
    simulation.write_state(argv[5]);
    if (delay.of("close", [&] { return pillion_close(session); }) != PILLION_OK)
      return stop("close");
    delay.write(simulation.rank);
  }
  return MPI_Finalize();
}
