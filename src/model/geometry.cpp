// SPDX-License-Identifier: BSD-3-Clause
// Metrics and coordinates, read from YAML and checked.
#include "model/geometry.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace pillion::model {

using base::Value;

const char* name_of(Metric metric) {
  switch (metric) {
    case Metric::Cylindrical: return "cylindrical";
    case Metric::Spherical: return "spherical";
    default: return "cartesian";
  }
}

std::string name_of_axis(const Mesh& mesh, int axis) {
  if (mesh.metric == Metric::Spherical)
    return axis == 0 ? "longitude" : axis == 1 ? "latitude" : mesh.radius > 0 ? "height" : "radius";
  if (mesh.metric == Metric::Cylindrical)
    return axis == 0 ? "radius" : axis == 1 && mesh.axes == 3 ? "azimuth" : "height";
  return fmt::format("axis {}", axis);
}

namespace {

bool is_angle_around(const Mesh& mesh, int axis) {
  return (mesh.metric == Metric::Spherical && axis == 0) ||
         (mesh.metric == Metric::Cylindrical && axis == 1 && mesh.axes == 3);
}

/// Whether coordinates along an axis are distances from the centre or from the axis.
bool is_radius(const Mesh& mesh, int axis) {
  return (mesh.metric == Metric::Spherical && axis == 2) ||
         (mesh.metric == Metric::Cylindrical && axis == 0);
}

/// What is wrong with a range along an axis; "" if nothing is. Ends may be off by rounding.
std::string fault_of_range(const Mesh& mesh, int axis, double lo, double hi) {
  constexpr double tolerance = 1e-9;
  const std::string name = name_of_axis(mesh, axis);
  if (is_angle_around(mesh, axis) && hi - lo > 360 + 360 * tolerance)
    return fmt::format("{} goes from {} to {} degrees, and there are 360", name, lo, hi);
  if (mesh.metric == Metric::Spherical && axis == 1 &&
      (lo < -90 - 90 * tolerance || hi > 90 + 90 * tolerance))
    return fmt::format("latitude goes from {} to {} degrees; it lies between -90 and 90", lo, hi);
  const double above = mesh.metric == Metric::Spherical && axis == 2 ? mesh.radius : 0;
  if (is_radius(mesh, axis) && above + lo < -tolerance * std::abs(hi - lo))
    return fmt::format("{} begins at {}, so that the distance from the {} would be negative", name,
                       lo, mesh.metric == Metric::Spherical ? "centre" : "axis");
  return "";
}

Metric read_metric_name(const Value& value) {
  const std::string& text = value.as_text();
  for (const auto metric : {Metric::Cartesian, Metric::Cylindrical, Metric::Spherical})
    if (text == name_of(metric)) return metric;
  value.fail(fmt::format("unknown metric '{}'{}", text,
                         base::suggestion(text, {"cartesian", "cylindrical", "spherical"})));
}

void read_radius(const Value* value, Mesh& mesh) {
  if (value == nullptr) {
    // Without a third axis the mesh is a sphere's surface, and a sphere has a radius.
    if (mesh.metric == Metric::Spherical && mesh.axes == 2) mesh.radius = 1;
    return;
  }
  if (mesh.metric != Metric::Spherical)
    value->fail_at_key("'radius' is that of a sphere; leave it out or set 'metric: spherical'");
  mesh.radius = value->as_real();
  if (!(mesh.radius > 0) || !std::isfinite(mesh.radius))
    value->fail(fmt::format("radius must be above 0, found {}", value->text));
}

void check_extent(const Value& metric, const Mesh& mesh) {
  if (mesh.metric == Metric::Cartesian) return;
  if (mesh.axes < 2)
    metric.fail(fmt::format("a {} mesh has 2 or 3 axes, and mesh '{}' has 1", name_of(mesh.metric),
                            mesh.name));
  for (int a = 0; a < mesh.axes; ++a) {
    const bool is_latitude = mesh.metric == Metric::Spherical && a == 1;
    if (mesh.periodic[a] && (is_radius(mesh, a) || is_latitude))
      metric.fail(fmt::format("{} cannot be periodic", name_of_axis(mesh, a)));
    if (mesh.kind == MeshKind::Rectilinear && mesh.faces.empty()) continue;  // checked when set
    const auto fault = fault_of_range(mesh, a, mesh.origin[a], mesh.origin[a] + mesh.length[a]);
    if (!fault.empty()) metric.fail(fault);
  }
}

std::vector<double> read_numbers(const Value& list) {
  std::vector<double> out;
  if (!list.is_list())
    list.fail(
        fmt::format("coordinates are a list of numbers per axis, found {}", base::to_flow(list)));
  for (const auto& [key, value] : list.entries) out.push_back(value.as_real());
  return out;
}

void read_coordinates(const Value& value, bool has_cells, Mesh& mesh) {
  const auto axes = value.is_list() ? value.entries.size() : 0;
  if (axes == 0 || axes > 3)
    value.fail("coordinates must be a list of 1 to 3 lists, one per axis, of the faces of cells");
  if (has_cells && static_cast<int>(axes) != mesh.axes)
    value.fail(fmt::format("there are coordinates of {} axes, and cells of {}", axes, mesh.axes));
  mesh.axes = static_cast<int>(axes);
  Faces faces;
  for (size_t a = 0; a < axes; ++a) {
    const Value& list = value.entries[a].second;
    faces.push_back(read_numbers(list));
    if (faces[a].size() < 2) list.fail("coordinates of an axis are those of at least two faces");
    if (!has_cells) mesh.cells[a] = static_cast<int64_t>(faces[a].size()) - 1;
    const auto fault = fault_of_faces(mesh, static_cast<int>(a), faces[a]);
    if (!fault.empty()) list.fail(fault);
  }
  mesh = with_faces(std::move(mesh), std::move(faces));
}

}  // namespace

