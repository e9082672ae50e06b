// SPDX-License-Identifier: BSD-3-Clause
// Where the cells of meshes of boxes are: the metric of their axes, and the coordinates of the
// faces between cells that are not all of one width.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/catalogue.hpp"

namespace pillion::model {

const char* name_of(Metric metric);
/// "latitude", or "axis 1" of a cartesian mesh.
std::string name_of_axis(const Mesh& mesh, int axis);

/// Reads `units`, if they are there.
void read_units(base::Reader& reader, std::string& units, base::Diagnostics* mistakes);
/// Reads `cells` and `coordinates`; sets origin and length if there are coordinates.
bool read_faces(base::Reader& reader, Mesh& mesh, base::Diagnostics* mistakes);
/// Read all that is of a mesh of that kind; false if something was wrong.
bool read_uniform(base::Reader& reader, Mesh& mesh, base::Diagnostics* mistakes);
bool read_rectilinear(base::Reader& reader, Mesh& mesh, base::Diagnostics* mistakes);
/// Reads `metric` and `radius`, once the mesh has its axes, extent and periodicity.
bool read_metric(base::Reader& reader, Mesh& mesh, base::Diagnostics* mistakes);

/// What is wrong with the faces along an axis; "" if nothing is. They are finite, in ascending
/// order, one more than cells, and where the metric has room.
std::string fault_of_faces(const Mesh& mesh, int axis, std::span<const double> faces);
/// The mesh with these faces, its origin and length being theirs.
Mesh with_faces(Mesh mesh, Faces faces);

/// Faces of the coarse cells along an axis, whose centres are those of every `factor`-th cell: they
/// lie midway between these centres. The first and the last are those of the mesh, so that coarse
/// cells fill the same space.
std::vector<double> coarse_faces(std::span<const double> fine, int64_t factor);

}  // namespace pillion::model
