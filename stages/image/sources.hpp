// SPDX-License-Identifier: BSD-3-Clause
// The inputs of a picture's layers. Layers of the same mesh that want it in the same layout share
// an input, so that no field is moved twice.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

namespace pillion::image {

enum class Arrangement { blocks, bricks, as_shared };

/// A field of an input: which of the sources, and its place among the arrays of a block.
struct Slot {
  size_t source = 0;
  int32_t array = 0;
};

class Sources {
 public:
  /// Asks for a field of a mesh.
  Slot want(const std::string& mesh, Arrangement arrangement, const std::string& field) {
    size_t s = 0;
    while (s < all_.size() && (all_[s].mesh != mesh || all_[s].arrangement != arrangement)) ++s;
    if (s == all_.size())
      all_.push_back({mesh, arrangement, {}, 0, {brick_side, brick_side, brick_side}});
    auto& fields = all_[s].fields;
    const auto at = std::find(fields.begin(), fields.end(), field);
    const auto array = static_cast<int32_t>(at - fields.begin());
    if (at == fields.end()) fields.push_back(field);
    return {s, array};
  }
  /// In bricks, which are thinner where the mesh is: as few cells as cover it.
  Slot want_bricks(const pillion_field_description& mesh, const std::string& field) {
    const Slot out = want(mesh.mesh, Arrangement::bricks, field);
    auto& sides = all_[out.source].sides;
    for (int32_t d = 0; d < mesh.axes; ++d)
      while (sides[d] > 0 && int64_t{1} << (sides[d] - 1) >= mesh.cells[d]) --sides[d];
    return out;
  }
  /// Asks the host for all of them, when every layer has said what it wants.
  void request(stage::Setup& setup) {
    for (auto& source : all_) source.input = setup.input(input_of(source));
  }
  [[nodiscard]] int32_t input(const Slot& slot) const { return all_[slot.source].input; }

  /// Cells along the side of a brick, as a power of two, where the mesh is not thinner.
  static constexpr int32_t brick_side = 5;

 private:
  struct Source {
    std::string mesh;
    Arrangement arrangement;
    std::vector<std::string> fields;
    int32_t input;
    std::array<int32_t, 3> sides;  ///< of bricks, as powers of two
  };
  static stage::Input input_of(const Source& source) {
    switch (source.arrangement) {
      // Two, since normals need neighbours of the points between which a surface lies.
      case Arrangement::blocks: return stage::Input::blocks(source.fields).with_ghosts({2, 2, 2});
      case Arrangement::bricks:
        return stage::Input::powers_of_two(source.fields, source.sides).with_ghosts({1, 1, 1});
      default: return stage::Input::as_shared(source.fields);
    }
  }

  std::vector<Source> all_;
};

}  // namespace pillion::image
