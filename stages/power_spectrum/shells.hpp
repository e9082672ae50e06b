// SPDX-License-Identifier: BSD-3-Clause
// Modes sorted into shells of the wave number, and into planes along each axis.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "transform.hpp"

namespace pillion::stages::power_spectrum {

/// A periodic box: cells and lengths. An axis of one cell, as one that the mesh lacks, has no
/// waves, and its length does not count.
struct Volume {
  Cells cells;
  std::array<double, 3> lengths;
  int axes = 3;

  [[nodiscard]] bool has_waves(int axis) const {
    return axis < axes && cells[static_cast<size_t>(axis)] > 1;
  }
  [[nodiscard]] int dimensions() const;              ///< how many axes have waves
  [[nodiscard]] double fundamental(int axis) const;  ///< 2 pi / L
  [[nodiscard]] double longest() const;
  [[nodiscard]] double size() const;     ///< the product of the lengths
  [[nodiscard]] double count() const;    ///< of all cells
  [[nodiscard]] double nyquist() const;  ///< the lowest of the axes
};

/// Edges in units of the longest axis's 2 pi / L, ascending: shells [m - 1/2, m + 1/2) for m from 1
/// to half the cells of that axis, or of equal ratio.
std::vector<double> linear_edges(const Volume& volume, double width);
/// How many linear shells there are, about.
double linear_shells(const Volume& volume, double width);
std::vector<double> log_edges(const Volume& volume, int64_t bins);

/// How particles were put on the mesh, by the power of sinc that this multiplies a field with:
/// nearest grid point (1), cloud in cell (2), triangular-shaped cloud (3); 0 for none.
struct Clouds {
  int undo_a = 0, undo_b = 0;  ///< the power that is divided out, of each field
  int noise = 0;               ///< that of the shot noise of the first field
};

/// Sums over modes.
class Shells {
 public:
  /// `edges` are wave numbers in units of 2 pi over the longest axis.
  Shells(const Volume& volume, std::vector<double> edges, const Clouds& clouds);

  /// Adds the modes of one part of a transform, or of two, with their conjugate twins.
  void add(const Complex* a, const Complex* b, const stage::Step::Part& part);

  struct Sums {
    std::vector<double> k, power, own_a, own_b;  ///< by shell; powers are |F|^2 or Re(F_a F_b*)
    std::vector<double> noise;  ///< by shell: the shot noise in `power`, in units of V/N
    std::vector<int64_t> modes;
    /// By axis, then |n|: the sum over the others, with no window undone.
    std::array<std::vector<double>, 3> planes;
    double all = 0;                 ///< |F|^2 of all modes but the mean
    double mean_a = 0, mean_b = 0;  ///< F of the mean
  };
  [[nodiscard]] Sums& sums() { return sums_; }
  [[nodiscard]] const std::vector<double>& edges() const { return edges_; }
  /// What undoes the windows of waves n along one axis, in a power of the fields that were added.
  [[nodiscard]] double undone_along(int axis, int64_t n, bool is_cross) const {
    return sharpen_[is_cross ? ab : aa][static_cast<size_t>(axis)][static_cast<size_t>(n)];
  }

 private:
  [[nodiscard]] size_t climb(size_t edge, double square) const;

  Volume volume_;
  std::vector<double> edges_, squares_;
  std::array<std::vector<double>, 3> wave_squares_;  ///< by axis and index, in the same units
  /// What windows have taken from |F_a|^2, |F_b|^2 and F_a F_b*, as a factor to make up for it.
  enum Product { aa, bb, ab };
  std::array<std::array<std::vector<double>, 3>, 3> sharpen_;  ///< by product, axis and index
  std::array<std::vector<double>, 3> noise_;  ///< by axis and index: factors of Sums::noise
  Sums sums_;
};

}  // namespace pillion::stages::power_spectrum
