// SPDX-License-Identifier: BSD-3-Clause
// Cells of meshes of boxes: their volumes, as a factor for each axis, in the mesh's metric; and
// reading values with the weights of their cells, without cells that do not count.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "elements.hpp"
#include "units.hpp"

namespace pillion::stages {

/// Whether all cells of a field's mesh have the same volume, so that none needs a weight. A coarse
/// publication may lack finer levels; cells have weights in it all the same.
inline bool has_equal_cells(const pillion_field_description& field) {
  return field.mesh_kind != PILLION_RECTILINEAR && field.mesh_kind != PILLION_CURVILINEAR &&
         !is_unstructured(field) && field.metric == PILLION_CARTESIAN && field.levels <= 1 &&
         !has_weight(field);
}

/// Whether values of a field of a mesh of boxes all have one weight. Of values at points, faces and
/// edges, those on the border of a block weigh less: see weights_of().
inline bool has_equal_weights(const pillion_field_description& field) {
  return has_equal_cells(field) && field.point_axes == 0;
}

/// Fields as shared, for a stage that looks at flags and knows one level of refinement.
inline stage::Input blocks_of_cells(const pillion_field_description& field,
                                    const std::vector<std::string>& fields) {
  auto input = stage::Input::as_shared(fields);
  return field.levels <= 1 ? std::move(input).with_levels() : input;
}

/// Fails at `place` unless all cells of a mesh are of one size, which `what` needs.
inline void expect_equal_cells(const pillion_field_description& field, const stage::Value& place,
                               const std::string& what) {
  const std::string mesh = std::string("mesh '") + field.mesh + "'";
  if (field.mesh_kind == PILLION_RECTILINEAR)
    place.fail(what + " needs cells of equal size; " + mesh + " is rectilinear");
  if (field.mesh_kind == PILLION_CURVILINEAR)
    place.fail(what + " needs cells of equal size; " + mesh + " is curvilinear");
  if (is_unstructured(field))
    place.fail(what + " needs cells of equal size in a box; " + mesh + " is unstructured");
  if (has_weight(field))
    place.fail(what + " needs cells of equal size; " + mesh + " has cells that count in part, by " +
               "its weight '" + field.weight + "'; put `flatten` before this stage");
  if (field.mesh_kind == PILLION_UNIFORM && field.metric != PILLION_CARTESIAN)
    place.fail(what + " needs cells of equal size; " + mesh + " has the metric " +
               (field.metric == PILLION_SPHERICAL ? "spherical" : "cylindrical"));
}

// A cell's volume is a product of one factor for each axis. With faces at 1 and 2, angles in
// radians (any text on orthogonal curvilinear coordinates; G. B. Arfken, H. J. Weber: Mathematical
// Methods for Physicists, section 2.4 and following):
//   cartesian    dx dy dz
//   cylindrical  (r2^2 - r1^2)/2 dphi dz; with two axes dphi is 2 pi
//   spherical    dlambda (sin phi2 - sin phi1) (r2^3 - r1^3)/3; with two axes the last is R^2

namespace detail {

inline double radians(double degrees) { return degrees * (std::numbers::pi / 180); }

/// sin(b) - sin(a), without what the difference of two sines loses.
inline double difference_of_sines(double a, double b) {
  return 2 * std::cos((a + b) / 2) * std::sin((b - a) / 2);
}

/// Of a cell of a spherical mesh, between two coordinates.
inline double spherical_factor(const pillion_mesh& mesh, int axis, double lo, double hi) {
  if (axis == 0) return radians(hi - lo);
  if (axis == 1) {
    const double south = std::clamp(lo, -90.0, 90.0), north = std::clamp(hi, -90.0, 90.0);
    const double belt = difference_of_sines(radians(south), radians(north));
    return mesh.axes == 2 ? belt * mesh.radius * mesh.radius : belt;
  }
  const double inner = std::max(0.0, mesh.radius + lo), outer = std::max(0.0, mesh.radius + hi);
  return (outer - inner) * (outer * outer + outer * inner + inner * inner) / 3;
}

inline double cylindrical_factor(const pillion_mesh& mesh, int axis, double lo, double hi) {
  if (axis == 1 && mesh.axes == 3) return radians(hi - lo);
  if (axis != 0) return hi - lo;
  const double inner = std::max(0.0, lo), outer = std::max(0.0, hi);
  const double ring = (outer - inner) * (outer + inner) / 2;
  return mesh.axes == 2 ? 2 * std::numbers::pi * ring : ring;
}

}  // namespace detail

/// The factors of the volumes of a mesh's cells of one level. Cells beyond an end of the mesh,
/// ghosts of a periodic one, are those at the other end.
class CellSizes {
 public:
  CellSizes(const pillion_mesh& mesh, int32_t level) : mesh_(mesh) {
    for (int d = 0; d < mesh.axes; ++d) {
      cells_[d] = mesh.cells[d];
      for (int32_t l = 0; l < level && mesh.ratios != nullptr; ++l)
        cells_[d] *= mesh.ratios[3 * l + d];
    }
  }
  /// Whether all cells along an axis have the same factor.
  [[nodiscard]] bool is_even(int axis) const {
    const bool is_angle = (mesh_.metric == PILLION_SPHERICAL && axis == 0) ||
                          (mesh_.metric == PILLION_CYLINDRICAL && axis > 0);
    return mesh_.coordinates[axis] == nullptr && (mesh_.metric == PILLION_CARTESIAN || is_angle);
  }
  [[nodiscard]] double face(int axis, int64_t index) const {
    if (mesh_.coordinates[axis] != nullptr) return mesh_.coordinates[axis][index];
    return mesh_.origin[axis] +
           mesh_.length[axis] * (static_cast<double>(index) / static_cast<double>(cells_[axis]));
  }
  [[nodiscard]] double centre(int axis, int64_t index) const {
    return (face(axis, index) + face(axis, index + 1)) / 2;
  }
  [[nodiscard]] double factor(int axis, int64_t index) const {
    const int64_t i = (index % cells_[axis] + cells_[axis]) % cells_[axis];
    const bool is_even_width = mesh_.coordinates[axis] == nullptr;
    const double lo = face(axis, is_even(axis) ? 0 : i);
    const double hi = is_even(axis) ? lo + mesh_.length[axis] / static_cast<double>(cells_[axis])
                                    : face(axis, i + 1);
    if (mesh_.metric == PILLION_SPHERICAL) return detail::spherical_factor(mesh_, axis, lo, hi);
    if (mesh_.metric == PILLION_CYLINDRICAL) return detail::cylindrical_factor(mesh_, axis, lo, hi);
    return is_even_width ? mesh_.length[axis] / static_cast<double>(cells_[axis]) : hi - lo;
  }

