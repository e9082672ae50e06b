// SPDX-License-Identifier: BSD-3-Clause
// Layers of a picture: a slice, an iso-surface, points or a volume of some field. A layer draws
// what this peer holds; what it looks like must not depend on who holds what.
#pragma once

#include <memory>
#include <optional>
#include <pillion/stage.hpp>
#include <vector>

#include "camera.hpp"
#include "canvas.hpp"
#include "colouring.hpp"
#include "sources.hpp"
#include "volume.hpp"

namespace pillion::image {

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
                    std::vector<Piece>&) const {}
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
std::unique_ptr<Layer> make_isosurface(const stage::Setup& setup, const stage::Value& map,
                                       Sources& sources);
std::unique_ptr<Layer> make_volume(const stage::Setup& setup, const stage::Value& map,
                                   Sources& sources);
std::unique_ptr<Layer> make_points(const stage::Setup& setup, const stage::Value& map,
                                   Sources& sources);

}  // namespace pillion::image
