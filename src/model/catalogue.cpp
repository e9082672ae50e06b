// SPDX-License-Identifier: BSD-3-Clause
// What a catalogue has, and finding it. catalogue_meshes.cpp and catalogue_fields.cpp read it.
#include "model/catalogue.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "model/geometry.hpp"

namespace pillion::model {

size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::Int8:
    case ElementType::Uint8: return 1;
    case ElementType::Int16:
    case ElementType::Uint16: return 2;
    case ElementType::Int32:
    case ElementType::Uint32:
    case ElementType::Float32: return 4;
    default: return 8;
  }
}

const char* name_of(ElementType type) {
  switch (type) {
    case ElementType::Int32: return "int32";
    case ElementType::Int64: return "int64";
    case ElementType::Float32: return "float32";
    case ElementType::Int8: return "int8";
    case ElementType::Uint8: return "uint8";
    case ElementType::Int16: return "int16";
    case ElementType::Uint16: return "uint16";
    case ElementType::Uint32: return "uint32";
    case ElementType::Uint64: return "uint64";
    default: return "float64";
  }
}

const char* name_of(MeshKind kind) {
  switch (kind) {
    case MeshKind::Uniform: return "uniform";
    case MeshKind::Particles: return "particles";
    case MeshKind::Rectilinear: return "rectilinear";
    case MeshKind::Curvilinear: return "curvilinear";
    case MeshKind::Unstructured: return "unstructured";
    default: return "spectral";
  }
}

const char* name_of(Centering centering) {
  switch (centering) {
    case Centering::Cell: return "cell";
    case Centering::Point: return "point";
    case Centering::Face: return "face";
    case Centering::Edge: return "edge";
    default: return "";
  }
}

const char* items_of(MeshKind kind) {
  if (kind == MeshKind::Unstructured) return "cells";
  return kind == MeshKind::Particles ? "particles" : "elements";
}

std::string coordinates_of(const std::string& mesh) { return fmt::format("/{}/coordinates", mesh); }
std::string point_ids_of(const std::string& mesh) { return fmt::format("/{}/point_ids", mesh); }
std::string topology_of(const std::string& mesh) { return fmt::format("/{}/topology", mesh); }
std::string assembled_coordinates_of(const std::string& mesh) { return mesh + "_coordinates"; }

std::vector<std::string> geometry_fields(const Mesh& mesh) {
  std::vector<std::string> fields;
  if (mesh.kind == MeshKind::Curvilinear) fields = {mesh.coordinates};
  if (has_points(mesh.kind))
    fields = {coordinates_of(mesh.name), point_ids_of(mesh.name), topology_of(mesh.name)};
  for (const auto& name : {mesh.mask, mesh.weight})
    if (!name.empty()) fields.push_back(name);
  return fields;
}

std::string name_of_geometry(const std::string& field) {
  if (!is_geometry(field)) return fmt::format("field '{}'", field);
  return field.ends_with("/topology") ? "its cells" : "its points";
}

Centering centering_of(const Mesh& mesh, const Field& field) {
  if (mesh.kind == MeshKind::Particles) return Centering::Natural;
  if (field.centering != Centering::Natural) return field.centering;
  return mesh.kind == MeshKind::Spectral ? Centering::Point : Centering::Cell;
}

const PointSet* point_set_of(const Mesh& mesh, const Field& field) {
  const auto at = std::find_if(mesh.point_sets.begin(), mesh.point_sets.end(),
                               [&](const PointSet& set) { return set.name == field.point_set; });
  return at == mesh.point_sets.end() ? nullptr : &*at;
}

int32_t points_along(const Mesh& mesh, const Field& field) {
  if (mesh.kind != MeshKind::Spectral || centering_of(mesh, field) != Centering::Point) return 0;
  const PointSet* set = point_set_of(mesh, field);
  return set == nullptr ? mesh.order + 1 : set->points;
}

int32_t points_of(const Mesh& mesh, const Field& field) {
  const int32_t n = points_along(mesh, field);
  if (n == 0) return 1;
  return mesh.axes == 2 ? n * n : n * n * n;
}

void read_units(base::Reader& reader, std::string& units, base::Diagnostics* mistakes) {
  attempt(mistakes, [&] {
    if (const base::Value* given = reader.find("units")) units = given->as_text();
  });
}

const Field& Catalogue::named_field(const base::Value& place) const {
  const Field* field = find_field(place.text);
  if (field == nullptr)
    place.fail(fmt::format("unknown field '{}'{}", place.text,
                           base::suggestion(place.text, field_names())));
  return *field;
}

void Catalogue::put(Mesh mesh) {
  std::erase_if(meshes_, [&](const Mesh& m) { return m.name == mesh.name; });
  std::erase_if(fields_,
                [&](const Field& f) { return is_geometry(f.name) && f.mesh == mesh.name; });
  if (has_points(mesh.kind)) {
    const std::string& name = mesh.name;
    put(Field{coordinates_of(name), name, mesh.units, ElementType::Float64, 3, Centering::Point});
    put(Field{point_ids_of(name), name, "", ElementType::Int64, 1, Centering::Point});
    put(Field{topology_of(name), name, "", ElementType::Uint8, 1, Centering::Natural});
  }
  note_points(mesh);
  meshes_.push_back(std::move(mesh));
}

