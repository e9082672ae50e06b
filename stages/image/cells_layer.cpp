// SPDX-License-Identifier: BSD-3-Clause
// Layers of meshes whose cells have several shapes: planes through cells of three dimensions,
// surfaces in them on which a field has a value, and cells of two dimensions as they are, of a
// plane or of a body's surface.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "../common/cells.hpp"
#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "../common/tetrahedra.hpp"
#include "layer.hpp"
#include "patch.hpp"
#include "raster.hpp"

namespace pillion::stages::image {

namespace {

Vec vec_at(const stages::Vec3& place) { return {place[0], place[1], place[2]}; }

/// A quantity at the cells of one mesh, as the simulation shares them.
class CellValues {
 public:
  CellValues(FieldComponent of, Sources& sources)
      : of_(std::move(of)),
        sources_(sources),
        slot_(sources.want(of_.mesh, Arrangement::as_shared, of_.field)) {}

  /// Calls use(block, pieces, cell, value) for all that count; value(point) is that at one of its
  /// points.
  template <class F>
  void for_each(const stage::Step& step, F&& use) const {
    const int32_t input = sources_.input(slot_);
    for (int32_t b = 0; b < step.block_count(input); ++b) {
      const auto block = step.block(input, b);
      const auto values = this->values(block);
      stages::CellPieces pieces(step.mesh(of_.mesh), block);
      for (int64_t c = 0; c < pieces.cells().count(); ++c)
        if (pieces.cells().is_part(c, of_.description.axes))
          use(block, pieces, c, [&](int64_t point) {
            return values[static_cast<size_t>(is_at_points() ? point : c)];
          });
    }
  }
  void measure(const stage::Step& step, Extremes& extremes) const {
    for_each(step, [&](const auto&, auto& pieces, int64_t cell, const auto& value) {
      for (const int64_t point : pieces.cells().points(cell)) extremes.add(value(point));
    });
  }
  void enclose(const stage::Step& step, Box& box) const {
    for_each(step, [&](const auto&, auto& pieces, int64_t cell, const auto&) {
      for (const auto& place : pieces.cells().places(cell))
        for (int d = 0; d < 3; ++d) {
          box.lo[d] = std::min(box.lo[d], place[static_cast<size_t>(d)]);
          box.hi[d] = std::max(box.hi[d], place[static_cast<size_t>(d)]);
        }
    });
  }
  /// All of a block of the same source.
  [[nodiscard]] std::vector<double> values(const stage::Block& block) const {
    const auto extent = stages::extent_of(block, of_.description);
    std::vector<double> out(static_cast<size_t>(stages::size_of(extent)));
    const auto array = block[slot_.array];
    stages::read_values({&array, of_.component}, extent, 0, out);
    return out;
  }
  [[nodiscard]] bool is_at_points() const { return of_.description.centering == PILLION_POINT; }

 private:
  FieldComponent of_;
  const Sources& sources_;
  Slot slot_;
};

/// Shows one quantity.
class CellsLayer : public Layer {
 public:
  CellsLayer(const Colouring& colours, Sources& sources)
      : Layer(colours), shown_(*colours.by, sources) {}

  void measure(const stage::Step& step, Extremes& extremes) const override {
    shown_.measure(step, extremes);
  }
  void enclose(const stage::Step& step, Box& box) const override { shown_.enclose(step, box); }

 protected:
  template <class F>
  void for_each_cell(const stage::Step& step, F&& use) const {
    shown_.for_each(step, [&](const auto&, auto& pieces, int64_t cell, const auto& value) {
      use(pieces, cell, value);
    });
  }

 private:
  CellValues shown_;
};

class PlaneOfCells final : public CellsLayer {
 public:
  PlaneOfCells(const Colouring& colours, const Plane& plane, Sources& sources)
      : CellsLayer(colours, sources), plane_(plane) {}

