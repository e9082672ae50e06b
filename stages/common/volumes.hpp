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

 private:
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
        cells_(volumes.cells(setup, field)) {}

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

 private:
  pillion_field_description field_;
  std::string mesh_;
  std::shared_ptr<ElementVolumes> elements_;  ///< of a spectral mesh that names its coordinates
  std::shared_ptr<CellVolumes> cells_;        ///< of an unstructured or curvilinear mesh
  int32_t coordinates_ = 0;
};

}  // namespace pillion::stages
