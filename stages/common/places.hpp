// SPDX-License-Identifier: BSD-3-Clause
// Where series over time live: each component of each cell, element, or point of an element, of the
// blocks that this peer has. A series is known by a key that depends on the cell or the element's
// number alone, so that it can be followed when blocks change; of cells without ids it cannot.
// Cells of an unstructured mesh that are flagged have none: a copy would have the key of its
// original.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pillion/stage.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cells.hpp"
#include "elements.hpp"

namespace pillion::stages {

class Places {
 public:
  Places() = default;
  /// What this peer has of an input: the first array of a block is that of `field`; on a spectral
  /// mesh the last one is that of the numbers of its elements.
  Places(const stage::Step& step, int32_t input, const pillion_field_description& field)
      : components_(field.components), points_(points_of(field)) {
    for (size_t d = 0; d < static_cast<size_t>(field.axes); ++d) cells_[d] = field.cells[d];
    for (int32_t b = 0; b < step.block_count(input); ++b) {
      const auto block = step.block(input, b);
      Part part{.n = extent_of(block, field), .block = block.id()};
      for (size_t d = 0; d < static_cast<size_t>(field.axes); ++d) part.lo[d] = block.lo()[d];
      if (field.mesh_kind == PILLION_SPECTRAL) part.numbers = numbers_of(block);
      if (is_unstructured(field)) add_cells(step.peer(), block, part);
      parts_.push_back(std::move(part));
    }
  }

  friend bool operator==(const Places&, const Places&) = default;

  /// Whether these are known to be the places of an input, without looking at its cells.
  [[nodiscard]] bool are_of(const stage::Step& step, int32_t input) const {
    if (static_cast<size_t>(step.block_count(input)) != parts_.size()) return false;
    for (size_t b = 0; b < parts_.size(); ++b) {
      const auto block = step.block(input, static_cast<int32_t>(b));
      const int64_t version = block.raw().topology_version;
      if (version == 0 || version != parts_[b].version || block.id() != parts_[b].block)
        return false;
    }
    return !parts_.empty();
  }

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

  /// Keys of all cells or elements, block by block.
  [[nodiscard]] std::vector<int64_t> unit_keys() const {
    std::vector<int64_t> out;
    for (const auto& part : parts_) for_each_unit(part, [&](int64_t unit) { out.push_back(unit); });
    return out;
  }
  /// How far a cell or element of a block is from the first one, in an array that is unfolded.
  [[nodiscard]] int64_t offset(int32_t block, int64_t unit, const stage::Array& array) const {
    const auto& n = parts_[static_cast<size_t>(block)].n;
    if (points_ > 1) return unit * array.strides[1];
    const int64_t at = position(block, unit);
    if (n[1] == 1 && n[2] == 1) return at * array.strides[0];
    return at % n[0] * array.strides[0] + at / n[0] % n[1] * array.strides[1] +
           at / (n[0] * n[1]) * array.strides[2];
  }

  /// Whether keys are those of cells wherever these are. Otherwise they are good while no block
  /// changes.
  [[nodiscard]] bool has_ids() const { return has_ids_; }
  /// Points of an element; 1 for cells.
  [[nodiscard]] int64_t points() const { return points_; }
  /// Cells or elements of a block.
  [[nodiscard]] int64_t units(int32_t block) const {
    return size_of(parts_[static_cast<size_t>(block)].n) / points_;
  }
  /// Which cell or element of a block it is.
  [[nodiscard]] int64_t position(int32_t block, int64_t unit) const {
    const auto& positions = parts_[static_cast<size_t>(block)].positions;
    return positions.empty() ? unit : positions[static_cast<size_t>(unit)];
  }
  /// Calls use(first value, stride, count) for all rows of a block, in the order of its series. The
  /// array is unfolded.
  template <class T, class F>
  void for_each_run(int32_t block, const stage::Array& array, const T* data, F&& use) const {
    const auto& part = parts_[static_cast<size_t>(block)];
    const auto& n = part.n;
    const auto& positions = part.positions;
    if (!positions.empty()) {
      for (int64_t c = 0; c < components_; ++c)
        for_each_stretch_in(positions, [&](int64_t first, size_t count) {
          use(data + c * array.strides[3] + first * array.strides[0], array.strides[0], count);
        });
      return;
    }
    for (int64_t c = 0; c < components_; ++c)
      for (int64_t k = 0; k < n[2]; ++k)
        for (int64_t j = 0; j < n[1]; ++j)
          use(data + c * array.strides[3] + j * array.strides[1] + k * array.strides[2],
              array.strides[0], static_cast<size_t>(n[0]));
  }

 private:
  struct Part {
    Extent lo{}, n{};
    std::vector<int64_t> numbers{};
    std::vector<int64_t> positions{};  ///< of cells that have series, if not all have
    int64_t block = 0, version = 0;    ///< of its cells; 0 if it is not known when they change
    friend bool operator==(const Part& a, const Part& b) {
      return a.lo == b.lo && a.n == b.n && a.numbers == b.numbers && a.positions == b.positions;
    }
  };

  static std::vector<int64_t> numbers_of(const stage::Block& block) {
    std::vector<int64_t> out;
    const auto numbers = block[block.array_count() - 1];
    numbers.visit([&](const auto* data) {
      for (int64_t e = 0; e < block.count(); ++e)
        out.push_back(static_cast<int64_t>(data[e * numbers.strides[0]]));
    });
    return out;
  }

  /// The ids of the cells that are not flagged, and where these are. Without ids, numbers that no
  /// other cell has while blocks stay.
  void add_cells(int32_t peer, const stage::Block& block, Part& part) {
    const auto* ids = block.connectivity().cell_ids;
    if (ids == nullptr && block.count() > 0) has_ids_ = false;
    const auto* flags = block.raw().flags;
    for (int64_t cell = 0; cell < block.count(); ++cell) {
      const int64_t unnamed = (static_cast<int64_t>(peer) << 40) + unnamed_++;
      const bool counts =
          flags == nullptr ||
          is_counted(static_cast<const uint8_t*>(flags->data)[cell * flags->strides[0]]);
      if (!counts) continue;
      part.numbers.push_back(ids == nullptr ? unnamed : ids[cell]);
      part.positions.push_back(cell);
    }
    part.n[0] = static_cast<int64_t>(part.numbers.size());
    part.version = block.raw().topology_version;
    if (part.n[0] == block.count()) part.positions.clear();
  }

  /// Calls use(first, count) for all stretches of positions that follow each other.
  template <class F>
  static void for_each_stretch_in(const std::vector<int64_t>& positions, F&& use) {
    for (size_t begin = 0, end = 0; begin < positions.size(); begin = end) {
      for (++end; end < positions.size() && positions[end] == positions[end - 1] + 1;) ++end;
      use(positions[begin], end - begin);
    }
  }

  template <class F>
  void for_each_unit(const Part& part, F&& use) const {
    if (!part.numbers.empty()) {
      for (const int64_t number : part.numbers) use(number);
      return;
    }
    const auto& lo = part.lo;
    const auto& n = part.n;
    for (int64_t k = lo[2]; k < lo[2] + n[2]; ++k)
      for (int64_t j = lo[1]; j < lo[1] + n[1]; ++j)
        for (int64_t i = lo[0]; i < lo[0] + n[0]; ++i) use(i + cells_[0] * (j + cells_[1] * k));
  }

  std::vector<Part> parts_;
  int64_t components_ = 1, points_ = 1;
  int64_t unnamed_ = 0;  ///< cells so far
  bool has_ids_ = true;
  Extent cells_ = {1, 1, 1};
};

}  // namespace pillion::stages