  void draw(const stage::Step& step, const View& view, const Paint& paint,
            Canvas& canvas) const override {
    Paint flat = paint;
    flat.is_lit = false;
    const auto [sign, in_plane] = side_of(step);
    const auto height = [&](const stages::Vec3& place) {
      const double beyond = this->beyond(place);
      return std::abs(beyond) <= in_plane ? 0 : sign * beyond;
    };
    std::array<stages::Valued, 4> corners;
    for_each_cell(step, [&](stages::CellPieces& pieces, int64_t cell, const auto& value) {
      double least = HUGE_VAL, most = -HUGE_VAL;
      for (const auto& node : pieces.nodes(cell, value)) {
        least = std::min(least, height(node.place));
        most = std::max(most, height(node.place));
      }
      if (!(least < 0 && most >= 0)) return;
      for (const auto& piece : pieces.tetrahedra(cell, value)) {
        const size_t count = stages::cut(piece.points, height, corners);
        const auto corner = [&](size_t i) {
          return Corner{vec_at(corners[i].place), plane_.normal, corners[i].value};
        };
        for (size_t i = 2; i < count; ++i)
          draw_triangle(canvas, view, {corner(0), corner(i - 1), corner(i)}, flat);
      }
    });
  }
  [[nodiscard]] int flat_axis() const override { return plane_.axis; }

 private:
  [[nodiscard]] double beyond(const stages::Vec3& place) const {
    return plane_.axis >= 0 ? place[static_cast<size_t>(plane_.axis)] - plane_.origin[plane_.axis]
                            : dot(vec_at(place) - plane_.origin, plane_.normal);
  }
  /// Which side counts as above, and what counts as in the plane: at the mesh's own end there are
  /// cells on one side alone, and these are the ones that must be cut. [peers]
  [[nodiscard]] std::pair<double, double> side_of(const stage::Step& step) const {
    std::array<double, 2> ends = {HUGE_VAL, HUGE_VAL};
    for_each_cell(step, [&](stages::CellPieces& pieces, int64_t cell, const auto&) {
      for (const auto& place : pieces.cells().places(cell)) {
        ends[0] = std::min(ends[0], beyond(place));
        ends[1] = std::min(ends[1], -beyond(place));
      }
    });
    step.min(std::span<double>(ends));
    const double in_plane = 1e-9 * (-ends[1] - ends[0]);
    return {std::abs(ends[0]) <= in_plane ? -1 : 1, in_plane};
  }

  Plane plane_;
};

/// Cells of two dimensions: those of a plane are not lit, so that colours match the bar.
class FlatCells final : public CellsLayer {
 public:
  FlatCells(const Colouring& colours, bool is_plane, Sources& sources)
      : CellsLayer(colours, sources), is_plane_(is_plane) {}

  void draw(const stage::Step& step, const View& view, const Paint& paint,
            Canvas& canvas) const override {
    Paint own = paint;
    own.is_lit = paint.is_lit && !is_plane_;
    for_each_cell(step, [&](stages::CellPieces& pieces, int64_t cell, const auto& value) {
      pieces.polygons(cell, value, [&](std::span<const stages::Valued> corners) {
        draw_polygon(canvas, view, corners, own);
      });
    });
  }
  [[nodiscard]] int flat_axis() const override { return is_plane_ ? 2 : -1; }

 private:
  /// In triangles about the mean of its corners, with one normal.
  static void draw_polygon(Canvas& canvas, const View& view,
                           std::span<const stages::Valued> corners, const Paint& paint) {
    const auto middle = stages::mean_of(corners);
    const size_t n = corners.size();
    Vec normal;
    for (size_t i = 0; i < n; ++i)
      normal = normal + cross(vec_at(corners[i].place) - vec_at(middle.place),
                              vec_at(corners[(i + 1) % n].place) - vec_at(middle.place));
    const auto corner = [&](const stages::Valued& at) {
      return Corner{vec_at(at.place), normal, at.value};
    };
    if (n == 3)
      return draw_triangle(canvas, view,
                           {corner(corners[0]), corner(corners[1]), corner(corners[2])}, paint);
    for (size_t i = 0; i < n; ++i)
      draw_triangle(canvas, view,
                    {corner(middle), corner(corners[i]), corner(corners[(i + 1) % n])}, paint);
  }

  bool is_plane_;
};

/// In each piece of a cell the surface is flat, and so is its light.
class SurfaceInCells final : public Layer {
 public:
  SurfaceInCells(const Colouring& colours, const FieldComponent& of, std::vector<double> values,
                 Sources& sources)
      : Layer(colours), values_(std::move(values)), level_(of, sources) {
    if (colours.by) shown_.emplace(*colours.by, sources);
  }

