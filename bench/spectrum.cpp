// SPDX-License-Identifier: BSD-3-Clause
// What a power spectrum costs besides its Fourier transform: the stage `power_spectrum` on 256^3
// cells, from the shared field to the table, against FFTW's own forward transform of as many reals
// on the same ranks, planned with as much effort. The field is shared in slabs, and in boxes of
// 32^3 cells that lie with the ranks in turn. Argument: cells per side.
#include <fftw3-mpi.h>
#include <pillion/pillion.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "timing.hpp"

namespace {

using bench::median;
using bench::seconds_of;

constexpr const char* file = "bench_spectrum.yaml";
constexpr int64_t repetitions = 9;

void check(pillion_status status) {
  if (status == PILLION_OK) return;
  std::fprintf(stderr, "spectrum: %s\n", pillion_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

double value_at(int64_t i, int64_t j, int64_t k) {
  return 2 + std::sin(0.1 * static_cast<double>(i)) +
         0.3 * std::cos(0.7 * static_cast<double>(j - k)) +
         1e-3 * static_cast<double>((i * 31 + j * 17 + k * 7) % 101);
}

/// FFTW's own transform, each rank having slabs, the transposition back left out.
class Bare {
 public:
  explicit Bare(int64_t n) {
    ptrdiff_t count = 0, begin = 0, turned = 0, turned_begin = 0;
    size_ = fftw_mpi_local_size_3d_transposed(n, n, n / 2 + 1, MPI_COMM_WORLD, &count, &begin,
                                              &turned, &turned_begin);
    values_ = fftw_alloc_real(static_cast<size_t>(2 * size_));
    waves_ = fftw_alloc_complex(static_cast<size_t>(size_));
    plan_ = fftw_mpi_plan_dft_r2c_3d(n, n, n, values_, waves_, MPI_COMM_WORLD,
                                     FFTW_MEASURE | FFTW_MPI_TRANSPOSED_OUT);
    std::fill_n(values_, 2 * size_, 1.0);
  }
  void execute() const { fftw_execute(plan_); }

 private:
  ptrdiff_t size_ = 0;
  double* values_ = nullptr;
  fftw_complex* waves_ = nullptr;
  fftw_plan plan_ = nullptr;
};

void write_configuration(int64_t n, const char* layout) {
  std::ofstream(file) << "output: bench_spectrum.out\nmeshes: {grid: {kind: uniform, cells: [" << n
                      << ", " << n << ", " << n
                      << "], length: [1, 1, 1], periodic: true}}\n"
                         "fields: {density: {mesh: grid, type: float64}}\n"
                         "analyses: {spectrum: {stages: [{power_spectrum: {field: density, layout: "
                      << layout << "}}]}}\n";
}

struct Block {
  int64_t lo[3], hi[3];
  std::vector<double> values;
};

std::vector<Block> blocks_of(int64_t n, int64_t side, int rank, int ranks) {
  std::vector<Block> blocks;
  const auto add = [&](int64_t x, int64_t y, int64_t z, int64_t dx, int64_t dy, int64_t dz) {
    Block block{{x, y, z}, {x + dx, y + dy, z + dz}, {}};
    for (int64_t k = z; k < z + dz; ++k)
      for (int64_t j = y; j < y + dy; ++j)
        for (int64_t i = x; i < x + dx; ++i) block.values.push_back(value_at(i, j, k));
    blocks.push_back(std::move(block));
  };
  if (side == 0) {
    add(0, 0, n * rank / ranks, n, n, n * (rank + 1) / ranks - n * rank / ranks);
    return blocks;
  }
  int64_t number = 0;
  for (int64_t z = 0; z < n; z += side)
    for (int64_t y = 0; y < n; y += side)
      for (int64_t x = 0; x < n; x += side)
        if (number++ % ranks == rank)
          add(x, y, z, std::min(side, n - x), std::min(side, n - y), std::min(side, n - z));
  return blocks;
}

struct Times {
  double fftw, stage;
};

/// The stage in the simulation's ranks, a publication at every step, in turns with FFTW alone.
Times measure(const Bare& bare, int64_t n, int64_t side, const char* layout, int rank, int ranks) {
  if (rank == 0) write_configuration(n, layout);
  MPI_Barrier(MPI_COMM_WORLD);
  pillion_session* session = nullptr;
  check(pillion_open(file, MPI_COMM_WORLD, &session));
  const auto blocks = blocks_of(n, side, rank, ranks);
  int32_t number = 0;
  for (const auto& block : blocks)
    check(pillion_share_box_typed(session, "density", number++, block.lo, block.hi,
                                  block.values.data(), PILLION_FLOAT64));
  std::vector<double> fftw, stage;
  check(pillion_step(session, 0, 0));  // plans
  for (int64_t s = 1; s <= repetitions; ++s) {
    fftw.push_back(seconds_of([&] { bare.execute(); }));
    stage.push_back(seconds_of([&] { check(pillion_step(session, s, static_cast<double>(s))); }));
  }
  check(pillion_close(session));
  return {median(fftw), median(stage)};
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fftw_mpi_init();
  setenv("PILLION_STAGE_PATH", PILLION_BENCH_STAGES, 0);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int64_t n = argc > 1 ? std::atoll(argv[1]) : 256;
  const Bare bare(n);
  const Times slabs = measure(bare, n, 0, "slabs", rank, ranks);
  const Times boxes = measure(bare, n, 32, "slabs", rank, ranks);
  const Times pencils = measure(bare, n, 32, "pencils", rank, ranks);
  if (rank == 0) {
    for (const auto& [name, times] :
         {std::pair("from_slabs", slabs), std::pair("from_boxes", boxes), {"pencils", pencils}})
      std::printf(
          "{\"bench\": \"spectrum\", \"case\": \"%s\", \"cells\": %lld, \"ranks\": %d, "
          "\"fftw_seconds\": %.4f, \"stage_seconds\": %.4f}\n",
          name, static_cast<long long>(n), ranks, times.fftw, times.stage);
    std::printf(
        "bench spectrum: from_slabs_over_fftw=%.2f from_boxes_over_fftw=%.2f "
        "pencils_over_fftw=%.2f\n",
        slabs.stage / slabs.fftw, boxes.stage / boxes.fftw, pencils.stage / pencils.fftw);
    std::filesystem::remove_all("bench_spectrum.out");
    std::filesystem::remove(file);
  }
  MPI_Finalize();
  return 0;
}
