// SPDX-License-Identifier: BSD-3-Clause
// A file of one step: a dataset for each field, with dimension scales that xarray takes for
// coordinates, and, of meshes, a group VTKHDF through which VTK and ParaView see the same datasets.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "../../common/hdf5.hpp"
#include "../fields.hpp"
#include "chunks.hpp"
#include "compression.hpp"

namespace pillion::stages::write_hdf5 {

/// What files say beside values.
struct StepText {
  int64_t step = 0;
  double time = 0;
  int64_t coarsening = 1;
  std::string time_units, length_units, origin;
  std::optional<pillion_domain> domain{};  ///< of particles
  pillion_metric metric = PILLION_CARTESIAN;
  double radius = 0;                         ///< of a spherical mesh
  std::vector<std::string> axis_units{};     ///< of a mesh, by axis
  std::vector<std::vector<double>> faces{};  ///< of a rectilinear mesh as it is now, by axis
};

class Hdf5File {
 public:
  /// Makes a file. Without compression its values have their places, but are not there.
  Hdf5File(const std::filesystem::path& path, const write::WrittenFields& fields,
           const StepText& text, const PartShape& shape, const Compression& compression);
  /// Makes a file that shows those of several parts as one; `parts` are relative to it.
  Hdf5File(const std::filesystem::path& path, const write::WrittenFields& fields,
           const StepText& text, const Chunking& chunking, const std::vector<std::string>& parts);

  /// By field: the byte at which its first chunk begins; the others follow it in order.
  [[nodiscard]] std::vector<int64_t> places() const;
  void write_chunk(size_t field, int64_t chunk, uint32_t skipped, std::span<const std::byte> bytes);
  void close();

 private:
  [[nodiscard]] std::vector<hsize_t> extents(const Cells& cells, size_t field) const;
  hdf5::Handle make(size_t field, const hdf5::Handle& how) const;
  void describe(const StepText& text);
  void put_scales(const StepText& text);
  [[nodiscard]] std::vector<double> faces_here(const StepText& text, size_t axis) const;
  void put_point_scales();
  hdf5::Handle scale(const std::string& name, int64_t size, const void* values, hid_t type) const;
  void put_vtk(const StepText& text);

  std::filesystem::path path_;
  const write::WrittenFields& fields_;
  PartShape shape_;
  Hdf5Disk disk_;
  hdf5::Handle file_;
  std::vector<hdf5::Handle> datasets_;
  std::vector<hdf5::Handle> point_scales_;  ///< while they are made
};

/// Of a dataset: its cells, then components and points where there are several.
std::vector<hsize_t> extents_of(const Cells& cells, const pillion_field_description& field);
/// Of a mesh, the names of its axes in the order of files; of particles or elements, that of the
/// only one.
std::vector<std::string> axis_names(const write::WrittenFields& fields);
/// Of a rectilinear mesh, the names of the datasets of its faces, by axis.
std::vector<std::string> face_names(const write::WrittenFields& fields);
/// Of the components of a field, if there are several.
std::string component_axis(const pillion_field_description& field);
/// Of the points of an element, if the field has values at them.
std::vector<const char*> point_axes(const pillion_field_description& field);

}  // namespace pillion::stages::write_hdf5
