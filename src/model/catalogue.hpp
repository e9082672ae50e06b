// SPDX-License-Identifier: BSD-3-Clause
// What the simulation offers: meshes and the fields on them, as the YAML file declares them.
#pragma once

#include <pillion/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/value.hpp"

namespace pillion::model {

enum class ElementType : int32_t {
  Int32 = PILLION_INT32,
  Int64 = PILLION_INT64,
  Float32 = PILLION_FLOAT32,
  Float64 = PILLION_FLOAT64,
  Int8 = PILLION_INT8,
  Uint8 = PILLION_UINT8,
  Int16 = PILLION_INT16,
  Uint16 = PILLION_UINT16,
  Uint32 = PILLION_UINT32,
  Uint64 = PILLION_UINT64
};

size_t size_of(ElementType type);
const char* name_of(ElementType type);
/// Whether a number that comes from outside is that of a type at all.
inline bool is_known(pillion_type type) { return type >= PILLION_INT32 && type <= PILLION_UINT64; }
inline bool is_real(ElementType type) {
  return type == ElementType::Float32 || type == ElementType::Float64;
}
/// Whether it may number particles, elements and cells: keys and ids are signed, as in layouts.
inline bool can_number(ElementType type) {
  return type == ElementType::Int32 || type == ElementType::Int64;
}
/// Calls f with `data` as a const T*, T being the type.
template <class F>
decltype(auto) with_type(ElementType type, const void* data, F&& f) {
  switch (type) {
    case ElementType::Int8: return f(static_cast<const int8_t*>(data));
    case ElementType::Uint8: return f(static_cast<const uint8_t*>(data));
    case ElementType::Int16: return f(static_cast<const int16_t*>(data));
    case ElementType::Uint16: return f(static_cast<const uint16_t*>(data));
    case ElementType::Int32: return f(static_cast<const int32_t*>(data));
    case ElementType::Uint32: return f(static_cast<const uint32_t*>(data));
    case ElementType::Int64: return f(static_cast<const int64_t*>(data));
    case ElementType::Uint64: return f(static_cast<const uint64_t*>(data));
    case ElementType::Float32: return f(static_cast<const float*>(data));
    default: return f(static_cast<const double*>(data));
  }
}

enum class MeshKind : int32_t {
  Uniform = PILLION_UNIFORM,
  Particles = PILLION_PARTICLES,
  Spectral = PILLION_SPECTRAL,
  Rectilinear = PILLION_RECTILINEAR,
  Curvilinear = PILLION_CURVILINEAR,
  Unstructured = PILLION_UNSTRUCTURED
};

const char* name_of(MeshKind kind);
/// Whether a block is a box of cells, and not a count of items.
inline bool has_boxes(MeshKind kind) {
  return kind == MeshKind::Uniform || kind == MeshKind::Rectilinear ||
         kind == MeshKind::Curvilinear;
}
/// Whether meshes of a kind of boxes can be divided again, and blocks of it shared out.
inline bool can_be_divided(MeshKind kind) {
  return kind == MeshKind::Uniform || kind == MeshKind::Rectilinear;
}
/// Whether a block is a count of items, particles or elements.
inline bool is_counted(MeshKind kind) { return !has_boxes(kind); }
/// Whether blocks are cells that name points.
inline bool has_points(MeshKind kind) { return kind == MeshKind::Unstructured; }
/// What such items are called: "particles".
const char* items_of(MeshKind kind);

enum class Centering : int32_t {
  Natural = 0,
  Cell = PILLION_CELL,
  Point = PILLION_POINT,
  Face = PILLION_FACE,
  Edge = PILLION_EDGE
};

const char* name_of(Centering centering);

enum class Metric : int32_t {
  Cartesian = PILLION_CARTESIAN,
  Cylindrical = PILLION_CYLINDRICAL,
  Spherical = PILLION_SPHERICAL
};

/// Points of the elements of a spectral mesh beside those of the mesh: those of a quadrature of
/// Gauss, or of Gauss, Lobatto and Legendre with another number of points.
struct PointSet {
  std::string name;
  int points = 0;  ///< along each axis
  pillion_quadrature quadrature = PILLION_GAUSS;
};

/// Coordinates of the faces between cells, and of the first and the last, by axis.
using Faces = std::vector<std::vector<double>>;

struct Mesh {
  std::string name;
  MeshKind kind = MeshKind::Uniform;
  std::string units;  ///< of lengths
  int axes = 3;       ///< of a mesh of boxes; of particles and spectral elements 2 or 3
  std::array<int64_t, 3> cells{1, 1, 1};
  std::array<double, 3> origin{};
  std::array<double, 3> length{1, 1, 1};
  std::array<bool, 3> periodic{};
  /// Of a uniform mesh with levels of refinement: by how much each level is finer along each axis
  /// than the one before. Empty if there is one level. `cells` are those of level 0.
  std::vector<std::array<int64_t, 3>> ratios{};
  bool is_partial = false;  ///< of a mesh of boxes: some of its cells may not exist
  /// Fields at cells, "" if there is none: an integer that is 0 where a cell of a box does not
  /// exist, and the part of its volume that a cell has.
  std::string mask{}, weight{};
  std::string level_of{};  ///< the mesh that has this one as a level
  int order = 0;           ///< of a spectral mesh: it has order + 1 points along each axis
  std::vector<PointSet> point_sets{};  ///< of a spectral mesh
  /// Of a spectral or curvilinear mesh: the field that holds them; "" if none does.
  std::string coordinates{};
  Metric metric = Metric::Cartesian;  ///< of a mesh of boxes
  double radius =
      0;             ///< of a spherical mesh: that from which a third axis counts, or of the sphere
  Faces faces{};     ///< of a rectilinear mesh; empty if the program sets them
  std::string of{};  ///< an unstructured mesh whose boundary this one is, or ""
  std::vector<std::string> patches{};  ///< names of the parts of a boundary
  /// Of a mesh of boxes: some field of it has values at points, faces or edges, which blocks share
  /// at their borders.
  bool has_values_at_points = false;