bool read_faces(base::Reader& reader, Mesh& mesh, base::Diagnostics* mistakes) {
  const Value* cells = reader.find("cells");
  const Value* coordinates = reader.find("coordinates");
  return attempt(mistakes, [&] {
    if (cells == nullptr && coordinates == nullptr) (void)reader.require("coordinates");
    if (cells != nullptr) read_cells(*cells, mesh);
    if (coordinates != nullptr) return read_coordinates(*coordinates, cells != nullptr, mesh);
    mesh.length = {};  // not known before the program sets coordinates
  });
}

bool read_metric(base::Reader& reader, Mesh& mesh, base::Diagnostics* mistakes) {
  const Value* metric = reader.find("metric");
  const Value* radius = reader.find("radius");
  return attempt(mistakes, [&] {
    if (metric != nullptr) mesh.metric = read_metric_name(*metric);
    read_radius(radius, mesh);
    if (metric != nullptr) check_extent(*metric, mesh);
  });
}

std::string fault_of_faces(const Mesh& mesh, int axis, std::span<const double> faces) {
  const auto cells = mesh.cells[static_cast<size_t>(axis)];
  const std::string name = name_of_axis(mesh, axis);
  if (static_cast<int64_t>(faces.size()) != cells + 1)
    return fmt::format("{} has {} cells, so {} coordinates of faces are needed, found {}", name,
                       cells, cells + 1, faces.size());
  for (size_t i = 0; i < faces.size(); ++i) {
    if (!std::isfinite(faces[i]))
      return fmt::format("coordinate {} of {} cannot be {}", i, name, faces[i]);
    if (i > 0 && !(faces[i] > faces[i - 1]))
      return fmt::format("coordinates must increase, but along {} number {} is {} after {}", name,
                         i, faces[i], faces[i - 1]);
  }
  return fault_of_range(mesh, axis, faces.front(), faces.back());
}

Mesh with_faces(Mesh mesh, Faces faces) {
  for (size_t a = 0; a < faces.size(); ++a) {
    mesh.origin[a] = faces[a].front();
    mesh.length[a] = faces[a].back() - faces[a].front();
  }
  mesh.faces = std::move(faces);
  return mesh;
}

std::vector<double> coarse_faces(std::span<const double> fine, int64_t factor) {
  std::vector<double> out = {fine.front()};
  const auto cells = fine.size() - 1;
  const auto centre = [&](size_t cell) { return (fine[cell] + fine[cell + 1]) / 2; };
  const auto stride = static_cast<size_t>(factor);
  for (size_t cell = stride; cell < cells; cell += stride)
    out.push_back((centre(cell - stride) + centre(cell)) / 2);
  out.push_back(fine.back());
  return out;
}

}  // namespace pillion::model
