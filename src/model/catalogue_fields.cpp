// SPDX-License-Identifier: BSD-3-Clause
// Reading fields and scalars from YAML, with every mistake pointed at.
#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "model/catalogue.hpp"
#include "model/geometry.hpp"
#include "model/names.hpp"

namespace pillion::model {

using base::Reader;
using base::Value;

namespace {

ElementType read_type(const Value& value) {
  const std::string& text = value.as_text();
  static const std::vector<std::string> names = {"float64", "float32", "int32", "int64",
                                                 "int8",    "uint8",   "int16", "uint16",
                                                 "uint32",  "uint64"};
  for (int32_t type = PILLION_INT32; is_known(type); ++type)
    if (text == name_of(static_cast<ElementType>(type))) return static_cast<ElementType>(type);
  static const std::map<std::string, std::string> elsewhere = {
      {"double", "float64"}, {"real", "float64"},  {"single", "float32"}, {"float", "float32"},
      {"int", "int32"},      {"integer", "int32"}, {"long", "int64"},     {"bool", "uint8"},
      {"logical", "int32"},  {"byte", "int8"},     {"short", "int16"}};
  const auto known = elsewhere.find(text);
  value.fail(fmt::format("unknown type '{}'{}", text,
                         known != elsewhere.end()
                             ? fmt::format("; it is called '{}' here", known->second)
                             : base::suggestion(text, names)));
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

/// Particles change their order and their ranks, so none of their fields is constant.
void read_constant(Reader& reader, const Mesh* mesh, Field& field) {
  const Value* constant = reader.find("constant");
  if (constant == nullptr) return;
  field.is_constant = constant->as_boolean();
  if (field.is_constant && mesh != nullptr && mesh->kind == MeshKind::Particles)
    constant->fail_at_key(fmt::format(
        "field '{}' cannot be constant: particles of mesh '{}' may change their order and their "
        "ranks; leave 'constant' out",
        field.name, mesh->name));
}

int32_t read_components(const Value& value) {
  const int64_t components = value.as_integer();
  if (components < 1 || components > 1000)
    value.fail(fmt::format("components must be 1 to 1000, found {}", components));
  return static_cast<int32_t>(components);
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

void Catalogue::read_field(const std::string& name, const Value& value,
                           base::Diagnostics* mistakes) {
  check_name(name, "a field", value);
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
      if (const Value* given = reader.find("constant"))
        given->fail_at_key(fmt::format(
            "field '{}' is constant if all of its components are; leave 'constant' out", name));
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
  is_good &= attempt(mistakes, [&] { read_constant(reader, find_mesh(field.mesh), field); });
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
  bool is_constant = true;
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
    is_constant = is_constant && part.is_constant;
    field.parts.push_back(part.name);
  }
  if (first == nullptr) parts.fail("the list of components is empty");
  field.mesh = first->mesh;
  field.type = first->type;
  field.centering = first->centering;
  field.point_set = first->point_set;
  field.axis = first->axis;
  field.is_constant = is_constant;
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

void Catalogue::settle_fields(base::Diagnostics* mistakes) {
  for (const auto& [name, parts] : parts_)
    if (!attempt(mistakes, [&, &name = name, &parts = parts] { assemble(name, parts); })) {
      std::erase_if(fields_, [&, &name = name](const Field& field) { return field.name == name; });
      mistakes->unread.insert(name);
    }
  check_coordinates(mistakes);
  check_masks(mistakes);
}

std::vector<const Field*> Catalogue::constant_fields() const {
  std::vector<const Field*> out;
  for (const auto& field : fields_)
    if (field.is_constant) out.push_back(&field);
  return out;
}

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

}  // namespace pillion::model
