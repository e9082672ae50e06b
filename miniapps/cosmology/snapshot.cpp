// SPDX-License-Identifier: BSD-3-Clause
// A .npy file is a head of text, padded to a multiple of 64 bytes, and the values in C order.
// Steps are added to snapshots.yaml once their files are whole.
#include "snapshot.hpp"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace cosmology {
namespace {

class File {
 public:
  File(const std::string& path, const std::string& type, const std::string& shape, MPI_Comm comm)
      : path_(path) {
    check(MPI_File_open(comm, path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                        &file_));
    std::string head =
        "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    head.resize(256 - 10 - 1, ' ');
    head = std::string("\x93NUMPY\x01\x00\xf6\x00", 10) + head + "\n";
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0)
      check(MPI_File_write_at(file_, 0, head.data(), static_cast<int>(head.size()), MPI_CHAR,
                              MPI_STATUS_IGNORE));
  }
  ~File() { MPI_File_close(&file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Writes bytes at an offset from the head's end.
  void write(const void* data, int64_t count, MPI_Datatype type, int64_t offset) {
    check(MPI_File_write_at_all(file_, 256 + offset, data, static_cast<int>(count), type,
                                MPI_STATUS_IGNORE));
  }
  /// Writes numbers to the places that `places` has in the whole array.
  void write(const std::vector<double>& values, MPI_Datatype places) {
    check(MPI_File_set_view(file_, 256, MPI_DOUBLE, places, "native", MPI_INFO_NULL));
    check(MPI_File_write_all(file_, values.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                             MPI_STATUS_IGNORE));
  }

 private:
  void check(int status) const {
    if (status != MPI_SUCCESS) throw std::runtime_error("cannot write the snapshot " + path_);
  }

  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
};

MPI_Datatype places_of(const GridBox& box, int64_t cells, int components) {
  const auto n = static_cast<int>(cells);
  const int whole[4] = {n, n, n, components};
  int size[4] = {0, 0, 0, components}, start[4] = {0, 0, 0, 0};
  for (int axis = 0; axis < 3; ++axis) {
    size[2 - axis] = static_cast<int>(box.extent(axis));
    start[2 - axis] = static_cast<int>(box.lo[axis]);
  }
  MPI_Datatype type;
  MPI_Type_create_subarray(4, whole, size, start, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

/// Ranks without as many boxes as others write nothing, together with them.
void write_field(const std::string& path, const BoxField& field, int components, const Boxes& boxes,
                 const Slabs& slabs) {
  const std::string n = std::to_string(slabs.cells);
  File file(path, "<f8", n + ", " + n + ", " + n + (components > 1 ? ", 3" : ""), slabs.comm);
  for (size_t b = 0; b < boxes.most(); ++b) {
    if (b >= field.size()) {
      file.write({}, MPI_DOUBLE);
      continue;
    }
    MPI_Datatype places = places_of(boxes.mine()[b], slabs.cells, components);
    file.write(field[b], places);
    MPI_Type_free(&places);
  }
}

/// With all its digits.
std::string text_of(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

/// What cannot be written is noticed by the ranks that write arrays there.
void add_lines(const std::string& folder, const std::string& lines, std::ios::openmode mode) {
  std::ofstream(folder + "/snapshots.yaml", mode) << lines;
}

}  // namespace

void begin_snapshots(const std::string& folder, const std::map<std::string, double>& values,
                     const Slabs& slabs) {
  if (slabs.rank != 0) return;
  std::string text = "parameters:\n";
  for (const auto& [name, value] : values) text += "  " + name + ": " + text_of(value) + "\n";
  const std::string side = text_of(slabs.length);
  text += "domains:\n  dark_matter: {length: [" + side + ", " + side + ", " + side +
          "], periodic: true}\nsteps:\n";
  std::filesystem::create_directories(folder);
  add_lines(folder, text, std::ios::trunc);
}

void write_snapshot(const std::string& folder, Moment moment, const Particles& particles,
                    const std::vector<Vector>& velocity, const Gas& gas, const Boxes& boxes,
                    const Slabs& slabs) {
  std::filesystem::create_directories(folder);
  char number[32];
  std::snprintf(number, sizeof number, ".%06lld.npy", static_cast<long long>(moment.step));
  const auto path = [&](const char* name) { return folder + "/" + name + number; };
  const auto count = static_cast<int64_t>(particles.count());
  int64_t before = 0;
  MPI_Exscan(&count, &before, 1, MPI_INT64_T, MPI_SUM, slabs.comm);
  const std::string total = std::to_string(slabs.total());
  File(path("id"), "<i8", total + ",", slabs.comm)
      .write(particles.id.data(), count, MPI_INT64_T, 8 * before);
  File(path("position"), "<f8", total + ", 3", slabs.comm)
      .write(particles.position.data(), 3 * count, MPI_DOUBLE, 24 * before);
  File(path("velocity"), "<f8", total + ", 3", slabs.comm)
      .write(velocity.data(), 3 * count, MPI_DOUBLE, 24 * before);
  write_field(path("gas_density"), gas.density, 1, boxes, slabs);
  write_field(path("gas_temperature"), gas.temperature, 1, boxes, slabs);
  write_field(path("gas_velocity"), gas.velocity, 3, boxes, slabs);
  write_field(path("n_HI"), gas.neutral, 1, boxes, slabs);
  if (slabs.rank == 0)
    add_lines(folder, "  " + std::to_string(moment.step) + ": {time: " + text_of(moment.a) + "}\n",
              std::ios::app);
}

}  // namespace cosmology
