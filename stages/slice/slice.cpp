// SPDX-License-Identifier: BSD-3-Clause
// The stage `slice`: a picture in numbers. Values of a field in a plane of cells, or their means
// over a thick slice, as a table of pixels.

#include <pillion/stage.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../common/cells.hpp"
#include "../common/element_volumes.hpp"
#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "cell_raster.hpp"
#include "element_boxes.hpp"

namespace pillion::stages::slice {

// Which cells of a mesh a slice is made of, and which pixel each of them belongs to. Plain numbers:
// nothing here knows of blocks or peers. A coarse mesh has cells of `step` cells a side; of a
// rectilinear one the faces are those of its coarse cells.

/// Half-open range of cells along an axis.
struct Span {
  int64_t lo = 0, hi = 0;
};

/// The cells with centres in [at - thickness/2, at + thickness/2), or the one that `at` is in if
/// there are none. Lengths are from the mesh's lower end; what is outside counts as its last cell.
inline Span planes_of(double at, double thickness, double length, int64_t cells) {
  const double width = length / static_cast<double>(cells);
  const auto cell = [&](double x) {
    return static_cast<int64_t>(std::clamp(x, 0.0, static_cast<double>(cells)));
  };
  const Span span = {cell(std::ceil((at - thickness / 2) / width - 0.5)),
                     cell(std::ceil((at + thickness / 2) / width - 0.5))};
  if (span.lo < span.hi) return span;
  const int64_t one = std::min(cell(std::floor(at / width)), cells - 1);
  return {one, one + 1};
}

/// The same by the faces of cells that are not all of one width; `at` is a coordinate.
inline Span planes_of(double at, double thickness, std::span<const double> faces) {
  const auto cells = static_cast<int64_t>(faces.size()) - 1;
  Span span{cells, 0};
  for (int64_t i = 0; i < cells; ++i) {
    const auto face = faces.subspan(static_cast<size_t>(i), 2);
    const double centre = (face[0] + face[1]) / 2;
    if (centre < at - thickness / 2 || centre >= at + thickness / 2) continue;
    span = {std::min(span.lo, i), i + 1};
  }
  if (span.lo < span.hi) return span;
  const auto above = std::upper_bound(faces.begin() + 1, faces.end() - 1, at) - faces.begin();
  return {above - 1, above};
}

/// The coarse cells that stand for cells of a span: those whose first cell is in it, or the one
/// that its first cell is in.
inline Span coarse(const Span& span, int64_t step) {
  const Span out = {(span.lo + step - 1) / step, (span.hi + step - 1) / step};
  return out.lo < out.hi ? out : Span{span.lo / step, span.lo / step + 1};
}

/// Pixels along one axis, each of `side` coarse cells.
class Pixels {
 public:
  Pixels(int64_t cells, double origin, double length, int64_t step, int64_t side)
      : cells_(cells), origin_(origin), length_(length), step_(step), side_(side) {}
  /// Of cells between these faces.
  Pixels(std::span<const double> faces, int64_t side)
      : faces_(faces.begin(), faces.end()),
        cells_(static_cast<int64_t>(faces.size()) - 1),
        step_(1),
        side_(side) {}

  /// As many cells as a pixel must have for at most `most` pixels.
  static int64_t side_for(int64_t cells, int64_t step, int64_t most) {
    return (divided(cells, step) + most - 1) / most;
  }
  [[nodiscard]] int64_t count() const { return divided(divided(cells_, step_), side_); }
  /// Of a coarse cell.
  [[nodiscard]] int64_t pixel_of(int64_t cell) const { return cell / side_; }
  /// The pixel's lower edge.
  [[nodiscard]] double lower(int64_t pixel) const {
    const int64_t cell = std::min(pixel * side_ * step_, cells_);
    if (!faces_.empty()) return faces_[static_cast<size_t>(cell)];
    return origin_ + length_ * (static_cast<double>(cell) / static_cast<double>(cells_));
  }
  [[nodiscard]] double centre(int64_t pixel) const { return (lower(pixel) + lower(pixel + 1)) / 2; }

 private:
  static int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

  std::vector<double> faces_;
  int64_t cells_;
  double origin_ = 0, length_ = 0;
  int64_t step_, side_;
};

/// A slice of a mesh and its pixels.
struct SlicePlane {
  int32_t axis;                    ///< across the plane
  Span planes;                     ///< along it
  std::array<int32_t, 2> along{};  ///< the plane's own axes
  std::array<Pixels, 2> pixels;

