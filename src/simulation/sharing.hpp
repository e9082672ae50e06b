// SPDX-License-Identifier: BSD-3-Clause
// What a simulation rank shares, and whether it fits the catalogue. Sharing copies nothing and
// never fails: what does not fit is noted, so that every rank can report it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/block.hpp"
#include "redistribution/coverage.hpp"
#include "stagehost/publication.hpp"

namespace pillion::simulation {

/// The number of a block that Pillion is to number.
constexpr int32_t any_block = -1;

/// Of an element that the field has values at: points along each axis; none of other fields.
inline std::vector<int64_t> points_along_axes(const model::Mesh& mesh, const model::Field& field) {
  const auto axes = static_cast<size_t>(mesh.axes);
  const int32_t points = model::points_along(mesh, field);
  return std::vector<int64_t>(points > 0 ? axes : 0, points);
}

class Sharing {
 public:
  /// `rank` is that of this one in the simulation.
  explicit Sharing(const model::Catalogue& catalogue, int rank = 0)
      : catalogue_(catalogue), rank_(rank) {}

  /// `type` is 0 if the program left it to the catalogue; `strides` may be null. The box is in
  /// cells of its level. A block number may be any_block between begin_blocks() and end_blocks().
  void share_box(const std::string& field, int32_t level, int32_t block, const int64_t* lo,
                 const int64_t* hi, const void* data, pillion_type type, const int64_t* strides);
  /// `data` is the first element of an array with `ghosts[a]` ghost cells at both ends of axis a.
  void share_ghosts(const std::string& field, int32_t level, int32_t block, const int64_t* lo,
                    const int64_t* hi, const int64_t* ghosts, const void* data, pillion_type type);
  /// Particles, elements, or values at cells or points of a mesh of that kind.
  void share_items(model::MeshKind kind, const std::string& field, int32_t block, int64_t count,
                   const void* data, pillion_type type);
  void share_particles(const std::string& field, int32_t block, int64_t count, const void* data,
                       pillion_type type) {
    share_items(model::MeshKind::Particles, field, block, count, data, type);
  }
  /// Arrays that know their shape. `ghosts` may be null: there are no ghost cells.
  void share_box(const std::string& field, int32_t level, int32_t block, int32_t axes,
                 const int64_t* lo, const int64_t* hi, const pillion_view& view,
                 bool components_last, const int64_t* ghosts = nullptr);
  void share_items(model::MeshKind kind, const std::string& field, int32_t block, int64_t count,
                   const pillion_view& view, bool components_last);
  void share_elements(const std::string& field, int32_t block, int64_t count,
                      const pillion_view& view);
  /// The mesh of points and cells of that name, which `part` ("points", "cells") of a block of is
  /// being shared. Null if there is none, which is noted. Gives the block a number if it has none.
  const model::Mesh* accept_geometry(const std::string& mesh, const char* part,
                                     const std::string& field, int32_t& block);
  /// Notes what is wrong with it.
  void note_geometry(const std::string& mesh, const char* part, int32_t block,
                     const std::string& text);
  /// One of its geometry_fields(), in memory of the session's.
  void put_geometry(const model::Mesh& mesh, const char* part, const std::string& field,
                    int32_t block, const model::Array& array);
  /// One array for each component, all with the same strides. `strides` may be null.
  struct Components {
    std::span<const void* const> data;
    pillion_type type = 0;
    const int64_t* strides = nullptr;
  };
  void share_box(const std::string& field, int32_t level, int32_t block, const int64_t* lo,
                 const int64_t* hi, const Components& components);
  void share_items(const std::string& field, int32_t block, int64_t count,
                   const Components& components);
  /// The same of arrays that know their shape.
  void share_box(const std::string& field, int32_t level, int32_t block, int32_t axes,
                 const int64_t* lo, const int64_t* hi, std::span<const pillion_view> components);
  void share_items(const std::string& field, int32_t block, int64_t count,
                   std::span<const pillion_view> components);
  /// What lay in `size` bytes at `from` lies at `to` now; nothing else about it has changed.
  void move(const std::string& field, int32_t block, const std::byte* from, size_t size,
            const std::byte* to);
  void unshare(const std::string& field, int32_t block);
  /// Values of a block of a constant field lie in `copy`, too, and are taken from there from now
  /// on, until the program shares another box.
  void put_copy(const std::string& field, int32_t block, const model::Array& copy);
  /// Of a constant field: the blocks that are new since this was asked last.
  [[nodiscard]] std::set<int32_t> take_new_blocks(const std::string& field);
  /// These are still new.
  void put_back_new_blocks(const std::string& field, const std::set<int32_t>& blocks) {
    shared_.at(field).new_blocks.insert(blocks.begin(), blocks.end());
  }
  /// All blocks of the field are shared again until end_blocks(), which takes the others back and
  /// returns their numbers.
  void begin_blocks(const std::string& field);
  std::vector<int32_t> end_blocks(const std::string& field);
  void set_domain(const std::string& mesh, const pillion_domain& domain);
  /// Of the faces of a rectilinear mesh along one axis.
  void set_coordinates(const std::string& mesh, int32_t axis, int64_t count, const double* values);
  /// Notes a scalar that the catalogue lacks.
  void note_unknown_scalar(const std::string& name, const std::string& text) {
    fault("scalar '" + name + "'", text);
  }