 private:
  const pillion_mesh& mesh_;
  std::array<int64_t, 3> cells_{1, 1, 1};
};

/// Whether a cell with these flags counts. Other bits of VTK's describe where a cell lies.
inline bool is_counted(uint8_t flags) {
  return (flags & (PILLION_CELL_DUPLICATE | PILLION_CELL_REFINED | PILLION_CELL_HIDDEN)) == 0;
}

/// The part of its volume that a cell has, by the weight of its mesh.
class CellParts {
 public:
  CellParts() = default;
  explicit CellParts(const pillion_array* weight) : weight_(weight) {}
  [[nodiscard]] bool any() const { return weight_ != nullptr; }
  [[nodiscard]] double of(int64_t i, int64_t j, int64_t k) const {
    const auto* stride = weight_->strides;
    const auto* at = static_cast<const std::byte*>(weight_->data) + i * stride[0] + j * stride[1] +
                     k * stride[2];
    return weight_->type == PILLION_FLOAT32
               ? static_cast<double>(*reinterpret_cast<const float*>(at))
               : *reinterpret_cast<const double*>(at);
  }

 private:
  const pillion_array* weight_ = nullptr;
};

/// What the values of a block weigh: `each` times a factor for each axis that has some, in the
/// order of the block's cells; or numbers of their own, in rows of that length. And which cells do
/// not count, and which count in part.
struct CellWeights {
  double each = 1;
  std::array<std::vector<double>, 3> along;
  std::span<const double> of_values;
  int64_t row = 0;
  int64_t rows = 0;  ///< of a plane, if there are several planes
  const pillion_array* flags = nullptr;
  CellParts parts{};