  [[nodiscard]] int64_t size() const { return pixels[0].count() * pixels[1].count(); }
  /// Of a cell, the first of `along` fastest.
  [[nodiscard]] size_t pixel_of(const std::array<int64_t, 3>& cell) const {
    return static_cast<size_t>(pixels[1].pixel_of(cell[along[1]]) * pixels[0].count() +
                               pixels[0].pixel_of(cell[along[0]]));
  }
  /// The cells of a block that belong to it; none if hi <= lo along an axis.
  [[nodiscard]] std::pair<std::array<int64_t, 3>, std::array<int64_t, 3>> part_of(
      std::array<int64_t, 3> lo, std::array<int64_t, 3> hi) const {
    lo[axis] = std::max(lo[axis], planes.lo);
    hi[axis] = std::min(hi[axis], planes.hi);
    return {lo, hi};
  }
};

namespace {

/// Of finite values in each pixel, times the weights of their cells, and how many cells had none.
struct Sums {
  std::vector<double> values, weights;
  int64_t not_finite = 0;

  explicit Sums(int64_t pixels)
      : values(static_cast<size_t>(pixels)), weights(static_cast<size_t>(pixels)) {}

  void add(size_t pixel, double value, double weight) {
    if (!std::isfinite(value)) {
      ++not_finite;
      return;
    }
    values[pixel] += value * weight;
    weights[pixel] += weight;
  }
  void combine(const stage::Step& step) {
    step.sum(std::span(values));
    step.sum(std::span(weights));
    step.sum(std::span(&not_finite, 1));
  }
  /// NaN where there is no value, or none of more than this weight.
  [[nodiscard]] std::vector<double> means(double least = 0) const {
    std::vector<double> out(values.size(), std::numeric_limits<double>::quiet_NaN());
    for (size_t p = 0; p < out.size(); ++p)
      if (weights[p] > least) out[p] = values[p] / weights[p];
    return out;
  }
};

class Slice final : public stage::Stage {
 public:
  explicit Slice(stage::Setup& setup)
      : name_(setup["field"].text()),
        field_(field_of(setup, "field", 0, Numbers::any)),
        component_(component_of(setup["component"], setup["field"], field_)),
        axis_(axis_of(setup)),
        most_(integer_from(setup["pixels"], 1, 8192)),
        fields_(fields_of(field_)),
        input_(setup.input(blocks_of_cells(field_, fields_))) {
    if (const auto at = setup["position"]) {
      at_ = at.real();
      const double length = field_.length[axis_];
      const auto fault = outside(*at_, field_.origin[axis_], length, at.text());
      if (has_boxes(field_) && length > 0 && !fault.empty()) at.fail(fault);
    }
    setup.product(table_name() + ".csv");
    if (const auto thickness = setup["thickness"])
      thickness_ = thickness.text() == "all" ? HUGE_VAL : positive(thickness);
    constexpr int64_t bytes_of_pixel = 120;  // sums, the table's columns, and its text
    const auto pixels = [&](int32_t axis) {
      return has_boxes(field_) ? std::min<int64_t>(most_, field_.cells[axis]) : most_;
    };
    setup.memory(0, bytes_of_pixel * pixels(axis_ == 0 ? 1 : 0) * pixels(axis_ == 2 ? 1 : 2));
  }

  void run(stage::Step& step) override {
    if (!has_boxes(field_)) return run_on_cells(step);
    const auto& mesh = step.mesh(field_.mesh);
    const SlicePlane plane = plane_of(mesh);
    Sums sums(plane.size());
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      add(block, weights_of(mesh, field_, block), plane, sums);
    }
    sums.combine(step);
    step.write(table_of(step, plane, sums));
  }

 private:
  /// Meshes with two axes have one plane.
  int32_t axis_of(const stage::Setup& setup) const {
    const auto place = setup["field"];
    if (field_.mesh_kind == PILLION_SPECTRAL && !has_element_volumes(field_))
      place.fail("mesh '" + std::string(field_.mesh) + "' of field '" + name_ + "' names no " +
                 "`coordinates`: name the field that has the places of its points");
    if (field_.mesh_kind == PILLION_PARTICLES || field_.axes < 2)
      place.fail("field '" + name_ + "' is not on a mesh with two or three axes; `deposit` makes " +
                 "a field on a mesh of particles");
    const auto given = setup["axis"];
    const int32_t axis = given ? choice(given, {"x", "y", "z"}) : 2;
    if (field_.axes == 2 && axis != 2)
      given.fail("the mesh of field '" + name_ + "' has two axes, and all of it is one plane");
    return axis;
  }
  /// A field, and where the points of its elements are.
  static std::vector<std::string> fields_of(const pillion_field_description& field) {
    std::vector<std::string> names{field.name};
    if (has_element_volumes(field) && names[0] != field.coordinates)
      names.emplace_back(field.coordinates);
    return names;
  }
  /// What is wrong with a place along the axis; "" if it lies in the mesh.
  static std::string outside(double at, double origin, double length, const std::string& written) {
    if (at >= origin && at <= origin + length) return "";
    return "the mesh reaches from " + std::to_string(origin) + " to " +
           std::to_string(origin + length) + " along this axis, and " + written + " is outside";
  }
  static double positive(const stage::Value& place) {
    const double thickness = place.real();
    if (!(thickness > 0 && std::isfinite(thickness)))
      place.fail("expected a length above 0, or `all`, not " + place.text());
    return thickness;
  }