  /// Of this process in the simulation.
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const std::map<std::string, pillion_domain>& domains() const { return domains_; }
  [[nodiscard]] const std::map<std::string, model::Faces>& coordinates() const {
    return coordinates_;
  }
  /// Changes whenever anything changes but where values are.
  [[nodiscard]] int64_t version() const { return version_; }
  /// Whether this rank shares any block of it.
  [[nodiscard]] bool has(const std::string& field) const;
  /// Where the values of a block are now; null if it is not shared.
  [[nodiscard]] const model::Array* find(const std::string& field, int32_t block) const;
  /// A block of a constant field as the program shares it.
  struct Given {
    int32_t block;
    model::Box box;
    const model::Array* array;
    int64_t version;  ///< of its values
  };
  /// The first one with that number or a greater one; nothing if there is none.
  [[nodiscard]] std::optional<Given> find_given(const std::string& field, int32_t block) const;
  /// A number that no values have had as their version.
  [[nodiscard]] int64_t new_version() { return ++values_version_; }
  /// The same of many blocks, faster where their numbers follow each other.
  class Finder;

  /// The blocks of all meshes that have one of the fields, as a step that stages can work on.
  /// Throws ErrorCode::Sharing for whatever does not fit, now or when it was shared.
  [[nodiscard]] stagehost::Publication publication(const std::set<std::string>& fields,
                                                   int64_t step, double time) const;

  /// Throws for whatever is noted.
  void throw_fault() const;
  /// Takes what is noted of other fields and meshes, and of names that the catalogue lacks.
  [[nodiscard]] std::vector<std::string> take_other_faults(const std::set<std::string>& fields);
  [[nodiscard]] bool has_faults() const { return !faults_.empty(); }
  /// Of all blocks of a field.
  [[nodiscard]] std::vector<redistribution::MeshBox> boxes_of(const std::string& field) const;

