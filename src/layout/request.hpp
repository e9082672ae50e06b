// SPDX-License-Identifier: BSD-3-Clause
// Which fields a stage wants, and in which layout.
#pragma once

#include <pillion/stage.h>

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

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
  int axis = 0;                     ///< Slabs, Pencils
  std::array<int, 3> sides{};       ///< PowersOfTwo
  std::array<int64_t, 3> ghosts{};  ///< divisions: cells added on both sides
  bool in_parts = false;            ///< divisions: boxes may come as several parts
  friend bool operator==(const Request&, const Request&) = default;
  static constexpr auto members() {
    return std::tuple{&Request::fields,        &Request::kind,    &Request::key,
                      &Request::position,      &Request::halo,    &Request::select,
                      &Request::select_values, &Request::axis,    &Request::sides,
                      &Request::ghosts,        &Request::in_parts};
  }

  /// Every field whose values are needed to fulfil the request.
  [[nodiscard]] std::vector<std::string> needed() const;
};

}  // namespace pillion::layout
