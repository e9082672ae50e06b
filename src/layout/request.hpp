// SPDX-License-Identifier: BSD-3-Clause
// The fields that a stage requests, and in which layout; and how the blocks of a mesh reach the
// ranks that process them: at once in the layout that all requests share, if there is one, and
// whole otherwise.
#pragma once

#include <pillion/stage/requests.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "model/block.hpp"
#include "model/catalogue.hpp"

namespace pillion::layout {

enum class Kind : int32_t {
  AsShared = PILLION_LAYOUT_AS_SHARED,
  ByKey = PILLION_LAYOUT_BY_KEY,
  Spatial = PILLION_LAYOUT_SPATIAL,
  Blocks = PILLION_LAYOUT_BLOCKS,
  Slabs = PILLION_LAYOUT_SLABS,
  Pencils = PILLION_LAYOUT_PENCILS,
  PowersOfTwo = PILLION_LAYOUT_POWERS_OF_TWO,
  Transform = PILLION_LAYOUT_TRANSFORM
};

/// Whether it is a division of a uniform mesh other than as shared.
constexpr bool is_division(Kind kind) { return kind >= Kind::Blocks; }

struct Request {
  std::vector<std::string> fields{};  ///< all on one mesh
  Kind kind = Kind::AsShared;
  std::string key{};       ///< ByKey: integer field
  std::string position{};  ///< Spatial: field of 3 components
  double halo = 0;         ///< Spatial: distance in the mesh's units
  std::string select{};    ///< integer field, or ""
  std::vector<int64_t> select_values{};
  int axis = 0;                         ///< Slabs, Pencils
  std::array<int, 3> sides{};           ///< PowersOfTwo
  std::array<int64_t, 3> ghosts{};      ///< divisions: cells added on both sides
  bool in_parts = false;                ///< divisions: boxes may come as several parts
  std::vector<std::string> geometry{};  ///< AsShared: the fields that hold points and cells
  friend bool operator==(const Request&, const Request&) = default;
  static constexpr auto members() {
    return std::tuple{&Request::fields,        &Request::kind,     &Request::key,
                      &Request::position,      &Request::halo,     &Request::select,
                      &Request::select_values, &Request::axis,     &Request::sides,
                      &Request::ghosts,        &Request::in_parts, &Request::geometry};
  }

  /// Every field whose values are needed to fulfil the request.
  [[nodiscard]] std::vector<std::string> needed() const;
};

/// What a stage asks of a mesh.
struct LayoutRequest {
  std::string mesh;
  Request request;
  bool is_for_own = false;  ///< all its fields are made where the stage runs: none has to come

  static constexpr auto members() {
    return std::tuple{&LayoutRequest::mesh, &LayoutRequest::request, &LayoutRequest::is_for_own};
  }
};

/// Whether blocks in the layout of one request are what the other asks for, fields aside.
bool same_layout(const Request& a, const Request& b);

/// The layout that serves all requests for a mesh, with the fields of all; AsShared if blocks
/// should stay as they are shared. It has ghost cells only if all requests of fields to move have
/// as many.
Request common_layout(model::MeshKind kind, std::span<const LayoutRequest* const> requests);

/// By mesh: in which layout it goes.
using Routes = std::map<std::string, Request>;

/// The common layout of each mesh in `requests`.
Routes routes_for(std::span<const LayoutRequest* const> requests,
                  const model::Catalogue& catalogue);

/// Blocks in the layout of a request.
struct InLayout {
  Request request;                        ///< what it fulfils, but for its fields
  std::vector<model::Block> blocks;       ///< divisions: ghost cells included
  std::vector<model::Box> inner;          ///< divisions: without them
  int64_t cells = 0;                      ///< of the blocks
  std::map<std::string, int64_t> came{};  ///< divisions: by field, how many of the cells came
};

/// What a rank has of a mesh in a publication: blocks as boxes without ghost cells; and the same
/// values in the layout that stages ask for, if they have come in one.
struct Received : model::MeshBlocks {
  Received() = default;
  Received(MeshBlocks as_boxes) : MeshBlocks(std::move(as_boxes)) {}
  std::optional<InLayout> in_layout;
};

}  // namespace pillion::layout