  /// Meshes with two axes are one cell thick.
  [[nodiscard]] SlicePlane plane_of(const pillion_mesh& mesh) const {
    const bool is_uniform = mesh.kind == PILLION_UNIFORM;
    const std::array<int32_t, 2> along = {axis_ == 0 ? 1 : 0, axis_ == 2 ? 1 : 2};
    int64_t side = 1;
    for (const int32_t a : along) side = std::max(side, (mesh.cells[a] + most_ - 1) / most_);
    const auto pixels = [&](int32_t a) { return pixels_of(mesh, a, side); };
    Span planes{0, 1};
    if (field_.axes == 3) planes = is_uniform ? uniform_planes(mesh.coarsening) : planes_in(mesh);
    return {axis_, planes, along, {pixels(along[0]), pixels(along[1])}};
  }
  /// A uniform mesh is that of the configuration, coarse cells being cells of it.
  [[nodiscard]] Pixels pixels_of(const pillion_mesh& mesh, int32_t axis, int64_t side) const {
    if (mesh.kind == PILLION_UNIFORM)
      return {field_.cells[axis], field_.origin[axis], field_.length[axis], mesh.coarsening, side};
    return {faces_of(mesh, axis), side};
  }
  static std::span<const double> faces_of(const pillion_mesh& mesh, int32_t axis) {
    return {mesh.coordinates[axis], static_cast<size_t>(mesh.cells[axis]) + 1};
  }
  [[nodiscard]] Span uniform_planes(int64_t factor) const {
    const double length = field_.length[axis_];
    const double at = at_ ? *at_ - field_.origin[axis_] : length / 2;
    return coarse(planes_of(at, std::min(thickness_, 2 * length), length, field_.cells[axis_]),
                  factor);
  }
  [[nodiscard]] Span planes_in(const pillion_mesh& mesh) const {
    const auto fault =
        at_ ? outside(*at_, mesh.origin[axis_], mesh.length[axis_], std::to_string(*at_)) : "";
    if (!fault.empty()) throw Error(ErrorCode::Configuration, fault);
    const double at = at_ ? *at_ : mesh.origin[axis_] + mesh.length[axis_] / 2;
    return planes_of(at, std::min(thickness_, 2 * mesh.length[axis_]), faces_of(mesh, axis_));
  }

  void add(const stage::Block& block, const CellWeights& weights, const SlicePlane& plane,
           Sums& sums) const {
    const auto n = extent_of(block, field_);
    std::array<int64_t, 3> first{}, last{};
    for (size_t a = 0; a < 3; ++a) {
      first[a] = static_cast<int32_t>(a) < field_.axes ? block.lo()[a] : 0;
      last[a] = first[a] + n[a];
    }
    const auto [lo, hi] = plane.part_of(first, last);
    if (lo[0] >= hi[0]) return;
    const auto array = block[0];
    std::vector<double> row(static_cast<size_t>(hi[0] - lo[0]));
    for (int64_t k = lo[2]; k < hi[2]; ++k)
      for (int64_t j = lo[1]; j < hi[1]; ++j) {
        const int64_t from = ((k - first[2]) * n[1] + j - first[1]) * n[0] + lo[0] - first[0];
        read_values({&array, component_}, n, from, row);
        for (int64_t i = lo[0]; i < hi[0]; ++i) {
          const std::array<int64_t, 3> at = {i - first[0], j - first[1], k - first[2]};
          if (weights.flags != nullptr && !weights.counts(at[0], at[1], at[2])) continue;
          sums.add(plane.pixel_of({i, j, k}), row[static_cast<size_t>(i - lo[0])],
                   weights.of(at[0], at[1], at[2]));
        }
      }
  }

  // Meshes of cells of any shape, and of elements. A thick slice is a number of planes, as far
  // apart as pixels are wide: the rectangle rule for the mean across it.