  [[nodiscard]] int levels() const { return static_cast<int>(ratios.size()) + 1; }
  /// Whether blocks have each cell of the mesh once, and whole, so that it can be divided again.
  [[nodiscard]] bool is_whole() const { return ratios.empty() && !is_partial && weight.empty(); }
};

/// Fields that a program does not name, which hold the geometry of an unstructured mesh: where its
/// points are, their ids, and its cells. Their names begin with '/'.
std::string coordinates_of(const std::string& mesh);
std::string point_ids_of(const std::string& mesh);
std::string topology_of(const std::string& mesh);
inline bool is_geometry(const std::string& field) { return field.starts_with('/'); }
/// The names of all of them, and of fields that a mesh names: its coordinates if it is curvilinear,
/// its mask and weight.
std::vector<std::string> geometry_fields(const Mesh& mesh);
/// What a field that holds geometry is called in messages: "its cells".
std::string name_of_geometry(const std::string& field);

/// The name of the uniform mesh that has all cells of one level of a mesh that is not whole.
std::string name_of_level(const std::string& mesh, int level);

struct Field {
  std::string name;
  std::string mesh;
  std::string units;
  ElementType type = ElementType::Float64;
  int32_t components = 1;
  Centering centering = Centering::Natural;
  /// Fields of one component each that are the components of this one, which is shared by them
  /// alone; empty of other fields.
  std::vector<std::string> parts{};
  int32_t axis = 0;  ///< of values at faces: that which they are across; at edges: along which
  std::string point_set{};   ///< of its mesh, whose points it has values at; "": the mesh's own
  bool is_constant = false;  ///< values of a block never change after they were first published

  static constexpr auto members() {
    return std::tuple{&Field::name, &Field::mesh,       &Field::units,
                      &Field::type, &Field::components, &Field::centering,
                      &Field::axis, &Field::point_set,  &Field::is_constant};
  }
};

/// Where the field has values: at cells of a mesh of boxes unless the field says points, at points
/// of a spectral one unless the field says cells; particles have no centering.
Centering centering_of(const Mesh& mesh, const Field& field);
/// Of a field at points of spectral elements: the set of points, if it is not the mesh's own.
const PointSet* point_set_of(const Mesh& mesh, const Field& field);
/// Of a field with values at each point of elements: points along each axis. 0 of other fields.
int32_t points_along(const Mesh& mesh, const Field& field);
/// Values of one component in one item: the points of an element where a field has values at each.
int32_t points_of(const Mesh& mesh, const Field& field);
/// Of a field of a mesh of boxes, the axes along which its values are at points, a bit for each:
/// one more of them than cells. None for values at cells, all for those at points, one for those at
/// faces, all but one for those at edges.
inline uint32_t point_axes_of(const Mesh& mesh, const Field& field) {
  if (!has_boxes(mesh.kind)) return 0;
  const uint32_t all = (1u << static_cast<uint32_t>(mesh.axes)) - 1;
  const uint32_t one = 1u << static_cast<uint32_t>(field.axis);
  switch (centering_of(mesh, field)) {
    case Centering::Point: return all;
    case Centering::Face: return one;
    case Centering::Edge: return all & ~one;
    default: return 0;
  }
}
/// Whether fields of a mesh may have values at points: where points weigh what cells around them
/// give them, cells of a box are all there.
inline bool may_have_points(const Mesh& mesh) {
  return mesh.kind == MeshKind::Uniform || mesh.kind == MeshKind::Rectilinear
             ? mesh.is_whole()
             : mesh.kind != MeshKind::Particles;
}
/// Whether blocks of a mesh go to where a division has them: not if they share points.
inline bool can_be_divided(const Mesh& mesh) {
  return can_be_divided(mesh.kind) && !mesh.has_values_at_points;
}
/// Values in one cell, particle or element.
inline int32_t values_of(const Mesh& mesh, const Field& field) {
  return field.components * points_of(mesh, field);
}

/// The field that holds the coordinates of a mesh that names a field for each of their components.
std::string assembled_coordinates_of(const std::string& mesh);

/// Cells of a level along each axis.
std::array<int64_t, 3> cells_of_level(const Mesh& mesh, int level);
/// Reads `cells`: the numbers of axes and of cells along each.
void read_cells(const base::Value& cells, Mesh& mesh);
/// A named number that a program sets for each step.
struct Scalar {
  std::string name;
  std::string units;
};

class Catalogue {
 public:
  /// Reads `meshes:` and `fields:` of a configuration; either may be null. Entries that are there
  /// already are replaced. With `mistakes`, reads all entries that it can.
  void read(const base::Value* meshes, const base::Value* fields,
            base::Diagnostics* mistakes = nullptr);
  /// Reads `scalars:`, a map or a list of names; may be null. Scalars keep the order in which they
  /// were first read.
  void read_scalars(const base::Value* scalars, base::Diagnostics* mistakes = nullptr);
  /// Once all is read: finds the components of fields that consist of others, and checks that
  /// fields which meshes name, as coordinates, mask or weight, can be that.
  void settle_fields(base::Diagnostics* mistakes = nullptr);
  /// Adds a field that a stage produces.
  void add(Field field);
  /// Whether a stage produces it.
  [[nodiscard]] bool is_made(const std::string& field) const { return made_.contains(field); }