void Catalogue::note_points(Mesh& mesh) const {
  mesh.has_values_at_points = std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) {
    return field.mesh == mesh.name && point_axes_of(mesh, field) != 0;
  });
}

namespace {

bool is_same_place(const Mesh& a, const Mesh& b) {
  return a.kind == b.kind && a.axes == b.axes && a.cells == b.cells && a.origin == b.origin &&
         a.length == b.length && a.periodic == b.periodic && a.metric == b.metric &&
         a.radius == b.radius && a.faces == b.faces && a.is_whole();
}

}  // namespace

// A mesh of its own for each level, so that stages that need a uniform mesh find one. A mesh of
// that name in the configuration stays.
void Catalogue::add_levels() {
  std::erase_if(meshes_, [](const Mesh& m) { return !m.level_of.empty(); });
  std::vector<Mesh> added;
  for (const auto& mesh : meshes_) {
    if (mesh.is_whole() || !can_be_divided(mesh.kind)) continue;
    for (int level = 0; level < mesh.levels(); ++level) {
      Mesh one = mesh;
      one.name = name_of_level(mesh.name, level);
      one.cells = cells_of_level(mesh, level);
      one.ratios.clear();
      one.is_partial = false;
      one.mask = one.weight = "";
      one.level_of = mesh.name;
      const Mesh* known = find_mesh(one.name);
      if (known == nullptr) added.push_back(std::move(one));
      else if (!is_same_place(*known, one))
        base::fail(ErrorCode::Configuration,
                   "mesh '{}' is not level {} of mesh '{}', whose name it has; level {} has {} "
                   "cells in the same place. Give it another name",
                   one.name, level, mesh.name, level,
                   fmt::join(one.cells.begin(), one.cells.begin() + one.axes, " x "));
    }
  }
  for (auto& mesh : added) put(std::move(mesh));
}

void Catalogue::put(Field field) {
  std::erase_if(fields_, [&](const Field& f) { return f.name == field.name; });
  fields_.push_back(std::move(field));
  for (auto& mesh : meshes_) note_points(mesh);
}

void Catalogue::put(Scalar scalar) {
  if (const auto known = find_scalar(scalar.name)) scalars_[*known] = std::move(scalar);
  else scalars_.push_back(std::move(scalar));
}

void Catalogue::add(Field field) {
  made_.insert(field.name);
  put(std::move(field));
}

const Mesh* Catalogue::find_mesh(const std::string& name) const {
  const auto at =
      std::find_if(meshes_.begin(), meshes_.end(), [&](const Mesh& m) { return m.name == name; });
  return at == meshes_.end() ? nullptr : &*at;
}

const Field* Catalogue::find_field(const std::string& name) const {
  const auto at =
      std::find_if(fields_.begin(), fields_.end(), [&](const Field& f) { return f.name == name; });
  return at == fields_.end() ? nullptr : &*at;
}

const Mesh& Catalogue::mesh(const std::string& name) const {
  const Mesh* mesh = find_mesh(name);
  if (mesh == nullptr) base::fail(ErrorCode::Internal, "no mesh '{}' in the catalogue", name);
  return *mesh;
}

const Field& Catalogue::field(const std::string& name) const {
  const Field* field = find_field(name);
  if (field == nullptr) base::fail(ErrorCode::Internal, "no field '{}' in the catalogue", name);
  return *field;
}

const Mesh& Catalogue::mesh_of(const std::string& name) const { return mesh(field(name).mesh); }

std::vector<std::string> Catalogue::field_names() const {
  std::vector<std::string> names;
  for (const auto& field : fields_)
    if (!is_geometry(field.name)) names.push_back(field.name);
  return names;
}

std::vector<std::string> Catalogue::mesh_names() const {
  std::vector<std::string> names;
  for (const auto& mesh : meshes_) names.push_back(mesh.name);
  return names;
}

std::optional<size_t> Catalogue::find_scalar(const std::string& name) const {
  for (size_t s = 0; s < scalars_.size(); ++s)
    if (scalars_[s].name == name) return s;
  return {};
}

std::vector<std::string> Catalogue::scalar_names() const {
  std::vector<std::string> names;
  for (const auto& scalar : scalars_) names.push_back(scalar.name);
  return names;
}

bool Catalogue::set_units(const std::string& name, const std::string& units) {
  bool found = false;
  for (auto& field : fields_)
    if (field.name == name) field.units = units, found = true;
  for (auto& mesh : meshes_)
    if (mesh.name == name) mesh.units = units, found = true;
  for (auto& scalar : scalars_)
    if (scalar.name == name) scalar.units = units, found = true;
  return found;
}

}  // namespace pillion::model
