// SPDX-License-Identifier: BSD-3-Clause
// How fast are checkpoints of a combustion code written? The I/O kernel of S3D (J. H. Chen et al.,
// Computational Science & Discovery 2, 2009): pressure, temperature, velocity and eleven species in
// double precision, a block of N^3 cells on each rank. As multiresolution datasets by the stage
// `write`, in three phases, two and one, and in three with one aggregator for all ranks; as a raw
// file for each rank; by PnetCDF and by HDF5, both collectively. All in turns in one run, and all
// with or without waiting for the disk.
//   bench_s3d [STEPS] [REPETITIONS] [durable]
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <pillion/session.hpp>
#include <string>
#include <vector>

#include "timing.hpp"

namespace {

namespace fs = std::filesystem;

struct Variable {
  const char* name;
  int components;
};
constexpr Variable variables[] = {
    {"pressure", 1}, {"temperature", 1}, {"velocity", 3}, {"species", 11}};

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "bench s3d: %s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// Blocks of the same size on all ranks, in a grid.
struct Kernel {
  int rank = 0, ranks = 1, grid[3] = {0, 0, 0};  // along z, y, x
  int64_t n;
  int64_t lo[3] = {}, cells[3] = {};
  std::vector<std::vector<double>> values;

  explicit Kernel(int64_t side) : n(side) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 3, grid);
    const int at[3] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
    for (int d = 0; d < 3; ++d) {
      lo[d] = at[d] * n;
      cells[d] = grid[d] * n;
    }
    for (const auto& v : variables) {
      auto& all = values.emplace_back(static_cast<size_t>(n * n * n * v.components));
      for (size_t i = 0; i < all.size(); ++i) all[i] = rank + 1e-6 * static_cast<double>(i % 1000);
    }
  }
  [[nodiscard]] double bytes() const { return static_cast<double>(n * n * n) * 16 * 8; }
};

using Writer = std::function<void(const Kernel&, int64_t step)>;

void sync(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  require(file >= 0 && ::fsync(file) == 0, "fsync");
  ::close(file);
}

void write_raw(const Kernel& kernel, int64_t, bool durable) {
  const std::string path = "s3d_raw." + std::to_string(kernel.rank);
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0666);
  require(file >= 0, "opening a raw file");
  for (const auto& all : kernel.values) {
    const auto size = static_cast<ssize_t>(all.size() * sizeof(double));
    require(::write(file, all.data(), static_cast<size_t>(size)) == size, "a raw write");
  }
  if (durable) require(::fdatasync(file) == 0, "fdatasync");
  ::close(file);
}

