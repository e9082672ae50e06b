// SPDX-License-Identifier: BSD-3-Clause
// Where series live: each component of each cell, element, or point of an element, of the blocks
// that this peer has. A series is known by a key that depends on the cell or the element's number
// alone, so that it can be followed when blocks change.
#pragma once

#include <array>
#include <cstdint>
#include <pillion/stage.hpp>
#include <utility>
#include <vector>

#include "../common/elements.hpp"

namespace pillion::stages {

class Places {
 public:
  Places() = default;
  /// What this peer has of an input: the first array of a block is that of `field`, the second, on
  /// a spectral mesh, that of the numbers of its elements.
  Places(const stage::Step& step, int32_t input, const pillion_field_description& field)
      : components_(field.components), points_(points_of(field)) {
    for (size_t d = 0; d < static_cast<size_t>(field.axes); ++d) cells_[d] = field.cells[d];
    for (int32_t b = 0; b < step.block_count(input); ++b) {
      const auto block = step.block(input, b);
      Part part{{}, extent_of(block, field), {}};
      for (size_t d = 0; d < static_cast<size_t>(field.axes); ++d) part.lo[d] = block.lo()[d];
      if (field.mesh_kind == PILLION_SPECTRAL) part.numbers = numbers_of(block);
      parts_.push_back(std::move(part));
    }
  }

  friend bool operator==(const Places&, const Places&) = default;

  /// Keys of all series, in the order in which for_each_run goes through them: components, then
  /// cells or elements, then points.
  [[nodiscard]] std::vector<int64_t> keys() const {
    std::vector<int64_t> out;
    for (const auto& part : parts_)
      for (int64_t c = 0; c < components_; ++c)
        for_each_unit(part, [&](int64_t unit) {
          for (int64_t p = 0; p < points_; ++p)
            out.push_back((unit * components_ + c) * points_ + p);
        });
    return out;
  }

  /// Points of an element; 1 for cells.
  [[nodiscard]] int64_t points() const { return points_; }
  /// Cells or elements of a block.
  [[nodiscard]] int64_t units(int32_t block) const {
    return size_of(parts_[static_cast<size_t>(block)].n) / points_;
  }
  /// Calls use(first value, stride, count) for all rows of a block, in the order of its series. The
  /// array is unfolded.
  template <class T, class F>
  void for_each_run(int32_t block, const stage::Array& array, const T* data, F&& use) const {
    const Extent& n = parts_[static_cast<size_t>(block)].n;
    for (int64_t c = 0; c < components_; ++c)
      for (int64_t k = 0; k < n[2]; ++k)
        for (int64_t j = 0; j < n[1]; ++j)
          use(data + c * array.strides[3] + j * array.strides[1] + k * array.strides[2],
              array.strides[0], static_cast<size_t>(n[0]));
  }

 private:
  struct Part {
    Extent lo, n;
    std::vector<int64_t> numbers;
    friend bool operator==(const Part&, const Part&) = default;
  };

  static std::vector<int64_t> numbers_of(const stage::Block& block) {
    std::vector<int64_t> out;
    const auto numbers = block[1];
    numbers.visit([&](const auto* data) {
      for (int64_t e = 0; e < block.count(); ++e)
        out.push_back(static_cast<int64_t>(data[e * numbers.strides[0]]));
    });
    return out;
  }

  template <class F>
  void for_each_unit(const Part& part, F&& use) const {
    if (!part.numbers.empty()) {
      for (const int64_t number : part.numbers) use(number);
      return;
    }
    const auto& [lo, n, none] = part;
    for (int64_t k = lo[2]; k < lo[2] + n[2]; ++k)
      for (int64_t j = lo[1]; j < lo[1] + n[1]; ++j)
        for (int64_t i = lo[0]; i < lo[0] + n[0]; ++i) use(i + cells_[0] * (j + cells_[1] * k));
  }

  std::vector<Part> parts_;
  int64_t components_ = 1, points_ = 1;
  Extent cells_ = {1, 1, 1};
};

}  // namespace pillion::stages
