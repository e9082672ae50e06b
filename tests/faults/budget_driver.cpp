// SPDX-License-Identifier: BSD-3-Clause
// A simulation that takes and gives back memory of the session's at every step, on meshes of all
// kinds, and measures what Pillion has while its sidecars do not come on.
//   budget_driver CONFIG STEPS [HERE]
// Each step it regrids boxes, elements and particles that lie in memory of pillion_allocate, moves
// points and changes cells; a constant field has other boxes now and then. All values of a step are
// its number, those of the constant field are 1. With HERE, it takes steps until that file is
// there. After STEPS more it makes the file `open`, for which the stage `gate` waits, and takes ten
// steps at a pace that suits sidecars. Prints, in bytes, the most that all simulation ranks
// together had beside what the program held of the session's memory, shared and private.
#include <mpi.h>
#include <pillion/pillion.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <thread>
#include <vector>

#include "memory_use.hpp"

namespace {

void check(pillion_status status) {
  if (status != PILLION_OK) throw std::runtime_error(pillion_error_message());
}

/// Bytes of the nameless files in /dev/shm that these ranks have open, each once.
int64_t shared_memory(MPI_Comm ranks) {
  constexpr size_t most = 16;
  std::array<int64_t, 2 * most> mine{};  // pairs of a file's number and its bytes
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const auto path = std::filesystem::read_symlink(entry.path(), error).string();
    struct stat status {};
    if (path.rfind("/dev/shm/#", 0) != 0 || stat(entry.path().c_str(), &status) != 0) continue;
    if (count == most) throw std::runtime_error("too many files in /dev/shm");
    mine[2 * count] = static_cast<int64_t>(status.st_ino);
    mine[2 * count++ + 1] = status.st_blocks * 512;
  }
  int size = 0;
  MPI_Comm_size(ranks, &size);
  std::vector<int64_t> all(static_cast<size_t>(size) * mine.size());
  MPI_Allgather(mine.data(), static_cast<int>(mine.size()), MPI_INT64_T, all.data(),
                static_cast<int>(mine.size()), MPI_INT64_T, ranks);
  std::map<int64_t, int64_t> files;
  for (size_t f = 0; f < all.size(); f += 2) files[all[f]] = all[f + 1];
  int64_t bytes = 0;
  for (const auto& [number, each] : files) bytes += each;
  return bytes;
}

