// SPDX-License-Identifier: BSD-3-Clause
// How the values of a field weigh by volume, whatever the kind of its mesh.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "cell_volumes.hpp"
#include "cells.hpp"
#include "element_volumes.hpp"
#include "elements.hpp"
#include "options.hpp"
#include "shared_points.hpp"

namespace pillion::stages {

/// What a stage keeps of the meshes whose values it weighs: fields of one mesh share it.
class VolumesByMesh {
 public:
  /// Null if the mesh has no elements with coordinates.
  std::shared_ptr<ElementVolumes> elements(const stage::Setup& setup,
                                           const pillion_field_description& field,
                                           const stage::Value& place) {
    if (!has_element_volumes(field)) return nullptr;
    auto& found = elements_[field.mesh];
    if (!found) {
      found = std::make_shared<ElementVolumes>(setup, field, place);
      setup.memory(32 / bytes_of(setup, {found->coordinates()}));  // what Seen has of a point
    }
    return found;
  }
  /// Null unless cells are where their points are.
  std::shared_ptr<CellVolumes> cells(const stage::Setup& setup,
                                     const pillion_field_description& field) {
    if (!has_placed_points(field)) return nullptr;
    auto& found = cells_[field.mesh];
    if (!found) {
      found = std::make_shared<CellVolumes>();
      setup.memory(17 / bytes_of(setup, {field.name}));  // what Seen has of a cell or point
    }
    return found;
  }

  /// Of an unstructured mesh.
  std::shared_ptr<SharedPoints> points(const pillion_field_description& field) {
    auto& found = points_[field.mesh];
    if (!found) found = std::make_shared<SharedPoints>();
    return found;
  }

 private:
  std::map<std::string, std::shared_ptr<SharedPoints>> points_;
  std::map<std::string, std::shared_ptr<ElementVolumes>> elements_;
  std::map<std::string, std::shared_ptr<CellVolumes>> cells_;
};

/// Weighs the values of fields of one mesh with one centering.
class Weighing {
 public:
  Weighing(const stage::Setup& setup, const pillion_field_description& field,
           const stage::Value& place, VolumesByMesh& volumes)
      : field_(field),
        mesh_(field.mesh),
        elements_(volumes.elements(setup, field, place)),
        cells_(volumes.cells(setup, field)) {
    if (samples_cells()) points_ = volumes.points(field);
  }

  /// Adds to the fields of an input the one that it needs beside them, if any.
  void add_to(std::vector<std::string>& fields) {
    if (!elements_) return;
    const auto found = std::find(fields.begin(), fields.end(), elements_->coordinates());
    coordinates_ = static_cast<int32_t>(found - fields.begin());
    if (found == fields.end()) fields.push_back(elements_->coordinates());
  }

  /// Whether values have different weights, so that sums of these must be known. The same on every
  /// peer.
  [[nodiscard]] bool is_by_volume() const {
    return elements_ || cells_ || (has_boxes(field_) && !has_equal_weights(field_));
  }

  /// Of a block of that input; good until the next publication.
  [[nodiscard]] CellWeights of(const stage::Step& step, const stage::Block& block) const {
    if (elements_) return elements_->weights(step, field_, block, block[coordinates_]);
    const auto& mesh = step.mesh(mesh_);
    if (cells_) return cells_->weights(step, mesh, block, field_.centering);
    return weights_of(mesh, field_, block);
  }

  /// Whether the values lie at points that cells share, and values within cells may weigh for them.
  [[nodiscard]] bool samples_cells() const {
    return cells_ && is_unstructured(field_) && field_.centering == PILLION_POINT;
  }
  /// Finds the points that several blocks have, for `for_each`, which otherwise counts them in each
  /// of these. [peers]
  void find_shared(const stage::Step& step, int32_t input) const {
    if (!samples_cells()) return;
    const auto& mesh = step.mesh(mesh_);
    points_->look(step, input, [&](const stage::Block& block) {
      return cells_->weights(step, mesh, block, PILLION_POINT);
    });
  }
  /// Calls use(values, weights, times) with values of several fields at the places of the one that
  /// this weighs. Values of a block count once. Values at points within cells with nodes in the
  /// middle of their edges weigh for these, and count 0 times; values of points that count in
  /// another block do not weigh, and take their count back: -1 times. There are no weights if all
  /// values weigh `weights.each`.
  template <class Use>
  void for_each(const stage::Step& step, const stage::Block& block,
                const std::vector<Selected>& all, CellWeights weights, Use&& use) const {
    const auto& mesh = step.mesh(mesh_);
    if (samples_cells())
      weights = cells_->weights(step, mesh, block, field_.centering, PointsOf::straight_cells);
    const auto with = [&](int32_t times) {
      return [&use, times](std::vector<std::span<double>>& values, std::span<const double> each) {
        use(values, each, times);
      };
    };
    for_each_weighted_of(all, extent_of(block, field_), weights, with(1));
    if (!samples_cells()) return;
    cells_->for_each_sample(step, mesh, block, all, with(0));
    take_back(points_->repeated(block.id()), all, with(-1));
  }

 private:
  /// Calls use(values, weights of 0) with the values of the marked points.
  template <class Use>
  static void take_back(std::span<const uint8_t> marked, const std::vector<Selected>& all,
                        Use&& use) {
    const auto count = std::count(marked.begin(), marked.end(), uint8_t{1});
    if (count == 0) return;
    const auto points = static_cast<int64_t>(marked.size());
    std::vector<double> whole(marked.size());
    std::vector<std::vector<double>> picked(all.size());
    for (size_t a = 0; a < all.size(); ++a) {
      read_values(all[a], {points, 1, 1}, 0, whole);
      for (size_t p = 0; p < marked.size(); ++p)
        if (marked[p] != 0) picked[a].push_back(whole[p]);
    }
    std::vector<std::span<double>> values(picked.begin(), picked.end());
    use(values, std::span<const double>());
  }

  pillion_field_description field_;
  std::string mesh_;
  std::shared_ptr<ElementVolumes> elements_;  ///< of a spectral mesh that names its coordinates
  std::shared_ptr<CellVolumes> cells_;        ///< of an unstructured or curvilinear mesh
  std::shared_ptr<SharedPoints> points_;      ///< of values at points of an unstructured mesh
  int32_t coordinates_ = 0;
};

}  // namespace pillion::stages
