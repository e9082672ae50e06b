// SPDX-License-Identifier: BSD-3-Clause
// What lies where in a message from one rank to another, and the one way to fill and empty it:
// regions of fields, each from a source array to a target array. A plan lists the regions that go
// to each rank; exchange, and publish and take, differ only in when packing and unpacking happen.
#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.hpp"
#include "layout/copy_region.hpp"
#include "layout/division.hpp"
#include "layout/request.hpp"
#include "redistribution/message_part.hpp"

namespace pillion::redistribution {

/// The arrays of one field on both sides; a side that is elsewhere is empty.
struct FieldArrays {
  int32_t components = 1;
  size_t element = 8;                  ///< bytes of a value
  std::vector<layout::Source> from{};  ///< by box here
  std::vector<layout::Target> to{};    ///< by box wanted here
};

/// Of all fields together.
size_t bytes_per_cell(std::span<const FieldArrays> fields);
/// Packs a region, field by field; returns where the next one goes.
std::byte* pack(const layout::Move& move, std::span<const FieldArrays> fields, std::byte* to);
/// Unpacks a region; returns where the next one begins.
const std::byte* unpack(const layout::Move& move, std::span<const FieldArrays> fields,
                        const std::byte* from);
/// Copies regions that stay on this rank.
void copy(const layout::Moves& moves, std::span<const FieldArrays> fields);

/// A field in a message.
struct FieldType {
  std::string name;
  model::ElementType type = model::ElementType::Float64;
  int32_t components = 1;
  model::Centering centering = model::Centering::Natural;
  std::array<int64_t, 3> extents{};  ///< as model::Array has them
  bool has_extents = false;

  [[nodiscard]] size_t bytes_per_cell() const {
    return model::size_of(type) * static_cast<size_t>(components);
  }
  friend bool operator==(const FieldType&, const FieldType&) = default;
  static constexpr auto members() {
    return std::tuple{&FieldType::name,      &FieldType::type,    &FieldType::components,
                      &FieldType::centering, &FieldType::extents, &FieldType::has_extents};
  }
};

FieldType type_of(const std::string& name, const model::Array& array);

/// Of values that the receiver keeps for later messages; see kept_arrays.hpp.
struct Keeping {
  int64_t version = 0;   ///< 0: they are not kept
  int64_t left_out = 0;  ///< 1 if they are not in the message, since the receiver has them
  friend bool operator==(const Keeping&, const Keeping&) = default;
};

/// A block as the simulation shares it: it is read where it lies in the message.
struct BlockLayout {
  std::string mesh;
  int64_t id = 0;
  model::Box box;
  int64_t owned = 0;
  int32_t level = 0;
  int64_t topology_version = 0, geometry_version = 0;
  std::vector<FieldType> fields{};
  std::vector<Keeping> keeping{};  ///< by field; empty if none is kept

  static constexpr auto members() {
    using B = BlockLayout;
    return std::tuple{&B::mesh,
                      &B::id,
                      &B::box,
                      &B::owned,
                      &B::level,
                      &B::topology_version,
                      &B::geometry_version,
                      &B::fields,
                      &B::keeping};
  }
};

BlockLayout layout_of(const std::string& mesh, const model::Block& block);
/// The block, with packed arrays whose `data` is missing.
model::Block block_of(const BlockLayout& layout);

/// Regions of some fields of one mesh, packed region by region; then, aligned, those of constant
/// fields.
struct RegionLayout {
  /// As the receiver sees it: one of its boxes, and the cells.
  struct Region {
    int64_t to = 0;
    model::Box box;
  };
  std::string mesh;
  std::vector<FieldType> fields;
  std::vector<Region> regions;
  std::vector<FieldType> constants{};
  std::string kept_as{};  ///< the name under which their values are kept,
  int64_t group = 0;      ///< and the number of the block
  Keeping keeping{};

  static constexpr auto members() {
    using R = RegionLayout;
    return std::tuple{&R::mesh,    &R::fields, &R::regions, &R::constants,
                      &R::kept_as, &R::group,  &R::keeping};
  }
};

/// A message: its blocks, every array aligned; then its regions, each list aligned; then the
/// particles of each mesh, behind their size in bytes.
struct MessageLayout {
  /// Kinds of meshes, also of those without blocks; empty if the receiver has a catalogue.
  std::map<std::string, model::MeshKind> meshes{};
  std::vector<BlockLayout> blocks{};
  std::vector<RegionLayout> regions{};
  std::vector<std::string> particles{};  ///< meshes

  static constexpr auto members() {
    return std::tuple{&MessageLayout::meshes, &MessageLayout::blocks, &MessageLayout::regions,
                      &MessageLayout::particles};
  }
};

/// Whether a message brings values that the receiver keeps.
[[nodiscard]] bool brings_new(const MessageLayout& layout);

/// The regions that go to one rank, for its eyes, and back.
RegionLayout regions_of(const layout::Moves& moves);
layout::Moves moves_of(const RegionLayout& regions, int sender);

}  // namespace pillion::redistribution
