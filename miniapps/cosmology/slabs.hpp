// SPDX-License-Identifier: BSD-3-Clause
// A periodic mesh cut into slabs across its last axis, as FFTW's transforms on many ranks want it,
// with one more plane of cells on each side of a slab for clouds that reach over its faces. Cells
// are indexed (x, y, z), x varying fastest; their centres lie at half-integer multiples of their
// width.
#pragma once

#include <fftw3-mpi.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <numbers>
#include <numeric>
#include <vector>

namespace cosmology {

using Complex = std::complex<double>;

/// Where the part of each rank begins, as MPI's collectives want it.
inline std::vector<int> offsets(const std::vector<int>& counts) {
  std::vector<int> result(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, result.begin() + 1);
  return result;
}

/// The mesh's cut and its transforms. Every function is collective over the communicator.
class Slabs {
 public:
  Slabs(int64_t cells, double length, MPI_Comm comm);
  ~Slabs();
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  MPI_Comm comm;
  int rank = 0;
  int64_t cells;
  double length;
  int64_t first = 0;       ///< plane of this rank
  int64_t planes = 0;      ///< of this rank; maybe 0
  std::vector<int> owner;  ///< rank of every plane

  [[nodiscard]] double width() const { return length / static_cast<double>(cells); }
  [[nodiscard]] int64_t row() const { return 2 * (cells / 2 + 1); }  ///< with FFTW's padding
  [[nodiscard]] int64_t plane() const { return row() * cells; }
  [[nodiscard]] int64_t total() const { return cells * cells * cells; }

 private:
  friend class Mesh;
  int64_t memory_ = 0;   ///< of a mesh, in real numbers
  int64_t first_y_ = 0;  ///< transforms are cut along y
  int64_t planes_y_ = 0;
  fftw_plan forward_ = nullptr;
  fftw_plan backward_ = nullptr;
};

/// A wave vector of the mesh: integers times the fundamental wave number.
struct Mode {
  int64_t n[3];
  double fundamental;  ///< 2 pi / length

  [[nodiscard]] double k(int axis) const { return fundamental * static_cast<double>(n[axis]); }
  [[nodiscard]] double squared() const { return k(0) * k(0) + k(1) * k(1) + k(2) * k(2); }
};

/// Values on a mesh, or their transform in the same memory.
class Mesh {
 public:
  explicit Mesh(const Slabs& slabs);

  /// A cell of this rank, z relative to its first plane: -1 and `planes` are the planes beyond.
  double& at(int64_t x, int64_t y, int64_t z) { return values_.get()[index(x, y, z)]; }
  [[nodiscard]] double at(int64_t x, int64_t y, int64_t z) const {
    return values_.get()[index(x, y, z)];
  }
  void clear();
  /// Adds what is in the planes beyond to the cells of the ranks that own them.
  void add_borders();
  /// Fills the planes beyond from the ranks that own them.
  void fill_borders();
  /// Sum over all cells of exp(-i k x) f(x), x being 0 at the first cell's centre.
  void forward();
  /// Inverse of forward().
  void backward();

  /// Calls visit(x, y, z, value) for each cell of this rank, z relative to its first plane.
  template <class Visit>
  void for_each_cell(Visit visit) {
    for (int64_t z = 0; z < slabs_->planes; ++z)
      for (int64_t y = 0; y < slabs_->cells; ++y)
        for (int64_t x = 0; x < slabs_->cells; ++x) visit(x, y, z, at(x, y, z));
  }
  /// Calls visit(mode, value) for each mode of this rank. Of a mode and its opposite there is one,
  /// except where mode.n[0] is 0 or half the number of cells.
  template <class Visit>
  void for_each_mode(Visit visit) {
    const int64_t n = slabs_->cells;
    const auto wrapped = [n](int64_t i) { return i <= n / 2 ? i : i - n; };
    auto* value = reinterpret_cast<Complex*>(values_.get());
    Mode mode{{0, 0, 0}, 2 * std::numbers::pi / slabs_->length};
    for (int64_t y = 0; y < slabs_->planes_y_; ++y)
      for (int64_t z = 0; z < n; ++z)
        for (int64_t x = 0; x <= n / 2; ++x) {
          mode.n[0] = x, mode.n[1] = wrapped(slabs_->first_y_ + y), mode.n[2] = wrapped(z);
          visit(mode, *value++);
        }
  }
  /// The transform's values, in the order of for_each_mode.
  [[nodiscard]] const Complex* modes() const {
    return reinterpret_cast<const Complex*>(values_.get());
  }

 private:
  struct Free {
    void operator()(double* memory) const { fftw_free(memory); }
  };
  // The plane above follows those of this rank, and the one below comes last.
  [[nodiscard]] int64_t index(int64_t x, int64_t y, int64_t z) const {
    return x + slabs_->row() * (y + slabs_->cells * (z < 0 ? slabs_->planes + 1 : z));
  }

  const Slabs* slabs_;
  std::unique_ptr<double, Free> values_;
};

}  // namespace cosmology