  /// Whether all values have the same weight.
  [[nodiscard]] bool are_equal() const {
    return flags == nullptr && !parts.any() && of_values.empty() && along[0].empty() &&
           along[1].empty() && along[2].empty();
  }
  [[nodiscard]] double factor(size_t axis, int64_t i) const {
    return along[axis].empty() ? 1 : along[axis][static_cast<size_t>(i)];
  }
  /// Whether a cell of the block counts.
  [[nodiscard]] bool counts(int64_t i, int64_t j, int64_t k) const {
    const auto* data = static_cast<const uint8_t*>(flags->data);
    const auto* stride = flags->strides;
    return is_counted(data[i * stride[0] + j * stride[1] + k * stride[2]]);
  }
  /// Of a cell.
  [[nodiscard]] double of(int64_t i, int64_t j, int64_t k) const {
    const double part = parts.any() ? parts.of(i, j, k) : 1;
    if (!of_values.empty()) return part * of_values[static_cast<size_t>(i + row * (j + rows * k))];
    return part * each * factor(0, i) * factor(1, j) * factor(2, k);
  }
};

/// The volumes of a block's cells, ghosts included; 1 of whatever has no cells in boxes, or of all
/// cells of a mesh that has equal ones. Cells share their volumes evenly among the points at their
/// corners, or their two faces across an axis, or their edges along one; one on the border of
/// blocks weighs in each what the cells there give it.
inline CellWeights weights_of(const pillion_mesh& mesh, const pillion_field_description& field,
                              const stage::Block& block) {
  CellWeights out;
  if (!has_boxes(field)) return out;
  out.flags = block.raw().flags;
  if (has_equal_weights(field)) return out;
  out.parts = CellParts(block.raw().weight);
  const CellSizes sizes(mesh, block.level());
  for (int axis = 0; axis < mesh.axes; ++axis) {
    if (is_at_points_along(field, axis)) {
      auto& along = out.along[static_cast<size_t>(axis)];
      along.assign(static_cast<size_t>(block.hi()[axis] - block.lo()[axis]) + 1, 0);
      for (size_t i = 0; i + 1 < along.size(); ++i) {
        const double half = sizes.factor(axis, block.lo()[axis] + static_cast<int64_t>(i)) / 2;
        along[i] += half;
        along[i + 1] += half;
      }
      continue;
    }
    if (sizes.is_even(axis)) {
      out.each *= sizes.factor(axis, 0);
      continue;
    }
    for (int64_t i = block.lo()[axis]; i < block.hi()[axis]; ++i)
      out.along[static_cast<size_t>(axis)].push_back(sizes.factor(axis, i));
  }
  return out;
}

/// Whether coordinates along an axis are angles, in degrees.
inline bool is_angle(const pillion_mesh& mesh, int32_t axis) {
  return (mesh.metric == PILLION_SPHERICAL && axis < 2) ||
         (mesh.metric == PILLION_CYLINDRICAL && axis == 1 && mesh.axes == 3);
}

/// Units of coordinates along an axis.
inline std::string length_units(const pillion_mesh& mesh, int32_t axis) {
  return is_angle(mesh, axis) ? "degrees" : mesh.units;
}

/// Units of the volumes, or areas, of a mesh's cells.
inline Units volume_units(const pillion_mesh& mesh) {
  const bool is_round = mesh.metric == PILLION_CYLINDRICAL && mesh.axes == 2;
  return Units(mesh.units).power(is_round ? 3 : mesh.axes);
}

namespace detail {

/// Values and their weights, up to 1024 at a time.
template <class Use>
class WeightedStretch {
 public:
  explicit WeightedStretch(Use& use) : use_(use) {}
  void add(double value, double weight) {
    values_[held_] = value;
    weights_[held_++] = weight;
    if (held_ == values_.size()) flush();
  }
  void flush() {
    if (held_ == 0) return;
    use_(std::span<const double>(values_).first(held_),
         std::span<const double>(weights_).first(held_));
    held_ = 0;
  }