template <class Holds>
void await(Holds&& holds) {
  for (int n = 0; !holds(); ++n) {
    if (n == 30'000) throw std::runtime_error("waited in vain");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

constexpr int32_t buffers = 2;
constexpr int64_t page = 4096;

/// One rank: its memory, and what it shares.
class Program {
 public:
  explicit Program(pillion_session* session) : session_(session) {
    MPI_Comm_rank(pillion_communicator(session), &rank_);
    pillion_domain domain{};
    for (double& end : domain.hi) end = 1;
    check(pillion_set_domain(session, "dots", &domain));
  }

  void share(int64_t step) {
    const auto value = static_cast<double>(step);
    share_boxes("density", "uniform", step, value);
    share_boxes("heat", "rectilinear", step, value);
    share_boxes("shear", "curvilinear", step, value);
    share_items("speed", step, value, 27, &pillion_share_elements_typed);
    share_items("mass", step, value, 1, &pillion_share_particles_typed);
    share_cells(step, value);
    if (step % 8 == 0) share_constant(step);
  }
  /// Bytes that the program holds of the session's memory, on all ranks.
  [[nodiscard]] int64_t held() const {
    int64_t mine = 0, all = 0;
    for (const auto& [key, bytes] : held_) mine += bytes;
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, pillion_communicator(session_));
    return all;
  }

 private:
  /// Memory for `count` numbers, all of them `value`; what the block had before is given back.
  double* take(const char* field, int32_t block, int64_t count, double value) {
    const auto bytes = static_cast<size_t>(count) * sizeof(double);
    if (held_.count({field, block}) != 0) check(pillion_unshare(session_, field, block));
    void* data = nullptr;
    check(pillion_allocate(session_, field, block, bytes, buffers, &data));
    held_[{field, block}] = buffers * ((static_cast<int64_t>(bytes) + page - 1) / page * page);
    auto* const values = static_cast<double*>(data);
    std::fill_n(values, count, value);
    return values;
  }

  /// 32 x 32 x 4 cells of a rank, cut into two blocks elsewhere at each step.
  void share_boxes(const char* field, const char* mesh, int64_t step, double value) {
    const bool is_points = std::string(mesh) == "curvilinear";
    for (int32_t block = 0; block < 2; ++block) {
      const int64_t cut = 12 + step % 8;
      const int64_t lo[3] = {block == 0 ? 0 : cut, 0, 4 * rank_};
      const int64_t hi[3] = {block == 0 ? cut : 32, 32, 4 * rank_ + 4};
      const int64_t cells = (hi[0] - lo[0]) * 32 * 4;
      check(pillion_share_box_typed(session_, field, block, lo, hi,
                                    take(field, block, cells, value), PILLION_FLOAT64));
      if (is_points) share_corners(block, lo, hi, step);
    }
  }

  void share_corners(int32_t block, const int64_t* lo, const int64_t* hi, int64_t step) {
    const int64_t n[3] = {hi[0] - lo[0] + 1, hi[1] - lo[1] + 1, hi[2] - lo[2] + 1};
    double* to = take("corners", block, 3 * n[0] * n[1] * n[2], 0);
    const double* const first = to;
    for (int64_t k = lo[2]; k <= hi[2]; ++k)
      for (int64_t j = lo[1]; j <= hi[1]; ++j)
        for (int64_t i = lo[0]; i <= hi[0]; ++i) {
          *to++ = static_cast<double>(i) + 1e-3 * static_cast<double>(step);
          *to++ = static_cast<double>(j);
          *to++ = static_cast<double>(k);
        }
    check(pillion_share_box_typed(session_, "corners", block, lo, hi, first, PILLION_FLOAT64));
  }

  using ShareItems = pillion_status (*)(pillion_session*, const char*, int32_t, int64_t,
                                        const void*, pillion_type);
  void share_items(const char* field, int64_t step, double value, int64_t each, ShareItems share) {
    const int64_t count = (4000 + step % 7) / each;
    check(share(session_, field, 0, count, take(field, 0, count * each, value), PILLION_FLOAT64));
  }

  /// A row of hexahedra, at each step one longer, which move.
  void share_cells(int64_t step, double value) {
    const int64_t cells = 1000 + step % 5;
    points_.clear();
    corners_.clear();
    for (int64_t i = 0; i <= cells; ++i)
      for (int corner = 0; corner < 4; ++corner)
        for (const double x :
             {static_cast<double>(i) + 0.5 * value, static_cast<double>(corner == 1 || corner == 2),
              static_cast<double>(corner / 2) + 2.0 * rank_})
          points_.push_back(x);
    for (int64_t i = 0; i < cells; ++i)
      for (int64_t corner = 0; corner < 8; ++corner)
        corners_.push_back(static_cast<int32_t>(4 * i + corner));
    pillion_points points{};
    points.size = sizeof points;
    points.count = 4 * (cells + 1);
    points.type = PILLION_FLOAT64;
    points.data[0] = points_.data();
    check(pillion_share_points(session_, "pipe", 0, &points));
    pillion_cells shared{};
    shared.size = sizeof shared;
    shared.count = cells;
    shared.type = 12;
    shared.index_type = PILLION_INT32;
    shared.points = corners_.data();
    check(pillion_share_cells(session_, "pipe", 0, &shared));
    double* const values = take("flow", 0, cells, value);
    check(pillion_share_values_typed(session_, "flow", 0, cells, values, PILLION_FLOAT64));
  }

  /// Private memory of the program, in one box or the other.
  void share_constant(int64_t step) {
    const int64_t lo[3] = {0, 0, 4 * rank_}, hi[3] = {32, 32, 4 * rank_ + 4};
    constant_.assign(32 * 32 * 4, 1);
    check(pillion_unshare(session_, "depth", step / 8 % 2 == 0 ? 1 : 0));
    check(pillion_share_box_typed(session_, "depth", static_cast<int32_t>(step / 8 % 2), lo, hi,
                                  constant_.data(), PILLION_FLOAT64));
  }

  pillion_session* session_;
  int rank_ = 0;
  std::map<std::pair<std::string, int32_t>, int64_t> held_;
  std::vector<double> points_, constant_;
  std::vector<int32_t> corners_;
};

/// What all ranks have, and the most of it so far.
class Gauge {
 public:
  explicit Gauge(MPI_Comm ranks) : ranks_(ranks), own_(own()) {}
  void look(int64_t held) {
    MPI_Barrier(ranks_);
    const int64_t mine = own() - own_;
    int64_t all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, ranks_);
    most_ = std::max(most_, shared_memory(ranks_) + all - held);
  }
  [[nodiscard]] int64_t most() const { return most_; }

 private:
  static int64_t own() { return 1024 * faults::memory_use().at("anonymous"); }
  MPI_Comm ranks_;
  int64_t own_, most_ = 0;
};

/// Until sidecars have finished all; a rank that sends over the network learns that in its next
/// step.
void give_time(pillion_session* session, int naps) {
  pillion_progress progress{};
  progress.behind = 1;
  for (int n = 0; n < naps && progress.behind > 0; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    check(pillion_get_progress(session, &progress));
  }
}

int run(int argc, char** argv) {
  pillion_session* session = nullptr;
  check(pillion_open(argv[1], MPI_COMM_WORLD, &session));
  if (pillion_serve(session) != 0) return 0;
  const int64_t steps = std::atoll(argv[2]);
  const MPI_Comm ranks = pillion_communicator(session);
  int rank = 0;
  MPI_Comm_rank(ranks, &rank);
  Program program(session);
  Gauge gauge(ranks);
  int64_t step = 0;
  if (argc > 3)
    await([&] {
      program.share(step);
      check(pillion_step(session, step, static_cast<double>(step)));
      ++step;
      int here = std::ifstream(argv[3]).good() ? 1 : 0;
      MPI_Bcast(&here, 1, MPI_INT, 0, ranks);
      return here != 0;
    });
  const int64_t end = step + steps;
  for (; step < end; ++step) {
    program.share(step);
    gauge.look(program.held());
    check(pillion_step(session, step, static_cast<double>(step)));
    gauge.look(program.held());
  }
  if (rank == 0) std::ofstream("open");
  for (; step < end + 10; ++step) {
    give_time(session, argc > 3 ? 50 : 10'000);  // without HERE sidecars have still to come
    MPI_Barrier(ranks);
    program.share(step);
    check(pillion_step(session, step, static_cast<double>(step)));
  }
  if (rank == 0) std::printf("%lld\n", static_cast<long long>(gauge.most()));
  std::fflush(stdout);
  check(pillion_close(session));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 2;
  try {
    if (argc >= 3) status = run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "budget_driver: %s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
  return status;
}
