// SPDX-License-Identifier: BSD-3-Clause
// The order of samples in an IDX dataset. A bitmask lists, from the coarsest split to the finest,
// the axis along which the grid is halved. The bits of a sample's coordinates in that order make
// its Z address. That with the number of trailing zeros in front is its HZ address. Samples of one
// level of resolution so have neighbouring HZ addresses: level 0 is address 0, level H ≥ 1 the
// addresses from 2^(H-1) to 2^H. (V. Pascucci, R. J. Frank, "Global static indexing for real-time
// exploration of very large regular grids", SC 2001.)
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace pillion::idx {

/// Indices along up to three axes, or numbers of samples; 0 or 1 for axes that are not there.
using Point = std::array<int64_t, 3>;

class Bitmask {
 public:
  /// Reads "V" and a digit for each bit, the coarsest first. Throws pillion::Error for other text,
  /// axes beyond the third, and more than 62 bits.
  explicit Bitmask(const std::string& text);

  /// The one that readers expect by default: axes in turn, each as long as it has extent left.
  /// Covers indices below `upper`.
  static Bitmask alternating(const Point& upper);
  /// One whose last bits are those of boxes of 2^sides[d] samples, and whose first ones are those
  /// of the grid of such boxes up to `upper`. Samples of a box aligned to its own size then have
  /// one run of HZ addresses on each level.
  static Bitmask of_boxes(const Point& upper, const std::array<int, 3>& sides);

  [[nodiscard]] const std::string& text() const { return text_; }
  /// Number of bits: 2^bits() HZ addresses, and the finest level.
  [[nodiscard]] int bits() const { return static_cast<int>(axes_.size()); }
  /// Number of grid points along an axis.
  [[nodiscard]] int64_t extent(int axis) const {
    return int64_t{1} << counts_[static_cast<size_t>(axis)];
  }

  [[nodiscard]] int64_t z_address(const Point& point) const;
  [[nodiscard]] Point of_z(int64_t z) const;
  [[nodiscard]] int64_t address(const Point& point) const { return hz_of(z_address(point)); }
  [[nodiscard]] Point point(int64_t address) const { return of_z(z_of(address)); }

  /// HZ and Z addresses of each other.
  [[nodiscard]] int64_t hz_of(int64_t z) const;
  [[nodiscard]] int64_t z_of(int64_t hz) const;
  static int level_of(int64_t address);
  /// The distances between samples of all levels up to this one, along each axis.
  [[nodiscard]] Point stride(int level) const;
  /// The axis of a bit of Z addresses, the least significant first.
  [[nodiscard]] int axis_of_bit(int bit) const {
    return axes_[axes_.size() - 1 - static_cast<size_t>(bit)];
  }

  bool operator==(const Bitmask& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  std::vector<int> axes_;        ///< the coarsest first
  std::array<int, 3> counts_{};  ///< bits of each axis
};

}  // namespace pillion::idx
