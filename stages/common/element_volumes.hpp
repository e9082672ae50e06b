// SPDX-License-Identifier: BSD-3-Clause
// Volumes in spectral elements, or areas in those of two dimensions: the weights of the quadrature
// times the Jacobian of the map from the reference element, from the coordinates of its points.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <pillion/stage.hpp>
#include <string>
#include <utility>
#include <vector>

#include "by_block.hpp"
#include "cells.hpp"
#include "elements.hpp"
#include "legendre.hpp"
#include "point_set.hpp"

namespace pillion::stages {

/// Whether the values of a field can be weighed by volume in elements.
inline bool has_element_volumes(const pillion_field_description& field) {
  return field.mesh_kind == PILLION_SPECTRAL && *field.coordinates != '\0';
}

class ElementVolumes {
 public:
  /// Of the mesh of a field that has_element_volumes().
  ElementVolumes(const stage::Setup& setup, const pillion_field_description& field,
                 const stage::Value& place)
      : name_(field.coordinates),
        coordinates_(setup.field(name_, place)),
        axes_(field.axes),
        basis_(field.order),
        jacobian_(basis_),
        area_(basis_) {}

  /// The field that an input needs.
  [[nodiscard]] const std::string& coordinates() const { return name_; }
  [[nodiscard]] int64_t points() const {
    const size_t square = basis_.size() * basis_.size();
    return static_cast<int64_t>(axes_ == 2 ? square : square * basis_.size());
  }

  /// Of a block: its coordinates, and what follows from them for each point and each element.
  struct Seen {
    std::vector<double> coordinates, of_points, of_elements;
    int64_t step = -1;
    int64_t changes = 0;  ///< grows when elements move
    /// By the points of a set along an axis and their quadrature: `changes` when they were weighed,
    /// and the volume of each.
    std::map<std::pair<int32_t, pillion_quadrature>, std::pair<int64_t, std::vector<double>>>
        of_sets{};
  };

  /// Elements that have not moved keep their volumes. `array` is that of the coordinates.
  Seen& of(const stage::Step& step, const stage::Block& block, const stage::Array& array) {
    Seen& seen = seen_.at(step.index(), block.id());
    const auto count = static_cast<size_t>(block.count());
    if (seen.step == step.index() && seen.of_elements.size() == count) return seen;
    seen.step = step.index();
    const auto each = static_cast<size_t>(points());
    if (seen.of_elements.size() != count) ++seen.changes;
    seen.coordinates.resize(3 * each * count);
    seen.of_points.resize(each * count, 0);
    seen.of_elements.resize(count, 0);
    std::vector<double> now(3 * each);
    for (size_t e = 0; e < count; ++e) {
      read(array, e, now);
      double* before = seen.coordinates.data() + e * 3 * each;
      double* volumes = seen.of_points.data() + e * each;
      if (seen.of_elements[e] != 0 && std::equal(now.begin(), now.end(), before)) continue;
      std::copy(now.begin(), now.end(), before);
      seen.of_elements[e] = weigh(now, volumes);
      ++seen.changes;
    }
    return seen;
  }

  /// For values of a field, at points or of elements, of a block whose array of coordinates it is.
  CellWeights weights(const stage::Step& step, const pillion_field_description& field,
                      const stage::Block& block, const stage::Array& array) {
    Seen& seen = of(step, block, array);
    CellWeights out;
    const bool at_points = points_of(field) > 1;
    if (at_points && field.point_set != nullptr) {
      out.of_values = of_set(seen, field);
      out.row = points_of(field);
      return out;
    }
    out.of_values = at_points ? seen.of_points : seen.of_elements;
    out.row = at_points ? points() : block.count();
    return out;
  }

 private:
  const std::vector<double>& of_set(Seen& seen, const pillion_field_description& field) {
    const std::pair key{field.points, field.quadrature};
    auto& [changes, volumes] =
        seen.of_sets.try_emplace(key, -1, std::vector<double>()).first->second;
    if (changes == seen.changes) return volumes;
    changes = seen.changes;
    auto set = sets_.find(key);
    if (set == sets_.end())
      set = sets_.try_emplace(key, basis_, axes_, field.points, field.quadrature).first;
    const size_t count = seen.of_elements.size(), size = set->second.size();
    const auto each = static_cast<size_t>(points());
    volumes.resize(count * size);
    for (size_t e = 0; e < count; ++e) {
      const double* x = seen.coordinates.data() + 3 * each * e;
      set->second.volumes({x, x + each, x + 2 * each}, volumes.data() + e * size);
    }
    return volumes;
  }

  double weigh(const std::vector<double>& coordinates, double* volumes) {
    const size_t n = basis_.size();
    const auto each = static_cast<size_t>(points());
    const double* x = coordinates.data();
    if (axes_ == 2) area_.of(x, x + each, x + 2 * each, volumes);
    else jacobian_.determinant(x, x + each, x + 2 * each, volumes);
    double volume = 0;
    for (size_t p = 0; p < each; ++p) {
      volumes[p] = std::abs(volumes[p]) * basis_.weights[p % n] * basis_.weights[p / n % n] *
                   (axes_ == 2 ? 1 : basis_.weights[p / n / n]);
      volume += volumes[p];
    }
    return volume;
  }

  /// All coordinates of an element: components, each with its points. The third is 0 where the
  /// elements have but two.
  void read(const stage::Array& array, size_t element, std::vector<double>& out) const {
    const auto a = unfolded(array, coordinates_);
    array.visit([&](const auto* data) {
      const auto* first = data + static_cast<int64_t>(element) * a.strides[1];
      auto to = out.begin();
      for (int32_t c = 0; c < coordinates_.components; ++c)
        for (int64_t p = 0; p < points(); ++p)
          *to++ = static_cast<double>(first[c * a.strides[3] + p * a.strides[0]]);
    });
  }

  std::string name_;
  pillion_field_description coordinates_;
  int32_t axes_;
  LobattoBasis basis_;
  Jacobian jacobian_;
  ElementArea area_;
  std::map<std::pair<int32_t, pillion_quadrature>, PointSet> sets_;
  ByBlock<Seen> seen_;
};

}  // namespace pillion::stages