  void measure(const stage::Step& step, Extremes& extremes) const override {
    if (shown_) shown_->measure(step, extremes);
  }
  void enclose(const stage::Step& step, Box& box) const override { level_.enclose(step, box); }
  void draw(const stage::Step& step, const View& view, const Paint& paint,
            Canvas& canvas) const override {
    std::vector<double> shown;
    int64_t shown_block = -1;
    std::vector<stages::Tetrahedron> levels;
    level_.for_each(step, [&](const stage::Block& block, auto& pieces, int64_t cell,
                              const auto& level) {
      if (!is_met(pieces, cell, level)) return;
      levels = pieces.tetrahedra(cell, level);
      if (!shown_) return draw_pieces(canvas, view, levels, levels, paint);
      if (shown_block != block.id()) shown = shown_->values(block);
      shown_block = block.id();
      draw_pieces(canvas, view, levels,
                  pieces.tetrahedra(
                      cell,
                      [&](int64_t point) {
                        return shown[static_cast<size_t>(shown_->is_at_points() ? point : cell)];
                      }),
                  paint);
    });
  }

 private:
  /// Whether a surface goes through a cell, all of whose numbers are known.
  template <class Level>
  [[nodiscard]] bool is_met(stages::CellPieces& pieces, int64_t cell, const Level& level) const {
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (const auto& node : pieces.nodes(cell, level)) {
      if (!std::isfinite(node.value)) return false;
      least = std::min(least, node.value);
      most = std::max(most, node.value);
    }
    return std::any_of(values_.begin(), values_.end(),
                       [&](double value) { return least < value && most >= value; });
  }
  void draw_pieces(Canvas& canvas, const View& view, const std::vector<stages::Tetrahedron>& levels,
                   const std::vector<stages::Tetrahedron>& shown, const Paint& paint) const {
    std::array<stages::Valued, 4> corners;
    for (size_t p = 0; p < levels.size(); ++p) {
      const auto& of = levels[p].points;
      const Vec normal = vec_at(stages::gradient_of(of));
      for (const double value : values_) {
        const std::array<double, 4> heights = {of[0].value - value, of[1].value - value,
                                               of[2].value - value, of[3].value - value};
        const size_t count = stages::cut(shown[p].points, heights, corners);
        const auto corner = [&](size_t i) {
          return Corner{vec_at(corners[i].place), normal, corners[i].value};
        };
        for (size_t i = 2; i < count; ++i)
          draw_triangle(canvas, view, {corner(0), corner(i - 1), corner(i)}, paint);
      }
    }
  }

  std::vector<double> values_;
  CellValues level_;
  std::optional<CellValues> shown_;
};

}  // namespace

bool draws_each_cell(const pillion_field_description& field) {
  return stages::has_placed_points(field) ||
         (stages::has_boxes(field) && (!stages::has_equal_cells(field) || field.is_partial != 0));
}

std::unique_ptr<Layer> make_isosurface_of_cells(const stage::Value& map, const Colouring& colours,
                                                const FieldComponent& of,
                                                const std::vector<double>& values,
                                                Sources& sources) {
  const auto& field = of.description;
  if (field.axes != 3)
    map.find("field").fail("field '" + of.field + "' is on no mesh with three axes; `surface` " +
                           "draws one whose cells have two dimensions");
  if (field.centering != PILLION_POINT)
    map.find("field").fail("field '" + of.field + "' has one value in each cell; surfaces need " +
                           "one at each point");
  return std::make_unique<SurfaceInCells>(colours, of, values, sources);
}

std::unique_ptr<Layer> make_slice_of_cells(const stage::Value& map, const Colouring& colours,
                                           const Plane& plane, Sources& sources) {
  const auto& field = colours.by->description;
  if (field.axes == 3) return std::make_unique<PlaneOfCells>(colours, plane, sources);
  if (field.axes != 2) map.find("field").fail("lines cannot be sliced");
  return std::make_unique<FlatCells>(colours, true, sources);
}

std::unique_ptr<Layer> make_surface(const stage::Setup& setup, const stage::Value& map,
                                    Sources& sources) {
  auto known = Colouring::keys();
  known.insert({"field", "component"});
  stages::only_keys(map, known);
  const FieldComponent of = quantity_of(setup, map, "field", "component");
  const bool is_spectral = of.description.mesh_kind == PILLION_SPECTRAL;
  if (!(stages::has_placed_points(of.description) || is_spectral) || of.description.axes != 2)
    map.find("field").fail("field '" + of.field +
                           "' is not on an unstructured or spectral mesh whose `dimensions` are 2, "
                           "or a curvilinear one of two axes; `slice` and `isosurface` draw "
                           "surfaces in volumes");
  if (is_spectral) return make_sheet(Colouring::by_quantity(map, of), false, sources);
  return std::make_unique<FlatCells>(Colouring::by_quantity(map, of), false, sources);
}

}  // namespace pillion::stages::image
