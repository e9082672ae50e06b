// SPDX-License-Identifier: BSD-3-Clause
// Layers of a picture: a slice, an iso-surface, points or a volume of some field. A layer draws
// what this peer holds; the picture must not depend on which peer holds what. Layers of the same
// mesh that want it in the same layout share an input, so that no field is moved twice.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "camera.hpp"
#include "canvas.hpp"
#include "colouring.hpp"
#include "volume.hpp"

namespace pillion::stages::image {

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
  /// Requests all of them from the host, after every layer has named its own.
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
      // Flags mark cells that finer ones cover.
      default: return stage::Input::as_shared(source.fields).with_levels();
    }
  }

  std::vector<Source> all_;
};

class Layer {
 public:
  explicit Layer(Colouring given) : colouring(std::move(given)) {}
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  virtual ~Layer() = default;

  /// Adds the numbers that colours show to the extremes.
  virtual void measure(const stage::Step& step, Extremes& extremes) const = 0;
  /// Makes the box so large that it holds what this peer has of the mesh.
  virtual void enclose(const stage::Step& step, Box& box) const = 0;
  virtual void draw(const stage::Step& step, const View& view, const Paint& paint,
                    Canvas& canvas) const = 0;
  /// Of a volume: light along rays up to the depths at which they end, for each pixel. [peers]
  virtual void glow(const stage::Step&, const View&, const Paint&, const std::vector<double>&,
                    std::vector<RaySegment>&) const {}
  [[nodiscard]] virtual bool is_volume() const { return false; }
  /// The axis across which all of it lies, or -1.
  [[nodiscard]] virtual int flat_axis() const { return -1; }

  const Colouring colouring;
};

/// Makes the layer that an entry of the list `draw` describes. Throws, saying where, if it is not
/// right.
std::unique_ptr<Layer> make_layer(const stage::Setup& setup, const stage::Value& entry,
                                  Sources& sources);

std::unique_ptr<Layer> make_slice(const stage::Setup& setup, const stage::Value& map,
                                  Sources& sources);
struct Plane;
/// Whether pictures of a mesh are drawn cell by cell, each where its points are: cells have several
/// shapes or sizes, or some of them are missing.
bool draws_each_cell(const pillion_field_description& field);
/// Of such a mesh.
std::unique_ptr<Layer> make_slice_of_cells(const stage::Value& map, const Colouring& colours,
                                           const Plane& plane, Sources& sources);
std::unique_ptr<Layer> make_isosurface_of_cells(const stage::Value& map, const Colouring& colours,
                                                const FieldComponent& of,
                                                const std::vector<double>& values,
                                                Sources& sources);
/// Of a spectral mesh whose elements have two dimensions: all of it.
std::unique_ptr<Layer> make_sheet(const Colouring& colours, bool is_plane, Sources& sources);
std::unique_ptr<Layer> make_surface(const stage::Setup& setup, const stage::Value& map,
                                    Sources& sources);
std::unique_ptr<Layer> make_isosurface(const stage::Setup& setup, const stage::Value& map,
                                       Sources& sources);
std::unique_ptr<Layer> make_volume(const stage::Setup& setup, const stage::Value& map,
                                   Sources& sources);
std::unique_ptr<Layer> make_points(const stage::Setup& setup, const stage::Value& map,
                                   Sources& sources);

}  // namespace pillion::stages::image