 private:
  struct Shared {
    model::Box box;
    model::Array array;
    int32_t level = 0;
    int64_t turn = 0;  ///< of its field, when it was shared last
    /// As the program shares it, where `array` is a copy.
    std::shared_ptr<model::Array> given{};
  };
  struct FieldBlocks {
    std::map<int32_t, Shared> blocks{};  ///< by number
    int64_t turn = 0;                    ///< counts calls of begin_blocks()
    int32_t next = 0;                    ///< number of the next block that has none
    bool is_open = false;                ///< between begin_blocks() and end_blocks()
    std::set<int32_t> new_blocks{};      ///< of a constant field
  };
  struct CellRange {
    model::Box box;
    int64_t owned;
  };
  /// A box as the program gives it.
  struct Where {
    int32_t level;
    int32_t block;
    model::Box box{};
  };
  /// The field's entry if the program's type and number fit it; notes a fault otherwise. Gives the
  /// block a number if it has none.
  const model::Field* accept(const std::string& field, int32_t& block, model::MeshKind kind,
                             pillion_type type);
  void fault(const std::string& name, int32_t block, std::string text) {
    faults_[{name, block}] = std::move(text);
    ++version_;
  }
  void fault(const std::string& name, std::string text) { fault(name, -1, std::move(text)); }
  /// The box in the mesh; notes a fault if it does not lie there.
  bool put_box(const model::Field& field, const int64_t* lo, const int64_t* hi, Where& where);
  /// An array of a box, packed for that many components, as yet without memory; and how many values
  /// it has along each axis.
  [[nodiscard]] model::Array array_in(const model::Field& field, const model::Box& box,
                                      int32_t components) const;
  [[nodiscard]] std::array<int64_t, 3> extents_in(const model::Field& field,
                                                  const model::Box& box) const;
  /// Adds ghost cells to the extents of a box; false if there is a fault, which is noted.
  bool add_ghosts(const model::Field& field, const Where& where, const int64_t* ghosts,
                  std::array<int64_t, 3>& extents);
  void put_array(const model::Field& field, const Where& where, const void* data,
                 const int64_t* strides);
  /// The box if it has as many axes as the mesh.
  bool put_axes(const model::Field& field, int32_t axes, const int64_t* lo, const int64_t* hi,
                Where& where);
  /// The field if arrays of components suit items of its mesh.
  const model::Field* accept_items(const std::string& field, int32_t& block, pillion_type type);
  /// Arrays of components that lie as `like` says, but for where.
  void put_components(const model::Field& field, const Where& where,
                      std::span<const void* const> data, const model::Array& like);
  /// Elements from one particle or element to the next, and from one of its values to the next.
  struct Spacing {
    int64_t items, values;
  };
  /// What a field has a value for: "points".
  static const char* items_of(const model::Mesh& mesh, const model::Field& field);
  [[nodiscard]] model::Array array_of_items(const model::Field& field, int64_t count,
                                            const void* data, const Spacing& spacing) const;
  void put_items(const model::Field& field, int32_t block, int64_t count, const void* data,
                 const Spacing& spacing);
  void put_components(const model::Field& field, int32_t block, int64_t count,
                      std::span<const void* const> data, const Spacing& spacing);
  /// The same of fields of one component each.
  void put_parts(const model::Field& field, const Where& where, std::span<const void* const> data,
                 const model::Array& like);
  void put(const std::string& field, const Where& where, const model::Array& array);
  /// If the field is constant, a block of it has other values now.
  void renew(const std::string& field, int32_t block);
  /// The same of all fields of a mesh, where the cells of the block are others.
  void renew_constants(const std::string& mesh, int32_t block);
  /// Makes a block of each field that has this one as a component, if all of its components have
  /// one with the same strides; otherwise takes it back.
  void assemble(const std::string& part, int32_t block);
  [[nodiscard]] const Shared* entry_of(const std::string& field, int32_t block) const;
  /// Notes that the components of such a field must be shared in its place.
  void refuse_assembled(const model::Field& field);
  /// Throws for what is noted of these fields and their meshes.
  void throw_fault(const std::set<std::string>& fields) const;
  [[nodiscard]] bool is_of(const std::string& what, const std::set<std::string>& fields) const;
  /// The cells of a block of a mesh of points and cells; throws if `entry` has values for other
  /// numbers of them.
  [[nodiscard]] CellRange cells_of(const model::Mesh& mesh, const std::string& field, int32_t block,
                                   const Shared& entry) const;
  /// Adds the blocks of a field to those of its mesh.
  void add_blocks(const std::string& field, const FieldBlocks& shared,
                  std::vector<model::Block>& blocks) const;
  void check_fields(const model::Mesh& mesh, const std::vector<std::string>& fields,
                    const std::vector<model::Block>& blocks) const;

  const model::Catalogue& catalogue_;
  int rank_;
  int64_t version_ = 0;
  int64_t values_version_ = 0;
  std::map<std::string, FieldBlocks> shared_;
  std::map<std::string, pillion_domain> domains_;
  std::map<std::string, model::Faces> coordinates_;
  /// By name and block, -1 for what is of none, until it is shared as it should be.
  std::map<std::pair<std::string, int32_t>, std::string> faults_;
};

class Sharing::Finder {
 public:
  explicit Finder(const Sharing& sharing) : sharing_(sharing) {}
  [[nodiscard]] const model::Array* find(const std::string& field, int32_t block);

 private:
  const Sharing& sharing_;
  std::map<std::string, std::map<int32_t, Shared>::const_iterator> next_;  ///< by field
};

}  // namespace pillion::simulation