void write_netcdf(const Kernel& kernel, int64_t, bool durable) {
  const auto check = [](int status) { require(status == NC_NOERR, "PnetCDF"); };
  int file = 0, dimensions[4] = {}, ids[4] = {};
  check(ncmpi_create(MPI_COMM_WORLD, "s3d.nc", NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
  const char* const names[3] = {"z", "y", "x"};
  for (int d = 0; d < 3; ++d) check(ncmpi_def_dim(file, names[d], kernel.cells[d], &dimensions[d]));
  for (int v = 0; v < 4; ++v) {
    const auto& variable = variables[v];
    if (variable.components > 1)
      check(ncmpi_def_dim(file, (std::string(variable.name) + "_components").c_str(),
                          variable.components, &dimensions[3]));
    check(ncmpi_def_var(file, variable.name, NC_DOUBLE, variable.components > 1 ? 4 : 3, dimensions,
                        &ids[v]));
  }
  check(ncmpi_enddef(file));
  for (int v = 0; v < 4; ++v) {
    const MPI_Offset start[4] = {kernel.lo[0], kernel.lo[1], kernel.lo[2], 0};
    const MPI_Offset count[4] = {kernel.n, kernel.n, kernel.n, variables[v].components};
    check(ncmpi_put_vara_double_all(file, ids[v], start, count,
                                    kernel.values[static_cast<size_t>(v)].data()));
  }
  check(ncmpi_close(file));
  if (durable && kernel.rank == 0) sync("s3d.nc");
}

void write_hdf5(const Kernel& kernel, int64_t, bool durable) {
  const auto check = [](int64_t status) { require(status >= 0, "HDF5"); };
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  check(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
  check(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
  const hid_t file = H5Fcreate("s3d.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  check(file);
  for (size_t v = 0; v < 4; ++v) {
    const auto components = static_cast<hsize_t>(variables[v].components);
    hsize_t whole[4], start[4] = {0, 0, 0, 0}, count[4];
    for (size_t d = 0; d < 3; ++d) {
      whole[d] = static_cast<hsize_t>(kernel.cells[d]);
      start[d] = static_cast<hsize_t>(kernel.lo[d]);
      count[d] = static_cast<hsize_t>(kernel.n);
    }
    whole[3] = count[3] = components;
    const int rank = components > 1 ? 4 : 3;
    const hid_t in_file = H5Screate_simple(rank, whole, nullptr);
    const hid_t in_memory = H5Screate_simple(rank, count, nullptr);
    const hid_t data = H5Dcreate2(file, variables[v].name, H5T_NATIVE_DOUBLE, in_file, H5P_DEFAULT,
                                  H5P_DEFAULT, H5P_DEFAULT);
    check(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, nullptr, count, nullptr));
    check(H5Dwrite(data, H5T_NATIVE_DOUBLE, in_memory, in_file, transfer, kernel.values[v].data()));
    H5Dclose(data);
    H5Sclose(in_memory);
    H5Sclose(in_file);
  }
  check(H5Fclose(file));
  H5Pclose(transfer);
  H5Pclose(access);
  if (durable && kernel.rank == 0) sync("s3d.h5");
}

/// A run of Pillion that writes at every step, in the simulation's own ranks.
class Ours {
 public:
  Ours(const Kernel& kernel, int phases, bool durable, bool gathers = false) {
    const std::string file = "s3d_" + std::to_string(phases) + ".yaml";
    if (kernel.rank == 0) {
      fs::remove_all("s3d_out");  // earlier results would be moved aside, and stay
      std::ofstream yaml(file);
      yaml << "output: s3d_out\n"
           << "meshes: {grid: {kind: uniform, cells: [" << kernel.cells[2] << ", "
           << kernel.cells[1] << ", " << kernel.cells[0] << "]}}\nfields:\n";
      for (const auto& v : variables)
        yaml << "  " << v.name << ": {mesh: grid, type: float64, components: " << v.components
             << "}\n";
      yaml << "analyses: {s3d: {stages: [{write_idx: {fields: [pressure, temperature, velocity, "
           << "species], phases: " << phases << ", durable: " << (durable ? "true" : "false")
           << (gathers ? ", aggregators: 1" : "") << ", at: simulation}}]}}\n";
    }
    MPI_Barrier(MPI_COMM_WORLD);
    session_.emplace(pillion::Session::open(file, MPI_COMM_WORLD));
    const pillion::Box where(
        {kernel.lo[2], kernel.lo[1], kernel.lo[0]},
        {kernel.lo[2] + kernel.n, kernel.lo[1] + kernel.n, kernel.lo[0] + kernel.n});
    for (size_t v = 0; v < 4; ++v) session_->share(variables[v].name, kernel.values[v], where);
    session_->ready();
  }
  ~Ours() { session_->close(); }
  Ours(const Ours&) = delete;
  Ours& operator=(const Ours&) = delete;
  void write(int64_t step) { session_->step(step, static_cast<double>(step)); }

 private:
  std::optional<pillion::Session> session_;
};

/// Seconds of each of some steps; what was written is taken away in between.
std::vector<double> steps_of(const Kernel& kernel, int64_t steps,
                             const std::function<void(int64_t)>& write) {
  std::vector<double> out;
  for (int64_t step = 0; step <= steps; ++step) {
    const double seconds = bench::seconds_of([&] {
      write(step);
      MPI_Barrier(MPI_COMM_WORLD);
    });
    if (step > 0) out.push_back(seconds);  // the first one makes plans
    if (kernel.rank == 0) {
      char folder[64];
      std::snprintf(folder, sizeof folder, "s3d_out/s3d/grid/time%09lld",
                    static_cast<long long>(step));
      std::error_code ignored;
      fs::remove_all(folder, ignored);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return out;
}

int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::atoll(line.c_str() + 6) * 1024;
  return 0;
}

/// Medians of seconds per step, by way of writing.
std::map<std::string, double> measure(int64_t side, int64_t steps, int repetitions, bool durable) {
  const int64_t before = peak_bytes();
  const Kernel kernel(side);
  std::map<std::string, std::vector<double>> all;
  double memory = 0;
  const auto take = [&](const std::string& name, const std::function<void(int64_t)>& write) {
    const auto seconds = steps_of(kernel, steps, write);
    all[name].insert(all[name].end(), seconds.begin(), seconds.end());
  };
  for (int r = 0; r < repetitions; ++r) {
    for (const int phases : {3, 2, 1}) {
      Ours ours(kernel, phases, durable);
      take(std::to_string(phases) + "_phases", [&](int64_t step) { ours.write(step); });
      if (memory == 0) memory = static_cast<double>(peak_bytes() - before) / kernel.bytes();
    }
    {
      Ours ours(kernel, 3, durable, true);
      take("gathered", [&](int64_t step) { ours.write(step); });
    }
    take("raw", [&](int64_t step) { write_raw(kernel, step, durable); });
    take("pnetcdf", [&](int64_t step) { write_netcdf(kernel, step, durable); });
    take("hdf5", [&](int64_t step) { write_hdf5(kernel, step, durable); });
  }
  MPI_Allreduce(MPI_IN_PLACE, &memory, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  std::map<std::string, double> medians{{"memory", memory}};
  for (const auto& [name, seconds] : all) medians[name] = bench::median(seconds);
  if (kernel.rank == 0)
    for (const auto& [name, seconds] : all)
      std::printf(
          "{\"bench\": \"s3d\", \"way\": \"%s\", \"cells\": %lld, \"ranks\": %d, \"durable\": %s, "
          "\"seconds\": %.4g, \"gigabytes_per_second\": %.3g}\n",
          name.c_str(), static_cast<long long>(side), kernel.ranks, durable ? "true" : "false",
          medians[name], kernel.bytes() * kernel.ranks / medians[name] / 1e9);
  return medians;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  setenv("PILLION_STAGE_PATH", PILLION_BENCH_STAGES, 0);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int64_t steps = argc > 1 ? std::atoll(argv[1]) : 20;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 3;
  const bool durable = argc > 3 && std::string(argv[3]) == "durable";
  std::map<int64_t, std::map<std::string, double>> found;
  for (const int64_t side : {60, 30, 63, 64})
    found[side] = measure(side, steps, side < 61 ? repetitions : 1, durable);
  if (rank == 0) {
    const auto speed = [&](int64_t side) {
      return static_cast<double>(side * side * side) / found[side]["3_phases"];
    };
    std::printf("bench s3d: ranks=%d durable=%d", ranks, durable ? 1 : 0);
    for (const int64_t side : {30, 60}) {
      const double ours = found[side]["3_phases"];
      std::printf(
          " raw_share_%lld=%.2f times_pnetcdf_%lld=%.1f times_hdf5_%lld=%.1f "
          "times_two_phases_%lld=%.2f times_one_phase_%lld=%.1f times_gathered_%lld=%.2f",
          static_cast<long long>(side), found[side]["raw"] / ours, static_cast<long long>(side),
          found[side]["pnetcdf"] / ours, static_cast<long long>(side), found[side]["hdf5"] / ours,
          static_cast<long long>(side), found[side]["2_phases"] / ours,
          static_cast<long long>(side), found[side]["1_phases"] / ours,
          static_cast<long long>(side), found[side]["gathered"] / ours);
    }
    std::printf(" irregular_of_regular=%.2f memory_of_data_60=%.2f\n", speed(63) / speed(64),
                found[60]["memory"]);
    fs::remove_all("s3d_out");
    for (const char* file : {"s3d.nc", "s3d.h5", "s3d_1.yaml", "s3d_2.yaml", "s3d_3.yaml"})
      fs::remove(file);
    for (int r = 0; r < ranks; ++r) fs::remove("s3d_raw." + std::to_string(r));
  }
  MPI_Finalize();
  return 0;
}
