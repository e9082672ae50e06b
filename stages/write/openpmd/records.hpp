// SPDX-License-Identifier: BSD-3-Clause
// What a series of openPMD holds: records of meshes and of species of particles, each from a field;
// how large they are in a step, and which datasets that makes.
#pragma once

#include <pillion/types.h>

#include <cstdint>
#include <optional>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "../../common/elements.hpp"

namespace pillion::stages::write_openpmd {

/// A field under the name that files call it.
struct Record {
  std::string name;
  pillion_field_description field;

  /// Names of its components; none if it is a scalar.
  [[nodiscard]] std::vector<std::string> components() const;
};

/// A mesh, or a species of particles, and the records on it.
struct Group {
  pillion_field_description mesh;
  std::vector<std::string> fields;  ///< of the input, in the order of `records`
  std::vector<Record> records;
  int32_t input = 0;

  [[nodiscard]] bool is_particles() const { return mesh.mesh_kind == PILLION_PARTICLES; }
  /// Boxes of several levels, or with gaps between them, come as they are shared.
  [[nodiscard]] bool has_boxes_as_shared() const {
    return mesh.levels > 1 || mesh.is_partial != 0 || has_weight(mesh);
  }
};

/// From the parameters `fields` and `records`, in the order of the meshes' first fields. Throws if
/// openPMD cannot hold one of them.
std::vector<Group> groups_of(const stage::Setup& setup);
/// A text that differs if the groups do.
std::string contents_of(const std::vector<Group>& groups);

/// A group in a step: particles, or one level of a mesh.
struct Part {
  const Group* group;
  int32_t level = 0;
  std::vector<int64_t> lo, extent;  ///< in the order of files, the first axis last
  std::vector<double> spacing, offset, position;
  std::string units;  ///< of lengths
  std::optional<pillion_domain> domain;
  int32_t coarsening = 1;
  std::vector<int64_t> boxes = {};  ///< lo and hi of each, on the peer that makes the file

  /// What a record is called here: density, or density_lvl1 of the first finer level.
  [[nodiscard]] std::string name(const Record& record) const;
};

struct Dataset {
  std::string path;  ///< below the group of the step
  const Record* record;
  int32_t component;
};

/// Datasets of a part, record after record, component after component.
std::vector<Dataset> datasets_of(const Part& part);

}  // namespace pillion::stages::write_openpmd