  void run_on_cells(const stage::Step& step) const {
    const auto [lo, hi] = box_of(step);
    const auto axis = static_cast<size_t>(axis_);
    CellRaster raster(axis_, lo, hi, most_);
    const auto planes = field_.axes == 3 ? planes_between(lo[axis], hi[axis], raster.side())
                                         : std::vector<double>{};
    if (field_.axes == 2 && hi[2] - lo[2] > 1e-9 * length_of(hi - lo))
      throw Error(ErrorCode::Stage, "field '" + name_ +
                                        "' is on a surface that is not a plane of "
                                        "constant z, which a plane cuts in lines; "
                                        "`image` draws it");
    Sums sums(raster.size());
    std::vector<double> values;
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      const auto array = unfolded(block[0], field_);
      values.resize(static_cast<size_t>(size_of(extent_of(block, field_))));
      read_values({&array, component_}, extent_of(block, field_), 0, values);
      size_t first = 0;
      each_box(step, block, [&](CellPieces& pieces) {
        first += add_cells(pieces, std::span(values).subspan(first), planes, raster, sums);
      });
    }
    sums.combine(step);
    step.write(table_of(step, raster, planes, sums));
  }
  /// Calls use(pieces) with the cells of a block, or of each of its elements.
  template <class Use>
  void each_box(const stage::Step& step, const stage::Block& block, Use&& use) const {
    if (field_.mesh_kind != PILLION_SPECTRAL) {
      CellPieces pieces(step.mesh(field_.mesh), block);
      return use(pieces);
    }
    ElementBoxes elements(field_, block, static_cast<int32_t>(fields_.size()) - 1);
    for (int64_t e = 0; e < elements.count(); ++e) {
      const auto box = elements.element(e);
      CellPieces pieces(elements.mesh(), box);
      use(pieces);
    }
  }
  /// Around all cells that count. [peers]
  [[nodiscard]] std::pair<Vec3, Vec3> box_of(const stage::Step& step) const {
    Vec3 lo{{HUGE_VAL, HUGE_VAL, HUGE_VAL}}, hi{{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};
    for (int32_t b = 0; b < step.block_count(input_); ++b)
      each_box(step, step.block(input_, b),
               [&](CellPieces& pieces) { enclose(pieces, field_.axes, lo, hi); });
    step.min(std::span<double>(lo.x));
    step.max(std::span<double>(hi.x));
    if (!(lo[0] <= hi[0]))
      throw Error(ErrorCode::Stage, "mesh '" + std::string(field_.mesh) + "' has no cell of " +
                                        std::to_string(field_.axes) + " dimensions to slice");
    return {lo, hi};
  }
  /// In ascending order. One that is on the mesh's end is moved into it.
  [[nodiscard]] std::vector<double> planes_between(double lo, double hi, double apart) const {
    const double length = hi - lo, at = at_ ? *at_ : lo + length / 2;
    if (const auto fault = outside(at, lo, length, std::to_string(at)); !fault.empty())
      throw Error(ErrorCode::Configuration, fault);
    const double inset = 1e-9 * length;
    const double from = std::max(lo, at - thickness_ / 2), to = std::min(hi, at + thickness_ / 2);
    if (!(thickness_ > 0)) return {std::clamp(at, lo + inset, hi - inset)};
    const auto count = static_cast<int64_t>(std::ceil((to - from) / apart));
    std::vector<double> out;
    for (int64_t i = 0; i < std::max<int64_t>(count, 1); ++i)
      out.push_back(from + (to - from) * (static_cast<double>(i) + 0.5) /
                               static_cast<double>(std::max<int64_t>(count, 1)));
    return out;
  }
  /// Returns how many of the values are those of the cells: a spectral element may have but one.
  size_t add_cells(CellPieces& pieces, std::span<const double> values,
                   std::span<const double> planes, CellRaster& raster, Sums& sums) const {
    auto& cells = pieces.cells();
    const bool of_element = field_.mesh_kind == PILLION_SPECTRAL;
    const bool at_points = of_element ? points_of(field_) > 1 : field_.centering == PILLION_POINT;
    for (int64_t c = 0; c < cells.count(); ++c) {
      if (!cells.is_part(c, field_.axes)) continue;
      const double part = cells.part(c);
      bool is_finite = true;  // of what is seen of the cell
      const auto value = [&](int64_t point) {
        return values[size_t(at_points ? point : of_element ? 0 : c)];
      };
      const auto add = [&](size_t pixel, double area, double mean) {
        if (std::isfinite(mean)) sums.add(pixel, mean, part * area);
        else is_finite = false;
      };
      if (field_.axes == 2) flatten_cell(pieces, c, raster, value, add);
      else cut_cell(pieces, c, static_cast<size_t>(axis_), planes, raster, value, add);
      sums.not_finite += is_finite ? 0 : 1;
    }
    return of_element ? static_cast<size_t>(points_of(field_)) : values.size();
  }

  [[nodiscard]] std::string called() const {
    return name_ + ending_of(component_, field_.components);
  }
  /// Of a mesh with two axes it is all of the mesh.
  [[nodiscard]] std::string title() const {
    return field_.axes == 3 ? called() + " across " + "xyz"[axis_] : called();
  }
  [[nodiscard]] std::string table_name() const { return "slice_" + called() + "_" + "xyz"[axis_]; }
  [[nodiscard]] stage::Table table_of(const stage::Step& step, const SlicePlane& plane,
                                      const Sums& sums) const {
    stage::Table out(table_name(), title());
    for (size_t d = 0; d < 2; ++d)
      out.column(std::string(1, "xyz"[plane.along[d]]),
                 length_units(step.mesh(field_.mesh), plane.along[d]), centres(plane, d));
    out.column("mean", step.units(name_), sums.means());
    if (field_.axes == 3) describe_planes(out, plane, step.mesh(field_.mesh));
    if (sums.not_finite > 0) out.attribute("not_finite", static_cast<double>(sums.not_finite));
    const int64_t coarsening = one_of(step, field_.mesh, field_);
    if (coarsening > 1) out.attribute("coarsening", static_cast<double>(coarsening));
    out.per_step();
    return out;
  }
  [[nodiscard]] stage::Table table_of(const stage::Step& step, const CellRaster& raster,
                                      std::span<const double> planes, const Sums& sums) const {
    stage::Table out(table_name(), title());
    const std::string units = step.mesh(field_.mesh).units;
    for (size_t d = 0; d < 2; ++d) {
      std::vector<double> centres;
      for (int64_t v = 0; v < raster.count(1); ++v)
        for (int64_t u = 0; u < raster.count(0); ++u)
          centres.push_back(raster.centre(d, d == 0 ? u : v));
      out.column(std::string(1, "xyz"[raster.along(d)]), units, std::move(centres));
    }
    // Pieces that are taken away where cells are not convex leave rounding errors behind.
    out.column("mean", step.units(name_), sums.means(1e-9 * raster.side() * raster.side()));
    if (!planes.empty()) {
      const double half = planes.size() > 1 ? (planes[1] - planes[0]) / 2 : 0;
      out.attribute("from", planes.front() - half, units);
      out.attribute("to", planes.back() + half, units);
    }
    if (sums.not_finite > 0) out.attribute("not_finite", static_cast<double>(sums.not_finite));
    const int64_t coarsening = one_of(step, field_.mesh, field_);
    if (coarsening > 1) out.attribute("coarsening", static_cast<double>(coarsening));
    out.per_step();
    return out;
  }
  void describe_planes(stage::Table& out, const SlicePlane& plane, const pillion_mesh& mesh) const {
    const auto cells = pixels_of(mesh, axis_, 1);
    const auto units = length_units(mesh, axis_);
    out.attribute("from", cells.lower(plane.planes.lo), units);
    out.attribute("to", cells.lower(plane.planes.hi), units);
  }
  /// Of each pixel, along one of the plane's axes.
  static std::vector<double> centres(const SlicePlane& plane, size_t d) {
    std::vector<double> out;
    for (int64_t v = 0; v < plane.pixels[1].count(); ++v)
      for (int64_t u = 0; u < plane.pixels[0].count(); ++u)
        out.push_back(plane.pixels[d].centre(d == 0 ? u : v));
    return out;
  }

  std::string name_;
  pillion_field_description field_;
  int32_t component_, axis_;
  int64_t most_;
  std::vector<std::string> fields_;  ///< the last has the points of elements
  int32_t input_;
  std::optional<double> at_;  ///< in the middle if it was not given
  double thickness_ = 0;
};

const pillion_parameter parameters[] = {
    {"field", "field", nullptr, "Field on a mesh of cells or spectral elements"},
    {"axis", "x | y | z", "null", "Axis across the slice"},
    {"position", "length", "null", "Where along that axis; in its middle if left out"},
    {"thickness", "length | all", "null", "Take means over this length; one cell if left out"},
    {"component", "integer | magnitude", "null", "Component of a vector field, or its magnitude"},
    {"pixels", "integer", "256", "Most pixels along each axis; cells are averaged to fit"},
};

}  // namespace
}  // namespace pillion::stages::slice

PILLION_STAGE(pillion::stages::slice::Slice, "slice",
              "A plane of a field, or the mean over a thick one",
              pillion::stages::slice::parameters)
