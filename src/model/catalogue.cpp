// SPDX-License-Identifier: BSD-3-Clause
// Reading meshes and fields from YAML, with every mistake pointed at.
#include "model/catalogue.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.hpp"
#include "model/geometry.hpp"

namespace pillion::model {

using base::Reader;
using base::Value;

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

namespace {

ElementType read_type(const Value& value) {
  const std::string& text = value.as_text();
  for (const auto type :
       {ElementType::Int32, ElementType::Int64, ElementType::Float32, ElementType::Float64})
    if (text == name_of(type)) return type;
  for (const auto type : {ElementType::Int8, ElementType::Uint8, ElementType::Int16,
                          ElementType::Uint16, ElementType::Uint32, ElementType::Uint64})
    if (text == name_of(type))
      value.fail(fmt::format(
          "fields of type {} are not supported yet; there are int32, int64, float32 and float64",
          text));
  static const std::map<std::string, std::string> elsewhere = {
      {"double", "float64"}, {"real", "float64"},  {"single", "float32"}, {"float", "float32"},
      {"int", "int32"},      {"integer", "int32"}, {"long", "int64"}};
  const auto known = elsewhere.find(text);
  value.fail(fmt::format("unknown type '{}'{}", text,
                         known != elsewhere.end()
                             ? fmt::format("; it is called '{}' here", known->second)
                             : base::suggestion(text, {"int32", "int64", "float32", "float64"})));
}

MeshKind read_kind(const Value& value) {
  const std::string& text = value.as_text();
  std::vector<std::string> names;
  for (const auto kind : {MeshKind::Uniform, MeshKind::Rectilinear, MeshKind::Curvilinear,
                          MeshKind::Particles, MeshKind::Spectral, MeshKind::Unstructured}) {
    if (text == name_of(kind)) return kind;
    names.emplace_back(name_of(kind));
  }
  value.fail(fmt::format("unknown kind of mesh '{}'{}", text, base::suggestion(text, names)));
}

int read_dimensions(const Value& value, const Mesh& mesh) {
  const int64_t dimensions = value.as_integer();
  const int64_t least = mesh.kind == MeshKind::Unstructured ? 1 : 2;
  const char* items = mesh.kind == MeshKind::Spectral ? "spectral elements" : items_of(mesh.kind);
  if (dimensions < least || dimensions > 3)
    value.fail(fmt::format("{} have {}2 or 3 dimensions, found {}", items, least == 1 ? "1, " : "",
                           dimensions));
  return static_cast<int>(dimensions);
}

bool read_particles(Reader& reader, Mesh& mesh, base::Diagnostics* mistakes) {
  return attempt(mistakes, [&] {
    if (const Value* dimensions = reader.find("dimensions"))
      mesh.axes = read_dimensions(*dimensions, mesh);
  });
}

void read_patches(const Value& patches, Mesh& mesh) {
  if (!patches.is_list())
    patches.fail(fmt::format("patches must be a list of names, found {}", base::to_flow(patches)));
  for (const auto& [key, entry] : patches.entries) {
    const std::string& name = entry.as_text();
    if (std::find(mesh.patches.begin(), mesh.patches.end(), name) != mesh.patches.end())
      entry.fail(fmt::format("patch '{}' is listed twice", name));
    mesh.patches.push_back(name);
  }
}

int read_order(const Value& value) {
  constexpr int64_t most = 31;
  const int64_t order = value.as_integer();
  if (order < 1 || order > most)
    value.fail(fmt::format(
        "order must be 1 to {}, found {}: an element of order N has N + 1 points along each axis",
        most, order));
  return static_cast<int>(order);
}

void read_point_set(const std::string& name, const Value& value, Mesh& mesh) {
  PointSet set{.name = name};
  Reader reader(value, "point set '" + name + "'");
  const Value& points = reader.require("points");
  set.points = static_cast<int>(points.as_integer());
  if (const Value* kind = reader.find("kind")) {
    const std::string& text = kind->as_text();
    if (text == "gauss-lobatto") set.quadrature = PILLION_GAUSS_LOBATTO;
    else if (text != "gauss")
      kind->fail(fmt::format("unknown kind of points '{}'{}", text,
                             base::suggestion(text, {"gauss", "gauss-lobatto"})));
  }
  reader.finish();
  if (points.as_integer() < 2 || points.as_integer() > 32)
    points.fail(
        fmt::format("a point set has 2 to 32 points along each axis, found {}; one value "
                    "for each element is `centering: cell`",
                    points.as_integer()));
  mesh.point_sets.push_back(std::move(set));
}

/// Of a field at points of spectral elements, which of them.
std::string read_points(const Value& value, const Mesh& mesh, const Field& field) {
  std::vector<std::string> names;
  for (const auto& set : mesh.point_sets) names.push_back(set.name);
  const std::string& name = value.as_text();
  if (mesh.kind != MeshKind::Spectral || field.centering == Centering::Cell)
    value.fail_at_key(
        fmt::format("`points` names a point set of a spectral mesh; field '{}' has "
                    "values at {} of mesh '{}' of kind {}",
                    field.name, field.centering == Centering::Cell ? "cells" : "other places",
                    mesh.name, name_of(mesh.kind)));
  if (std::find(names.begin(), names.end(), name) == names.end())
    value.fail(
        fmt::format("mesh '{}' has no point set '{}'{}", mesh.name, name,
                    names.empty() ? "; declare its `point_sets`" : base::suggestion(name, names)));
  return name;
}

Centering read_centering(const Value& value, const Mesh& mesh) {
  if (mesh.kind == MeshKind::Particles)
    value.fail_at_key(
        fmt::format("mesh '{}' is of kind 'particles', whose fields have no centering", mesh.name));
  const std::string& text = value.as_text();
  if (text == "cell") return Centering::Cell;
  if (text == "point") {
    if (may_have_points(mesh)) return Centering::Point;
    value.fail(fmt::format("mesh '{}' has {}, where values at points are not supported yet",
                           mesh.name,
                           mesh.levels() > 1 ? "levels of refinement"
                           : mesh.is_partial ? "missing cells"
                                             : "cells with a weight"));
  }
  if (text == "face" || text == "edge") {
    if (can_be_divided(mesh.kind) && mesh.is_whole())
      return text == "face" ? Centering::Face : Centering::Edge;
    value.fail(fmt::format(
        "uniform and rectilinear meshes of one level, with all their cells, have values at {}s; "
        "mesh '{}' {}",
        text, mesh.name,
        mesh.levels() > 1            ? "has levels of refinement"
        : !can_be_divided(mesh.kind) ? fmt::format("is of kind '{}'", name_of(mesh.kind))
        : mesh.is_partial            ? "has missing cells"
                                     : "has cells with a weight"));
  }
  if (text == "points") value.fail("unknown centering 'points'; it is called 'point' here");
  if (text == "elements")
    value.fail("unknown centering 'elements'; one value for each element is called 'cell' here");
  value.fail(fmt::format("unknown centering '{}'{}", text,
                         base::suggestion(text, {"cell", "point", "face", "edge"})));
}

/// `axis: x` of values at faces or edges.
void read_axis(Reader& reader, const Mesh& mesh, Field& field) {
  if (field.centering != Centering::Face && field.centering != Centering::Edge) return;
  const Value& value = reader.require("axis");
  const std::string& text = value.as_text();
  static const std::vector<std::string> names = {"x", "y", "z"};
  const auto found = std::find(names.begin(), names.end(), text);
  field.axis = static_cast<int32_t>(found - names.begin());
  if (field.axis >= mesh.axes)
    value.fail(
        fmt::format("axis is one of the {} of mesh '{}', x, y or z in their order, found '{}'",
                    mesh.axes, mesh.name, text));
}

int32_t read_components(const Value& value) {
  const int64_t components = value.as_integer();
  if (components < 1 || components > 1000)
    value.fail(fmt::format("components must be 1 to 1000, found {}", components));
  return static_cast<int32_t>(components);
}

void read_units(Reader& reader, std::string& units, base::Diagnostics* mistakes) {
  attempt(mistakes, [&] {
    if (const Value* given = reader.find("units")) units = given->as_text();
  });
}

/// Conditions and the columns of tables use the names of scalars.
void check_scalar_name(const std::string& name, const Value& place) {
  static const std::vector<std::string> reserved = {"step", "time", "and", "or",  "not",   "min",
                                                    "max",  "mean", "sum", "rms", "count", "norm"};
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const bool is_word = !name.empty() && is_letter(name[0]) &&
                       std::all_of(name.begin(), name.end(),
                                   [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
  if (!is_word)
    place.fail_at_key(fmt::format(
        "'{}' cannot name a scalar; use letters, digits and '_', with a letter first", name));
  if (std::find(reserved.begin(), reserved.end(), name) != reserved.end())
    place.fail_at_key(
        fmt::format("'{}' has a meaning in conditions, so it cannot name a scalar", name));
}

/// Reads each entry of a map by itself.
template <class Read>
void read_each(const Value* map, const char* what, base::Diagnostics* mistakes, Read&& read) {
  if (map == nullptr) return;
  if (!map->is_map()) map->fail(fmt::format("'{0}' must be a map from names to {0}", what));
  for (const auto& [name, value] : map->entries)
    if (!attempt(mistakes, [&, &name = name, &value = value] { read(name, value); }))
      mistakes->unread.insert(name);
}

}  // namespace

bool Catalogue::read_spectral(base::Reader& reader, Mesh& mesh, base::Diagnostics* mistakes) {
  const Value* coordinates = reader.find("coordinates");
  bool is_good = attempt(mistakes, [&] { mesh.order = read_order(reader.require("order")); });
  is_good &= attempt(mistakes, [&] {
    if (const Value* dimensions = reader.find("dimensions"))
      mesh.axes = read_dimensions(*dimensions, mesh);
  });
  is_good &= attempt(mistakes, [&] {
    const Value* sets = reader.find("point_sets");
    if (sets == nullptr) return;
    if (!sets->is_map())
      sets->fail(fmt::format("point_sets are a map from names to sets of points, found {}",
                             base::to_flow(*sets)));
    for (const auto& [name, set] : sets->entries) read_point_set(name, set, mesh);
  });
  return attempt(mistakes,
                 [&] {
                   if (coordinates != nullptr) read_coordinates(*coordinates, mesh);
                 }) &&
         is_good;
}

bool Catalogue::read_curvilinear(base::Reader& reader, Mesh& mesh, base::Diagnostics* mistakes) {
  const bool is_good =
      attempt(mistakes, [&] { read_cells(reader.require("cells"), mesh); }) &&
      attempt(mistakes, [&] {
        if (mesh.axes < 2)
          reader.require("cells").fail("a curvilinear mesh has 2 or 3 axes; found 1");
      });
  for (int a = 0; a < mesh.axes; ++a) mesh.length[a] = static_cast<double>(mesh.cells[a]);
  return attempt(mistakes, [&] { read_coordinates(reader.require("coordinates"), mesh); }) &&
         is_good;
}

// One field, or one for each component: then a field of the mesh's own has these as components.
void Catalogue::read_coordinates(const Value& coordinates, Mesh& mesh) {
  const std::string assembled = assembled_coordinates_of(mesh.name);
  if (parts_.erase(assembled) != 0)
    std::erase_if(fields_, [&](const Field& field) { return field.name == assembled; });
  Value& place = coordinates_[mesh.name];
  place = coordinates;
  if (coordinates.is_list()) {
    parts_[assembled] = coordinates;
    place.text = assembled;
  } else {
    (void)coordinates.as_text();
  }
  mesh.coordinates = place.text;
}

bool Catalogue::read_unstructured(base::Reader& reader, Mesh& mesh, base::Diagnostics* mistakes) {
  bool is_good = read_particles(reader, mesh, mistakes);  // the dimensions
  is_good &= attempt(mistakes, [&] {
    if (const Value* patches = reader.find("patches")) read_patches(*patches, mesh);
  });
  is_good &= attempt(mistakes, [&] {
    const Value* parent = reader.find("of");
    if (parent == nullptr) return;
    mesh.of = parent->as_text();
    parents_[mesh.name] = *parent;
  });
  return is_good;
}

// Cells that exist in part, and cells of boxes that do not exist.
void Catalogue::read_mask_and_weight(base::Reader& reader, Mesh& mesh) {
  const Value* mask = has_boxes(mesh.kind) ? reader.find("mask") : nullptr;
  const bool has_cells = has_boxes(mesh.kind) || has_points(mesh.kind);
  const Value* weight = has_cells ? reader.find("weight") : nullptr;
  if (mask != nullptr) {
    mesh.mask = mask->as_text();
    mesh.is_partial = true;
    masks_[mesh.name] = *mask;
  }
  if (weight != nullptr) {
    mesh.weight = weight->as_text();
    weights_[mesh.name] = *weight;
  }
}

// A mesh may be listed before the one whose boundary it is.
void Catalogue::check_parents(base::Diagnostics* mistakes) const {
  for (const auto& [name, place] : parents_) {
    const Mesh* mesh = find_mesh(name);
    if (mesh == nullptr || mesh->of != place.text) continue;
    attempt(mistakes, [&, &place = place] {
      const Mesh* parent = find_mesh(place.text);
      if (parent == nullptr)
        place.fail(fmt::format("unknown mesh '{}'{}", place.text,
                               base::suggestion(place.text, mesh_names())));
      if (parent == mesh || parent->kind == MeshKind::Particles)
        place.fail(
            fmt::format("mesh '{}' cannot be the boundary of mesh '{}'; name the mesh whose "
                        "cells it bounds",
                        mesh->name, parent->name));
    });
  }
}

// Which keys are allowed is up to the kind.
void Catalogue::read_mesh(const std::string& name, const Value& value,
                          base::Diagnostics* mistakes) {
  Mesh mesh{.name = name, .units = {}};
  Reader reader(value, "mesh '" + name + "'");
  bool is_good = attempt(mistakes, [&] { mesh.kind = read_kind(reader.require("kind")); });
  read_units(reader, mesh.units, mistakes);
  if (is_good && mesh.kind == MeshKind::Uniform) is_good = read_uniform(reader, mesh, mistakes);
  if (is_good && mesh.kind == MeshKind::Rectilinear)
    is_good = read_rectilinear(reader, mesh, mistakes);
  if (is_good && mesh.kind == MeshKind::Particles) is_good = read_particles(reader, mesh, mistakes);
  if (is_good && mesh.kind == MeshKind::Spectral) is_good = read_spectral(reader, mesh, mistakes);
  if (is_good && mesh.kind == MeshKind::Curvilinear)
    is_good = read_curvilinear(reader, mesh, mistakes);
  if (is_good && mesh.kind == MeshKind::Unstructured)
    is_good = read_unstructured(reader, mesh, mistakes);
  if (is_good) is_good = attempt(mistakes, [&] { read_mask_and_weight(reader, mesh); });
  if (is_good) is_good = attempt(mistakes, [&] { reader.finish(mistakes); });
  if (is_good) put(std::move(mesh));
  else mistakes->unread.insert(name);
}

void Catalogue::read_field(const std::string& name, const Value& value,
                           base::Diagnostics* mistakes) {
  Field field{.name = name, .mesh = {}, .units = {}};
  Reader reader(value, "field '" + name + "'");
  const bool is_of_mesh = std::any_of(meshes_.begin(), meshes_.end(), [&](const Mesh& mesh) {
    return mesh.coordinates == name && parts_.contains(name);
  });
  if (!is_of_mesh) parts_.erase(name);
  const Value* components = reader.find("components");
  if (components != nullptr && components->is_list()) {
    const bool is_whole = attempt(mistakes, [&] {
      for (const char* key : {"mesh", "type", "centering", "points"})
        if (const Value* given = reader.find(key))
          given->fail_at_key(fmt::format("field '{}' has the {} of its components; leave '{}' out",
                                         name, key, key));
      parts_[name] = *components;
    });
    read_units(reader, field.units, mistakes);
    const bool is_read = attempt(mistakes, [&] { reader.finish(mistakes); });
    if (is_whole && is_read) put(std::move(field));
    else mistakes->unread.insert(name);
    return;
  }
  bool is_good = attempt(mistakes, [&] {
    const Value& mesh = reader.require("mesh");
    field.mesh = mesh.as_text();
    if (find_mesh(field.mesh) == nullptr)
      mesh.fail(fmt::format("unknown mesh '{}'{}", field.mesh,
                            base::suggestion(field.mesh, mesh_names())));
  });
  is_good &= attempt(mistakes, [&] { field.type = read_type(reader.require("type")); });
  is_good &= attempt(mistakes, [&] {
    if (components != nullptr) field.components = read_components(*components);
  });
  is_good &= attempt(mistakes, [&] {
    const Value* centering = reader.find("centering");
    const Mesh* mesh = find_mesh(field.mesh);
    if (mesh != nullptr && centering != nullptr)
      field.centering = read_centering(*centering, *mesh);
    if (mesh != nullptr) read_axis(reader, *mesh, field);
  });
  is_good &= attempt(mistakes, [&] {
    const Mesh* mesh = find_mesh(field.mesh);
    const Value* points = reader.find("points");
    if (mesh != nullptr && points != nullptr) field.point_set = read_points(*points, *mesh, field);
  });
  read_units(reader, field.units, mistakes);
  is_good &= attempt(mistakes, [&] { reader.finish(mistakes); });
  if (is_good) put(std::move(field));
  else mistakes->unread.insert(name);
}

void Catalogue::read(const Value* meshes, const Value* fields, base::Diagnostics* mistakes) {
  attempt(mistakes, [&] {
    read_each(meshes, "meshes", mistakes, [&](const std::string& name, const Value& value) {
      read_mesh(name, value, mistakes);
    });
  });
  attempt(mistakes, [&] { add_levels(); });
  check_parents(mistakes);
  attempt(mistakes, [&] {
    read_each(fields, "fields", mistakes, [&](const std::string& name, const Value& value) {
      read_field(name, value, mistakes);
    });
  });
}

// Fields may be listed in any order.
void Catalogue::assemble(const std::string& name, const Value& parts) {
  Field field{.name = name, .mesh = {}, .units = {}};
  if (const Field* known = find_field(name)) field = *known;
  if (field.parts.empty() && !field.mesh.empty())
    parts.fail(
        fmt::format("field '{}' is in the catalogue, and the coordinates of a mesh that "
                    "lists their components have this name; rename the field",
                    name));
  field.parts.clear();
  const Field* first = nullptr;
  for (const auto& [key, entry] : parts.entries) {
    (void)entry.as_text();
    const Field& part = named_field(entry);
    if (part.components != 1 || parts_.contains(part.name))
      entry.fail(fmt::format("field '{}' has several components, and cannot be one of '{}'",
                             part.name, name));
    if (first == nullptr) first = &part;
    if (part.mesh != first->mesh || part.type != first->type ||
        part.centering != first->centering || part.axis != first->axis ||
        part.point_set != first->point_set)
      entry.fail(
          fmt::format("fields '{}' and '{}' cannot be components of one field: they differ "
                      "in their mesh, type or centering",
                      first->name, part.name));
    field.parts.push_back(part.name);
  }
  if (first == nullptr) parts.fail("the list of components is empty");
  field.mesh = first->mesh;
  field.type = first->type;
  field.centering = first->centering;
  field.point_set = first->point_set;
  field.axis = first->axis;
  field.components = static_cast<int32_t>(field.parts.size());
  if (field.units.empty()) field.units = first->units;
  put(std::move(field));
}

void Catalogue::read_scalars(const Value* scalars, base::Diagnostics* mistakes) {
  if (scalars == nullptr) return;
  std::set<std::string> seen;
  const auto read = [&](const std::string& name, const Value& value) {
    check_scalar_name(name, value);
    Scalar scalar{.name = name, .units = {}};
    if (scalars->is_map() && !value.is_null()) {
      Reader reader(value, "scalar '" + name + "'");
      read_units(reader, scalar.units, mistakes);
      reader.finish(mistakes);
    }
    if (!seen.insert(name).second) value.fail(fmt::format("scalar '{}' is listed twice", name));
    put(std::move(scalar));
  };
  attempt(mistakes, [&] {
    if (!scalars->is_list()) return read_each(scalars, "scalars", mistakes, read);
    for (const auto& entry : scalars->entries)
      attempt(mistakes, [&, &value = entry.second] { read(value.as_text(), value); });
  });
  // Messages without values have little room.
  constexpr size_t most = 500;
  attempt(mistakes, [&] {
    if (scalars_.size() > most)
      scalars->fail_at_key(
          fmt::format("there are {} scalars; at most {} are possible", scalars_.size(), most));
  });
}

const Field& Catalogue::named_field(const Value& place) const {
  const Field* field = find_field(place.text);
  if (field == nullptr)
    place.fail(fmt::format("unknown field '{}'{}", place.text,
                           base::suggestion(place.text, field_names())));
  return *field;
}

void Catalogue::check_masks(base::Diagnostics* mistakes) const {
  for (const bool is_mask : {true, false})
    for (const auto& [name, place] : is_mask ? masks_ : weights_) {
      const Mesh* mesh = find_mesh(name);
      if (mesh == nullptr || (is_mask ? mesh->mask : mesh->weight) != place.text) continue;
      attempt(mistakes, [&, &place = place] {
        const Field& field = named_field(place);
        const bool is_integer =
            field.type == ElementType::Int32 || field.type == ElementType::Int64;
        if (field.mesh != mesh->name || field.components != 1 || is_integer != is_mask ||
            centering_of(*mesh, field) != Centering::Cell)
          place.fail(fmt::format(
              "the {} of mesh '{}' is a field of one {} number at each of its cells; field '{}' is "
              "{} x {}{} on mesh '{}'",
              is_mask ? "mask" : "weight", mesh->name, is_mask ? "integer" : "real", field.name,
              name_of(field.type), field.components,
              centering_of(*mesh, field) == Centering::Point ? " at points" : "", field.mesh));
      });
    }
}

void Catalogue::settle_fields(base::Diagnostics* mistakes) {
  for (const auto& [name, parts] : parts_)
    if (!attempt(mistakes, [&, &name = name, &parts = parts] { assemble(name, parts); })) {
      std::erase_if(fields_, [&, &name = name](const Field& field) { return field.name == name; });
      mistakes->unread.insert(name);
    }
  check_coordinates(mistakes);
  check_masks(mistakes);
}

void Catalogue::check_coordinates(base::Diagnostics* mistakes) const {
  for (const auto& [name, place] : coordinates_) {
    const Mesh* mesh = find_mesh(name);
    if (mesh == nullptr || mesh->coordinates != place.text) continue;
    attempt(mistakes, [&, &place = place] {
      const Field* field = &named_field(place);
      const bool is_real =
          field->type == ElementType::Float32 || field->type == ElementType::Float64;
      const bool is_flat = mesh->axes == 2;
      const bool fits = field->components == 3 || (is_flat && field->components == 2);
      if (field->mesh != mesh->name || !fits || !is_real || !field->point_set.empty() ||
          centering_of(*mesh, *field) != Centering::Point)
        place.fail(fmt::format(
            "coordinates of mesh '{}' are a field of {} real components at its points; field '{}' "
            "is {} x {} on mesh '{}'{}",
            mesh->name, is_flat ? "2 or 3" : "3", field->name, name_of(field->type),
            field->components, field->mesh,
            field->centering == Centering::Cell ? ", once for each element"
            : field->point_set.empty()          ? ""
                                                : ", at the points '" + field->point_set + "'"));
    });
  }
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

std::vector<std::string> Catalogue::assembled_from(const std::string& part) const {
  std::vector<std::string> out;
  for (const auto& [name, list] : parts_)
    for (const auto& [key, entry] : list.entries)
      if (entry.text == part) {
        out.push_back(name);
        break;
      }
  return out;
}

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