  [[nodiscard]] const Mesh* find_mesh(const std::string& name) const;
  [[nodiscard]] const Field* find_field(const std::string& name) const;
  /// The same; throw an internal error if there is none.
  [[nodiscard]] const Mesh& mesh(const std::string& name) const;
  [[nodiscard]] const Field& field(const std::string& name) const;
  [[nodiscard]] const Mesh& mesh_of(const std::string& field) const;
  /// Those whose values never change.
  [[nodiscard]] std::vector<const Field*> constant_fields() const;
  /// The fields that have this one as a component.
  [[nodiscard]] std::vector<std::string> assembled_from(const std::string& part) const;
  /// Of fields that programs and stages name.
  [[nodiscard]] std::vector<std::string> field_names() const;
  [[nodiscard]] std::vector<std::string> mesh_names() const;

  [[nodiscard]] const std::vector<Scalar>& scalars() const { return scalars_; }
  /// The place of a scalar in that order.
  [[nodiscard]] std::optional<size_t> find_scalar(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> scalar_names() const;

  /// Sets the units of a field, of a mesh's lengths or of a scalar; false if there is no such
  /// thing.
  bool set_units(const std::string& name, const std::string& units);

 private:
  bool read_curvilinear(base::Reader& reader, Mesh& mesh, base::Diagnostics* mistakes);
  bool read_spectral(base::Reader& reader, Mesh& mesh, base::Diagnostics* mistakes);
  bool read_unstructured(base::Reader& reader, Mesh& mesh, base::Diagnostics* mistakes);
  void read_mesh(const std::string& name, const base::Value& value, base::Diagnostics* mistakes);
  void read_field(const std::string& name, const base::Value& value, base::Diagnostics* mistakes);
  void read_mask_and_weight(base::Reader& reader, Mesh& mesh);
  void read_coordinates(const base::Value& coordinates, Mesh& mesh);
  void assemble(const std::string& field, const base::Value& parts);
  void check_coordinates(base::Diagnostics* mistakes) const;
  void check_masks(base::Diagnostics* mistakes) const;
  [[nodiscard]] const Field& named_field(const base::Value& place) const;
  void add_levels();
  void check_parents(base::Diagnostics* mistakes) const;
  void put(Mesh mesh);
  void put(Field field);
  /// Notes whether fields of a mesh have values at points.
  void note_points(Mesh& mesh) const;
  void put(Scalar scalar);
  // Adding to a deque leaves references to what is in it good.
  std::deque<Mesh> meshes_;
  std::deque<Field> fields_;
  std::set<std::string> made_;  ///< fields that stages produce
  std::vector<Scalar> scalars_;
  std::map<std::string, base::Value> coordinates_;      ///< by mesh: where the field is named
  std::map<std::string, base::Value> masks_, weights_;  ///< the same
  /// By field: the list of the fields that are its components.
  std::map<std::string, base::Value> parts_;
  std::map<std::string, base::Value> parents_;  ///< by mesh: where `of` is
};

}  // namespace pillion::model
