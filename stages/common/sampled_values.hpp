// SPDX-License-Identifier: BSD-3-Clause
// Values of fields at the points of a quadrature within cells that have nodes in the middle of
// their edges: there the interpolation is not linear, and values at nodes alone are not the
// distribution of a field.
#pragma once

#include <cmath>
#include <cstdint>
#include <pillion/stage.hpp>
#include <span>
#include <vector>

#include "elements.hpp"
#include "quadratic_cells.hpp"

namespace pillion::stages {

/// Values of fields within cells, gathered in stretches.
class SampledValues {
 public:
  SampledValues(const std::vector<Selected>& all, int64_t points)
      : all_(all), of_points_(all.size()), held_(all.size()), weights_() {
    for (size_t a = 0; a < all.size(); ++a) {
      // A magnitude within a cell is that of interpolated components.
      const bool is_magnitude = all[a].component == magnitude_of_all;
      const int32_t first = is_magnitude ? 0 : all[a].component;
      const int32_t end = is_magnitude ? all[a].array->components : first + 1;
      for (int32_t c = first; c < end; ++c) {
        auto& values = of_points_[a].emplace_back(static_cast<size_t>(points));
        read_values({all[a].array, c}, {points, 1, 1}, 0, values);
      }
    }
  }

  template <class Use>
  void add(const QuadraticCell& cell, std::span<const int64_t> points, std::span<const double> each,
           Use& use) {
    if (weights_.size() + each.size() > 1024) flush(use);
    weights_.insert(weights_.end(), each.begin(), each.end());
    for (size_t a = 0; a < all_.size(); ++a) {
      const size_t first = held_[a].size();
      held_[a].resize(first + each.size(), 0);
      for (const auto& component : of_points_[a]) {
        nodes_.clear();
        for (const int64_t p : points) nodes_.push_back(component[static_cast<size_t>(p)]);
        complete(cell, nodes_);
        for (size_t q = 0; q < each.size(); ++q) {
          double value = 0;
          const auto& shape = cell.points[q].shape;
          for (size_t n = 0; n < shape.size(); ++n) value += shape[n] * nodes_[n];
          auto& to = held_[a][first + q];
          to = of_points_[a].size() == 1 ? value : std::hypot(to, value);
        }
      }
      if (all_[a].component == magnitude_of_all && of_points_[a].size() == 1)
        for (size_t q = 0; q < each.size(); ++q)
          held_[a][first + q] = std::abs(held_[a][first + q]);
    }
  }
  template <class Use>
  void flush(Use& use) {
    if (weights_.empty()) return;
    std::vector<std::span<double>> spans;
    for (auto& values : held_) spans.emplace_back(values);
    use(spans, std::span<const double>(weights_));
    weights_.clear();
    for (auto& values : held_) values.clear();
  }

 private:
  const std::vector<Selected>& all_;
  std::vector<std::vector<std::vector<double>>> of_points_;  ///< by field and component
  std::vector<std::vector<double>> held_;                    ///< by field
  std::vector<double> weights_, nodes_;
};

}  // namespace pillion::stages
