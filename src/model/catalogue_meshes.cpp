// SPDX-License-Identifier: BSD-3-Clause
// Reading meshes from YAML, and checking the fields and meshes that they name, with every mistake
// pointed at. box_meshes.cpp reads what meshes of boxes alone have.
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

MeshKind read_kind(const Value& value) {
  const std::string& text = value.as_text();
  std::vector<std::string> names;
  for (const auto kind : {MeshKind::Uniform, MeshKind::Rectilinear, MeshKind::Curvilinear,
                          MeshKind::Particles, MeshKind::Spectral, MeshKind::Unstructured}) {
    if (text == name_of(kind)) return kind;
    names.emplace_back(name_of(kind));
  }
  static const std::map<std::string, std::string> elsewhere = {
      {"structured", "'uniform', 'rectilinear' or 'curvilinear'"},
      {"regular", "'uniform'"},
      {"cartesian", "'uniform'"},
      {"image", "'uniform'"},
      {"amr", "'uniform' with `levels`"},
      {"points", "'particles'"},
      {"hexahedral", "'unstructured', or 'spectral' for elements of high order"},
      {"tetrahedral", "'unstructured'"}};
  const auto known = elsewhere.find(text);
  value.fail(fmt::format("unknown kind of mesh '{}'{}", text,
                         known != elsewhere.end()
                             ? fmt::format("; it is called {} here", known->second)
                             : base::suggestion(text, names)));
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
    check_name(name, "a patch", entry);
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
  check_name(name, "a point set", value);
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
  check_name(name, "a mesh", value);
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

void Catalogue::check_masks(base::Diagnostics* mistakes) const {
  for (const bool is_mask : {true, false})
    for (const auto& [name, place] : is_mask ? masks_ : weights_) {
      const Mesh* mesh = find_mesh(name);
      if (mesh == nullptr || (is_mask ? mesh->mask : mesh->weight) != place.text) continue;
      attempt(mistakes, [&, &place = place] {
        const Field& field = named_field(place);
        const bool is_integer = !is_real(field.type);
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

}  // namespace pillion::model
