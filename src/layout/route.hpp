// SPDX-License-Identifier: BSD-3-Clause
// How the blocks of a mesh reach those who work on them: at once in the layout that all who need
// them ask for, where there is one, and whole otherwise.
#pragma once

#include <map>
#include <span>
#include <tuple>

#include "layout/request.hpp"
#include "model/block.hpp"
#include "model/catalogue.hpp"

namespace pillion::layout {

/// What a stage asks of a mesh.
struct Wish {
  std::string mesh;
  Request request;
  bool is_for_own = false;  ///< all its fields are made where the stage runs: none has to come

  static constexpr auto members() {
    return std::tuple{&Wish::mesh, &Wish::request, &Wish::is_for_own};
  }
};

/// Whether blocks in the layout of one request are what the other asks for, fields aside.
bool same_layout(const Request& a, const Request& b);

/// The layout that serves all wishes for a mesh, with the fields of all; AsShared if blocks had
/// better stay as they are shared. Ghost cells only if all that has to come is wanted
/// with as many.
Request common_layout(model::MeshKind kind, std::span<const Wish* const> wishes);

/// The same for each mesh of which `wishes` speak.
std::map<std::string, Request> routes_for(std::span<const Wish* const> wishes,
                                          const model::Catalogue& catalogue);

/// What has come in a layout of its own. The blocks without their ghost cells are a mesh's blocks
/// like any others.
struct Arrived {
  Request request;                        ///< what it fulfils, but for its fields
  std::vector<model::Block> blocks;       ///< divisions: ghost cells included
  std::vector<model::Box> inner;          ///< divisions: without them
  int64_t cells = 0;                      ///< of the blocks
  std::map<std::string, int64_t> came{};  ///< divisions: by field, how many of the cells came
};

}  // namespace pillion::layout
