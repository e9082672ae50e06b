// SPDX-License-Identifier: BSD-3-Clause
// Layers that are planes through a mesh.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "../common/cells.hpp"
#include "../common/options.hpp"
#include "layer.hpp"
#include "patch.hpp"
#include "spectral.hpp"
#include "uniform.hpp"

namespace pillion::stages::image {

namespace {

class UniformSlice final : public Layer {
 public:
  UniformSlice(const Colouring& colours, const Plane& plane, Sources& sources)
      : Layer(colours),
        of_(*colours.by),
        plane_(plane),
        sources_(sources),
        slot_(sources.want(of_.mesh, Arrangement::blocks, of_.field)) {}

  void measure(const stage::Step& step, Extremes& extremes) const override {
    measure_cells(step, sources_.input(slot_), slot_, of_, extremes);
  }
  void enclose(const stage::Step&, Box& box) const override { enclose_mesh(of_.description, box); }
  void draw(const stage::Step& step, const View& view, const Paint& paint,
            Canvas& canvas) const override {
    const Lattice lattice = lattice_of(of_.description, step.coarsening(of_.mesh));
    const int32_t input = sources_.input(slot_);
    for (int32_t b = 0; b < step.block_count(input); ++b) {
      const auto block = step.block(input, b);
      const Patch patch(block, lattice, of_.description.axes, 0, cells_of(plane_, lattice));
      if (patch.empty()) continue;
      const auto values = patch.values(block[slot_.array], of_.component);
      draw_slice(canvas, view, patch, values, plane_, paint);
    }
  }
  [[nodiscard]] int flat_axis() const override { return plane_.axis; }

 private:
  FieldComponent of_;
  Plane plane_;
  const Sources& sources_;
  Slot slot_;
};

class SpectralSlice final : public Layer {
 public:
  SpectralSlice(const Colouring& colours, const Plane& plane, Sources& sources)
      : Layer(colours), plane_(plane), elements_(sources), shown_(elements_.want(*colours.by)) {}

  void measure(const stage::Step& step, Extremes& extremes) const override {
    elements_.measure(step, shown_, extremes);
  }
  void enclose(const stage::Step& step, Box& box) const override { elements_.enclose(step, box); }
  void draw(const stage::Step& step, const View& view, const Paint& paint,
            Canvas& canvas) const override {
    Paint flat = paint;
    flat.is_lit = false;
    const Cutting cutting = cutting_of(step);
    std::vector<double> level, value;
    std::vector<Vec> normal(elements_.points());
    elements_.for_each(step, [&](const Element& element) {
      element.read(shown_, value);
      level.clear();
      for (const Vec& at : element.places()) level.push_back(cutting.level(at));
      element.triangles(level, 0, value, normal,
                        [&](const Triangle& t) { draw_triangle(canvas, view, t, flat); });
    });
  }
  [[nodiscard]] int flat_axis() const override { return plane_.axis; }

 private:
  /// How far a point is beyond the plane. One that lies in the plane counts as beyond it; so of
  /// cells that meet there, those before the plane are cut.
  struct Cutting {
    Plane plane;
    double sign = 1, in_plane = 0;
    [[nodiscard]] double level(const Vec& at) const {
      const double beyond = plane.axis >= 0 ? at[plane.axis] - plane.origin[plane.axis]
                                            : dot(at - plane.origin, plane.normal);
      return std::abs(beyond) <= in_plane ? 0 : sign * beyond;
    }
  };
  /// Rounding is to hide nothing: neither where elements meet in the plane, nor at the mesh's own
  /// end, where there are cells on one side alone. [peers]
  [[nodiscard]] Cutting cutting_of(const stage::Step& step) const {
    Cutting out{plane_};
    std::array<double, 2> ends = {HUGE_VAL, HUGE_VAL};
    elements_.for_each(step, [&](const Element& element) {
      for (const Vec& at : element.places()) {
        ends[0] = std::min(ends[0], out.level(at));
        ends[1] = std::min(ends[1], -out.level(at));
      }
    });
    step.min(std::span<double>(ends));
    out.in_plane = 1e-9 * (-ends[1] - ends[0]);
    if (std::abs(ends[0]) <= out.in_plane) out.sign = -1;
    return out;
  }

  Plane plane_;
  Elements elements_;
  SpectralField shown_;
};

/// `origin` and `normal`, or `axis` and `at`.
Plane plane_of(const stage::Value& map, const pillion_field_description& field) {
  const auto normal = map.find("normal"), axis = map.find("axis"), at = map.find("at");
  const auto origin = map.find("origin");
  const bool is_uniform = field.mesh_kind == PILLION_UNIFORM;
  Plane out;
  for (int d = 0; is_uniform && d < field.axes; ++d)
    out.origin[d] = field.origin[d] + field.length[d] / 2;
  if (normal) {
    if (axis || at) normal.fail("give either `normal` and `origin`, or `axis` and `at`");
    if (!origin && !is_uniform) map.fail("the plane's `origin` is needed");
    out.normal = vec_of(normal);
    if (length(out.normal) == 0) normal.fail("expected a direction, which is not 0");
    if (origin) out.origin = vec_of(origin);
    return out;
  }
  if (origin) origin.fail("`origin` goes with `normal`; with `axis` give `at`");
  out.axis = axis ? stages::choice(axis, {"x", "y", "z"}) : 2;
  out.normal[out.axis] = 1;
  const bool is_flat = field.axes == 2;
  if (is_flat && (out.axis != 2 || at))
    map.fail("the mesh has two axes, and all of it is one plane: `axis` and `at` mean nothing");
  if (!at && !is_uniform && !is_flat) map.fail("where the plane is, `at`, is needed");
  if (!at) return out;
  out.origin[out.axis] = at.real();
  const double lo = field.origin[out.axis], hi = lo + field.length[out.axis];
  if (is_uniform && !(at.real() >= lo && at.real() <= hi))
    at.fail("the mesh reaches from " + std::to_string(lo) + " to " + std::to_string(hi) +
            " along this axis, and " + at.text() + " is outside");
  return out;
}

}  // namespace

std::unique_ptr<Layer> make_slice(const stage::Setup& setup, const stage::Value& map,
                                  Sources& sources) {
  auto known = Colouring::keys();
  known.insert({"field", "component", "axis", "at", "normal", "origin"});
  stages::only_keys(map, known);
  const FieldComponent of = quantity_of(setup, map, "field", "component");
  const auto kind = of.description.mesh_kind;
  if (draws_each_cell(of.description))
    return make_slice_of_cells(map, Colouring::by_quantity(map, of), plane_of(map, of.description),
                               sources);
  stages::expect_equal_cells(of.description, map.find("field"), "a picture of cells");
  if (kind != PILLION_SPECTRAL && (kind != PILLION_UNIFORM || of.description.axes < 2))
    map.find("field").fail("field '" + of.field + "' is on no mesh that can be sliced: one with " +
                           "two or three axes; `points` draws particles");
  const Colouring colours = Colouring::by_quantity(map, of);
  const Plane plane = plane_of(map, of.description);
  if (kind == PILLION_SPECTRAL && of.description.axes == 2)
    return make_sheet(colours, true, sources);
  if (kind == PILLION_SPECTRAL) return std::make_unique<SpectralSlice>(colours, plane, sources);
  return std::make_unique<UniformSlice>(colours, plane, sources);
}

}  // namespace pillion::stages::image
