// SPDX-License-Identifier: BSD-3-Clause
// Geometries of all elements, found anew only where coordinates are not those of the publication
// before: most meshes stay.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "geometry.hpp"

namespace pillion::stages::truncation {

class Geometries {
 public:
  explicit Geometries(const LobattoBasis& basis)
      : finder_(basis), size_(basis.size() * basis.size() * basis.size()), room_(size_) {}

  /// Looks at element number `element` among all of this peer, with the 3 n^3 coordinates of its
  /// points.
  void look(size_t element, std::span<const double> coordinates) {
    if (element >= known_.size()) known_.resize(element + 1);
    Known& known = known_[element];
    const uint64_t sum = sum_of(coordinates);
    if (known.is_there && known.sum == sum) return;
    known = {.is_there = true, .sum = sum};
    const double* x = coordinates.data();
    known.geometry = finder_.find(x, x + size_, x + 2 * size_, room_);
    if (known.geometry.shares.empty()) return;
    known.shares = room_;
    known.geometry.shares = known.shares;
  }
  /// As it was when it was last looked at.
  const Geometry& operator[](size_t element) const { return known_[element].geometry; }

 private:
  struct Known {
    bool is_there = false;
    uint64_t sum = 0;
    Geometry geometry{};
    std::vector<double> shares{};
  };

  /// Of the bits of numbers, four at once (each step is one to one, so that a change of any one
  /// number is seen).
  static uint64_t sum_of(std::span<const double> numbers) {
    constexpr uint64_t factor = 0x9E3779B97F4A7C15U;
    uint64_t sums[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < numbers.size(); ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, &numbers[i], sizeof bits);
      sums[i % 4] = (sums[i % 4] ^ bits) * factor;
      sums[i % 4] ^= sums[i % 4] >> 29;
    }
    return ((sums[0] * factor + sums[1]) * factor + sums[2]) * factor + sums[3];
  }

  GeometryFinder finder_;
  size_t size_;
  std::vector<double> room_;
  std::vector<Known> known_;
};

}  // namespace pillion::stages::truncation
