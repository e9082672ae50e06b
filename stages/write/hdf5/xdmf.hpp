// SPDX-License-Identifier: BSD-3-Clause
// The steps of a dataset in HDF5 as one XDMF document, which ParaView and VisIt open as a series in
// time: meshes as images, particles as points.
#pragma once

#include <string>
#include <vector>

#include "../fields.hpp"
#include "../step_list.hpp"

namespace pillion::stages::write_hdf5 {

struct Xdmf {
  const write::WrittenFields& fields;
  std::string name;
  std::string position;  ///< field of particles; empty for meshes
  std::string origin;    ///< where the dataset comes from
  /// Path of a step's file as seen from the document.
  std::string (*path_of)(const std::string& name, int64_t step);

  [[nodiscard]] std::string text(const std::vector<write::StoredStep>& steps) const;

 private:
  [[nodiscard]] std::string grid(const write::StoredStep& step) const;
  [[nodiscard]] std::string image(const write::StoredStep& step) const;
  [[nodiscard]] std::string rectilinear(const write::StoredStep& step) const;
  [[nodiscard]] std::string points(const write::StoredStep& step) const;
  [[nodiscard]] std::string item(const write::StoredStep& step, size_t field) const;
  [[nodiscard]] std::string extent(const write::StoredStep& step) const;
};

/// Cells along the axes of a mesh if each `coarsening`th is kept, in the order of files.
std::vector<int64_t> kept_cells(const pillion_field_description& mesh, int64_t coarsening);

}  // namespace pillion::stages::write_hdf5
