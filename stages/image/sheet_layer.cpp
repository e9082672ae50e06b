// SPDX-License-Identifier: BSD-3-Clause
// Layers of spectral meshes of two dimensions: all of their elements, as a plane or as a surface.
#include <algorithm>
#include <array>
#include <vector>

#include "layer.hpp"
#include "patch.hpp"
#include "raster.hpp"
#include "spectral.hpp"

namespace pillion::stages::image {

namespace {

/// Elements of a plane are not lit, so that colours match the bar.
class Sheet final : public Layer {
 public:
  Sheet(const Colouring& colours, bool is_plane, Sources& sources)
      : Layer(colours),
        is_plane_(is_plane),
        elements_(sources),
        shown_(elements_.want(*colours.by)) {}

  void measure(const stage::Step& step, Extremes& extremes) const override {
    elements_.measure(step, shown_, extremes);
  }
  void enclose(const stage::Step& step, Box& box) const override { elements_.enclose(step, box); }
  void draw(const stage::Step& step, const View& view, const Paint& paint,
            Canvas& canvas) const override {
    Paint own = paint;
    own.is_lit = paint.is_lit && !is_plane_;
    std::vector<double> value;
    std::vector<Vec> normal;
    elements_.for_each(step, [&](const Element& element) {
      element.read(shown_, value);
      element.normals(normal);
      const size_t n = element.n();
      for (size_t j = 0; j + 1 < n; ++j)
        for (size_t i = 0; i + 1 < n; ++i) {
          const size_t first = j * n + i;
          std::array<Corner, 4> corners;
          size_t c = 0;
          for (const size_t p : {first, first + 1, first + n + 1, first + n})
            corners[c++] = {element.places()[p], normal[p], value[p]};
          draw_cell(canvas, view, corners, own);
        }
    });
  }
  [[nodiscard]] int flat_axis() const override { return is_plane_ ? 2 : -1; }

 private:
  /// In triangles about the mean of the corners, so that it does not matter which is the first.
  static void draw_cell(Canvas& canvas, const View& view, const std::array<Corner, 4>& corners,
                        const Paint& paint) {
    Corner middle;
    for (const Corner& corner : corners) {
      middle.position = middle.position + 0.25 * corner.position;
      middle.normal = middle.normal + corner.normal;
      middle.value += 0.25 * corner.value;
    }
    for (size_t c = 0; c < 4; ++c)
      draw_triangle(canvas, view, {middle, corners[c], corners[(c + 1) % 4]}, paint);
  }

  bool is_plane_;
  Elements elements_;
  SpectralField shown_;
};

}  // namespace

std::unique_ptr<Layer> make_sheet(const Colouring& colours, bool is_plane, Sources& sources) {
  return std::make_unique<Sheet>(colours, is_plane, sources);
}

}  // namespace pillion::stages::image
