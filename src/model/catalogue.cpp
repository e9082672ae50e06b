// SPDX-License-Identifier: BSD-3-Clause
// Reading meshes and fields from YAML, with every mistake pointed at.
#include "model/catalogue.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace pillion::model {

using base::Reader;
using base::Value;

size_t size_of(ElementType type) {
  return type == ElementType::Int32 || type == ElementType::Float32 ? 4 : 8;
}

const char* name_of(ElementType type) {
  switch (type) {
    case ElementType::Int32: return "int32";
    case ElementType::Int64: return "int64";
    case ElementType::Float32: return "float32";
    default: return "float64";
  }
}

namespace {

ElementType read_type(const Value& value) {
  const std::string& text = value.as_text();
  for (const auto type :
       {ElementType::Int32, ElementType::Int64, ElementType::Float32, ElementType::Float64})
    if (text == name_of(type)) return type;
  value.fail(fmt::format("unknown type '{}'{}", text,
                         base::suggestion(text, {"int32", "int64", "float32", "float64"})));
}

MeshKind read_kind(const Value& value) {
  const std::string& text = value.as_text();
  if (text == "uniform") return MeshKind::Uniform;
  if (text == "particles") return MeshKind::Particles;
  for (const char* later : {"rectilinear", "curvilinear", "unstructured", "spectral"})
    if (text == later)
      value.fail(fmt::format(
          "meshes of kind '{}' are reserved for a later version; this one has uniform and "
          "particles",
          text));
  value.fail(fmt::format("unknown kind of mesh '{}'{}", text,
                         base::suggestion(text, {"uniform", "particles"})));
}

/// A list with one entry per axis.
const Value& per_axis(const Value& value, int axes, const char* what) {
  if (!value.is_list() || static_cast<int>(value.entries.size()) != axes)
    value.fail(fmt::format("{} must be a list of {} values, one per axis", what, axes));
  return value;
}

void read_cells(const Value& cells, Mesh& mesh) {
  if (!cells.is_list() || cells.entries.empty() || cells.entries.size() > 3)
    cells.fail("cells must be a list of 1 to 3 integers");
  mesh.axes = static_cast<int>(cells.entries.size());
  for (size_t a = 0; a < cells.entries.size(); ++a) {
    mesh.cells[a] = cells.entries[a].second.as_integer();
    if (mesh.cells[a] < 1)
      cells.fail(fmt::format("cells must be positive, found {}", mesh.cells[a]));
  }
}

void read_uniform(Reader& reader, Mesh& mesh) {
  read_cells(reader.require("cells"), mesh);
  for (int a = 0; a < mesh.axes; ++a) mesh.length[a] = static_cast<double>(mesh.cells[a]);
  if (const Value* length = reader.find("length"))
    for (int a = 0; a < mesh.axes; ++a) {
      mesh.length[a] = per_axis(*length, mesh.axes, "length").entries[a].second.as_real();
      if (!(mesh.length[a] > 0)) length->fail("length must be positive");
    }
  if (const Value* origin = reader.find("origin"))
    for (int a = 0; a < mesh.axes; ++a)
      mesh.origin[a] = per_axis(*origin, mesh.axes, "origin").entries[a].second.as_real();
  if (const Value* periodic = reader.find("periodic"))
    for (int a = 0; a < mesh.axes; ++a)
      mesh.periodic[a] =
          periodic->is_list()
              ? per_axis(*periodic, mesh.axes, "periodic").entries[a].second.as_boolean()
              : periodic->as_boolean();
}

}  // namespace

void Catalogue::read(const Value* meshes, const Value* fields) {
  if (meshes != nullptr) {
    if (!meshes->is_map()) meshes->fail("'meshes' must be a map from names to meshes");
    for (const auto& [name, value] : meshes->entries) {
      Mesh mesh{.name = name, .units = {}};
      Reader reader(value, "mesh '" + name + "'");
      mesh.kind = read_kind(reader.require("kind"));
      if (const Value* units = reader.find("units")) mesh.units = units->as_text();
      if (mesh.kind == MeshKind::Uniform) read_uniform(reader, mesh);
      reader.finish();
      put(std::move(mesh));
    }
  }
  if (fields == nullptr) return;
  if (!fields->is_map()) fields->fail("'fields' must be a map from names to fields");
  for (const auto& [name, value] : fields->entries) {
    Field field{.name = name, .mesh = {}, .units = {}};
    Reader reader(value, "field '" + name + "'");
    const Value& mesh = reader.require("mesh");
    field.mesh = mesh.as_text();
    if (find_mesh(field.mesh) == nullptr) {
      std::vector<std::string> known;
      for (const auto& m : meshes_) known.push_back(m.name);
      mesh.fail(
          fmt::format("unknown mesh '{}'{}", field.mesh, base::suggestion(field.mesh, known)));
    }
    field.type = read_type(reader.require("type"));
    if (const Value* components = reader.find("components")) {
      field.components = static_cast<int32_t>(components->as_integer());
      if (field.components < 1 || field.components > 1000)
        components->fail(fmt::format("components must be 1 to 1000, found {}", components->text));
    }
    if (const Value* units = reader.find("units")) field.units = units->as_text();
    reader.finish();
    put(std::move(field));
  }
}

void Catalogue::put(Mesh mesh) {
  std::erase_if(meshes_, [&](const Mesh& m) { return m.name == mesh.name; });
  meshes_.push_back(std::move(mesh));
}

void Catalogue::put(Field field) {
  std::erase_if(fields_, [&](const Field& f) { return f.name == field.name; });
  fields_.push_back(std::move(field));
}

void Catalogue::add(Field field) { put(std::move(field)); }

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
  for (const auto& field : fields_) names.push_back(field.name);
  return names;
}

std::vector<std::string> Catalogue::mesh_names() const {
  std::vector<std::string> names;
  for (const auto& mesh : meshes_) names.push_back(mesh.name);
  return names;
}

bool Catalogue::set_units(const std::string& name, const std::string& units) {
  bool found = false;
  for (auto& field : fields_)
    if (field.name == name) field.units = units, found = true;
  for (auto& mesh : meshes_)
    if (mesh.name == name) mesh.units = units, found = true;
  return found;
}

}  // namespace pillion::model