 private:
  Use& use_;
  size_t held_ = 0;
  std::array<double, 1024> values_, weights_;
};

template <class T, class Use>
void weighted_stretches(const T* data, const Selected& what, const Extent& n,
                        const CellWeights& weights, Use& use) {
  WeightedStretch<Use> stretch(use);
  const auto& stride = what.array->strides;
  for (int64_t k = 0; k < n[2]; ++k)
    for (int64_t j = 0; j < n[1]; ++j) {
      const T* row = data + j * stride[1] + k * stride[2];
      const double of_row = weights.each * weights.factor(1, j) * weights.factor(2, k);
      const bool is_product = weights.of_values.empty() && !weights.parts.any();
      for (int64_t i = 0; i < n[0]; ++i) {
        if (weights.flags != nullptr && !weights.counts(i, j, k)) continue;
        stretch.add(pick(row + i * stride[0], *what.array, what.component),
                    is_product ? of_row * weights.factor(0, i) : weights.of(i, j, k));
      }
    }
  stretch.flush();
}

}  // namespace detail

/// Calls use(values, weights) with the values of a component that count, in stretches: spans of the
/// same length, or of no weights if all are `weights.each`.
template <class F>
void for_each_weighted(const Selected& what, const Extent& n, const CellWeights& weights, F&& use) {
  if (weights.are_equal()) {
    for_each_stretch(*what.array, n, what.component, [&](std::span<const double> values) {
      use(values, std::span<const double>());
    });
  } else if (size_of(n) > 0) {
    what.array->visit(
        [&](const auto* data) { detail::weighted_stretches(data, what, n, weights, use); });
  }
}

namespace detail {

/// Weights of values number `from` to `from + out.size()`, counted with the first axis fastest; not
/// a number where a cell does not count.
inline void read_weights(const CellWeights& weights, const Extent& n, int64_t from,
                         std::span<double> out) {
  int64_t i = from % n[0], j = from / n[0] % n[1], k = from / (n[0] * n[1]);
  for (size_t at = 0; at < out.size(); i = 0, k += ++j == n[1], j %= n[1])
    for (; i < n[0] && at < out.size(); ++i)
      out[at++] = weights.flags != nullptr && !weights.counts(i, j, k)
                      ? std::numeric_limits<double>::quiet_NaN()
                      : weights.of(i, j, k);
}

/// Takes out the values of cells that do not count; returns how many remain.
inline size_t leave_out(std::vector<std::span<double>>& values, std::span<double> weights) {
  size_t kept = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (std::isnan(weights[i])) continue;
    for (auto& of : values) of[kept] = of[i];
    weights[kept++] = weights[i];
  }
  return kept;
}

}  // namespace detail

/// As for_each_stretch_of(), with the weights of cells: use(values, weights). Values of cells that
/// do not count are left out. There are no weights if all are `weights.each`.
template <class F>
void for_each_weighted_of(const std::vector<Selected>& all, const Extent& n,
                          const CellWeights& weights, F&& use) {
  int64_t from = 0;
  std::vector<double> memory;
  for_each_stretch_of(all, n, [&](std::vector<std::span<double>>& values) {
    if (weights.are_equal()) return use(values, std::span<const double>());
    memory.resize(values[0].size());
    detail::read_weights(weights, n, from, memory);
    from += static_cast<int64_t>(memory.size());
    const size_t kept = detail::leave_out(values, memory);
    for (auto& of : values) of = of.first(kept);
    use(values, std::span<const double>(memory).first(kept));
  });
}

}  // namespace pillion::stages
