// SPDX-License-Identifier: BSD-3-Clause
// What do the kernels cost that the study of analyses in transit is made of? The step of
// miniapps/cosmology, lines of Fourier transforms as pencils have them, shells of a spectrum, and
// halos of the simulation's own density: a figure for each cell, byte or row. Every rank does all
// of it by itself, so that caches and memory are shared as they are in a run, and no rank waits;
// the seconds are those of its own computing. study/kernels.py keeps them. On as many ranks as
// cores.
//   bench_kernels [CELLS_PER_SIDE [STEPS]]
#include <fftw3-mpi.h>

#include <cmath>
#include <functional>
#include <string>

#include "cloud.hpp"
#include "gravity.hpp"
#include "initial.hpp"
#include "kernels_halos.hpp"
#include "power_spectrum/shells.hpp"
#include "products/table.hpp"
#include "timing.hpp"

namespace {

using bench::median;
using pillion::layout::Tiling;
using pillion::model::Box;

constexpr int repetitions = 5;

int rank = 0, ranks = 1;

/// Mean over ranks.
double mean(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return value / ranks;
}

double seconds_of(const std::function<void()>& deed) {
  const double begin = bench::cpu_seconds();
  deed();
  return bench::cpu_seconds() - begin;
}

/// The usual time of a deed that all ranks do at once, each its own.
double timed(const std::function<void()>& deed) {
  std::vector<double> times;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int r = 0; r < repetitions; ++r) times.push_back(seconds_of(deed));
  return mean(median(times));
}

void say(const char* name, double value, const char* unit) {
  if (rank == 0)
    std::printf("{\"bench\": \"kernels\", \"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\"}\n",
                name, value, unit);
}

/// A run to today, timed at its end; its density relative to the mean.
class Simulated {
 public:
  Simulated(int64_t cells, int64_t steps)
      : parameters_(parameters_of(cells, steps)),
        slabs_(cells, parameters_.length, MPI_COMM_SELF),
        background_(parameters_.omega_m),
        gravity_(slabs_, parameters_.omega_m),
        mesh_(slabs_),
        particles_(initial_particles(parameters_, slabs_, background_,
                                     cosmology::LinearPower(parameters_), factor(0))) {
    gravity_.accelerate(particles_);
    std::vector<double> times;
    for (int64_t s = 1; s <= steps; ++s)
      times.push_back(bench::seconds_of(
          [&] { advance(particles_, gravity_, slabs_, background_, factor(s - 1), factor(s)); }));
    times.erase(times.begin(), times.end() - std::min<std::ptrdiff_t>(steps, 11));
    measure(mean(median(times)));
  }

  [[nodiscard]] std::vector<double> density() {
    deposit(
        particles_, slabs_, [](size_t) { return 1.0; }, mesh_);
    std::vector<double> values;
    mesh_.for_each_cell([&](auto, auto, auto, double value) { values.push_back(value); });
    return values;
  }

 private:
  static cosmology::Parameters parameters_of(int64_t cells, int64_t steps) {
    cosmology::Parameters out;
    out.cells = cells;
    out.length = 0.5 * static_cast<double>(cells);
    out.steps = steps;
    return out;
  }
  [[nodiscard]] double factor(int64_t step) const {
    const double first = 1 / (1 + parameters_.redshift);
    return first *
           std::pow(1 / first, static_cast<double>(step) / static_cast<double>(parameters_.steps));
  }

  /// Particles go so many cells along an axis in the last step, on average.
  [[nodiscard]] double moved() const {
    const double drift = background_.drift(factor(parameters_.steps - 1), 1);
    double sum = 0;
    for (const auto& p : particles_.momentum) sum += std::abs(drift * p[2]) / slabs_.width();
    return sum / static_cast<double>(particles_.count());
  }

  void measure(double step) {
    const double forward = timed([&] { mesh_.forward(); });
    const double backward = timed([&] { mesh_.backward(); });
    const double cells = static_cast<double>(slabs_.total());
    say("step", step / cells, "s per cell");
    say("step_transforms", (forward + 3 * backward) / cells, "s per cell");
    say("step_particles", (step - forward - 3 * backward) / cells, "s per cell");
    say("crossing", moved(), "particles per cell of a face");
  }

  cosmology::Parameters parameters_;
  cosmology::Slabs slabs_;
  cosmology::Background background_;
  cosmology::Gravity gravity_;
  cosmology::Mesh mesh_;
  cosmology::Particles particles_;
};

/// A complex transform along one axis of a box, in place, as the stage `power_spectrum` plans it.
double lines_along(size_t axis, const Box& box) {
  const std::array<int, 3> n = {static_cast<int>(box.extent(0)), static_cast<int>(box.extent(1)),
                                static_cast<int>(box.extent(2))};
  const int strides[3] = {1, n[0], n[0] * n[1]};
  std::vector<fftw_iodim> others;
  for (size_t d = 0; d < 3; ++d)
    if (d != axis) others.push_back({n[d], strides[d], strides[d]});
  const fftw_iodim line{n[axis], strides[axis], strides[axis]};
  const auto count = static_cast<size_t>(box.volume());
  fftw_complex* data = fftw_alloc_complex(count);
  fftw_plan plan =
      fftw_plan_guru_dft(1, &line, 2, others.data(), data, data, FFTW_FORWARD, FFTW_MEASURE);
  std::fill_n(&data[0][0], 2 * count, 0.0);
  const double seconds = timed([&] { fftw_execute(plan); });
  fftw_destroy_plan(plan);
  fftw_free(data);
  return seconds;
}

double real_lines(const Box& box) {
  const auto n = static_cast<int>(box.extent(0)), waves = n / 2 + 1;
  const auto many = static_cast<int>(box.extent(1) * box.extent(2));
  double* values = fftw_alloc_real(static_cast<size_t>(n) * static_cast<size_t>(many));
  fftw_complex* out = fftw_alloc_complex(static_cast<size_t>(waves) * static_cast<size_t>(many));
  fftw_plan plan = fftw_plan_many_dft_r2c(1, &n, many, values, nullptr, 1, n, out, nullptr, 1,
                                          waves, FFTW_MEASURE);
  std::fill_n(values, static_cast<size_t>(n) * static_cast<size_t>(many), 1.0);
  const double seconds = timed([&] { fftw_execute(plan); });
  fftw_destroy_plan(plan);
  fftw_free(values);
  fftw_free(out);
  return seconds;
}

/// One rank's share of a transform of side^3 cells on `pencils` ranks, and of the shells.
void measure_spectrum(int64_t side, int pencils) {
  const Box mesh{{0, 0, 0}, {side, side, side}}, waves{{0, 0, 0}, {side / 2 + 1, side, side}};
  const auto part = [&](const Box& domain, int axis) {
    return Tiling::pencils(domain, 3, axis, pencils).places_of(pencils / 2).front().box;
  };
  const Box first = part(mesh, 0), middle = part(waves, 1), last = part(waves, 2);
  const double lines = real_lines(first) + lines_along(1, middle) + lines_along(2, last);
  const double cells = static_cast<double>(mesh.volume()) / pencils;
  const std::string of = "_" + std::to_string(side) + "_" + std::to_string(pencils);
  say(("transform" + of).c_str(), lines / cells, "s per cell");

  using namespace pillion::stages;
  using namespace pillion::stages::power_spectrum;
  const Volume volume{{side, side, side}, {1, 1, 1}, 3};
  Shells shells(volume, linear_edges(volume, 1), {});
  const std::vector<Complex> modes(static_cast<size_t>(last.volume()), {1, 1});
  const pillion::stage::Step::Part there{last.lo, last.hi};
  say(("shells" + of).c_str(), timed([&] { shells.add(modes.data(), nullptr, there); }) / cells,
      "s per cell");
}

/// The median of a part of the costs, as a mean over ranks.
double usual(const std::vector<bench::HaloCosts>& all, double bench::HaloCosts::*part) {
  std::vector<double> values;
  for (const auto& costs : all) values.push_back(costs.*part);
  return mean(median(values));
}

void measure_halos(const pillion::stages::halos::Grid& grid, const std::vector<double>& field,
                   int blocks, bool says) {
  using bench::HaloCosts;
  bench::HaloRanks halos(grid, field, blocks);
  std::vector<HaloCosts> all;
  for (int r = 0; r < repetitions; ++r) {
    MPI_Barrier(MPI_COMM_WORLD);
    all.push_back(halos.work(82, 200, says && r == 0 && rank == 0));
  }
  const auto cells = static_cast<double>(grid.count());
  const HaloCosts& one = all.front();
  double surface = 0;
  for (int r = 0; r < blocks; ++r) surface += halos.surface(static_cast<size_t>(r), 1);
  const auto tell = [&](const std::string& name, double value, const char* unit) {
    say((name + "_" + std::to_string(blocks)).c_str(), value, unit);
  };
  tell("tree", usual(all, &HaloCosts::tree) / cells, "s per cell");
  tell("merging", usual(all, &HaloCosts::merging) / one.bytes_merged, "s per byte");
  tell("merged", one.bytes_merged / cells, "bytes per cell");
  tell("finishing", usual(all, &HaloCosts::finishing) / cells, "s per cell");
  tell("query", usual(all, &HaloCosts::query) / cells, "s per cell");
  tell("combining", usual(all, &HaloCosts::combining) / std::max(one.shares, 1.0), "s per share");
  tell("asks", one.bytes_asked / surface, "bytes per cell of a surface");
  tell("shares", one.shares / cells, "per cell");
  tell("halos", one.halos / cells, "per cell");
}

/// As a catalogue of halos is written: 11 columns, 3 of them integers.
void measure_table() {
  constexpr int64_t rows = 20000;
  std::vector<double> reals(rows);
  std::vector<int64_t> integers(rows);
  for (int64_t i = 0; i < rows; ++i) {
    reals[static_cast<size_t>(i)] = std::sqrt(static_cast<double>(i));
    integers[static_cast<size_t>(i)] = i * 100;
  }
  std::vector<pillion_column> columns(
      8, {sizeof(pillion_column), "value", "", reals.data(), nullptr, 0, nullptr});
  columns.resize(11, {sizeof(pillion_column), "number", "", nullptr, integers.data(), 0, nullptr});
  pillion_table table{};
  table.name = "halos";
  table.title = "Halos";
  table.column_count = static_cast<int32_t>(columns.size());
  table.rows = rows;
  table.columns = columns.data();
  size_t size = 0;
  const double seconds = timed([&] { size += pillion::products::format_table(table, {}).size(); });
  say("table_row", size == 0 ? 0 : seconds / rows, "s per row");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fftw_mpi_init();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int64_t side = argc > 1 ? std::atoll(argv[1]) : 128;
  {
    Simulated simulated(side, argc > 2 ? std::atoll(argv[2]) : 100);
    const auto field = simulated.density();
    const pillion::stages::halos::Grid grid{{side, side, side}, {true, true, true}};
    measure_halos(grid, field, 8, false);
    measure_halos(grid, field, 64, true);
  }
  for (const int pencils : {2048, 256}) measure_spectrum(1024, pencils);
  for (const int pencils : {2048, 256}) measure_spectrum(512, pencils);
  measure_table();
  if (rank == 0)
    std::printf("bench kernels: ranks=%d side=%lld\n", ranks, static_cast<long long>(side));
  MPI_Finalize();
  return 0;
}
