// SPDX-License-Identifier: BSD-3-Clause
// Layers that are surfaces on which a field has a value.
#include <algorithm>
#include <optional>

#include "../common/cells.hpp"
#include "../common/options.hpp"
#include "layer.hpp"
#include "spectral.hpp"
#include "surface.hpp"
#include "uniform.hpp"

namespace pillion::stages::image {

namespace {

constexpr Colour colour_of_surfaces = 0x6fa8dc;

class UniformSurface final : public Layer {
 public:
  UniformSurface(const Colouring& colours, FieldComponent of, std::vector<double> values,
                 Sources& sources)
      : Layer(colours),
        of_(std::move(of)),
        values_(std::move(values)),
        sources_(sources),
        level_(sources.want(of_.mesh, Arrangement::blocks, of_.field)) {
    if (colours.by) shown_ = sources.want(of_.mesh, Arrangement::blocks, colours.by->field);
  }

  void measure(const stage::Step& step, Extremes& extremes) const override {
    if (shown_) measure_cells(step, sources_.input(*shown_), *shown_, *colouring.by, extremes);
  }
  void enclose(const stage::Step&, Box& box) const override { enclose_mesh(of_.description, box); }
  void draw(const stage::Step& step, const View& view, const Paint& paint,
            Canvas& canvas) const override {
    const Lattice lattice = lattice_of(of_.description, step.coarsening(of_.mesh));
    const int32_t input = sources_.input(level_);
    for (int32_t b = 0; b < step.block_count(input); ++b) {
      const auto block = step.block(input, b);
      const Patch patch(block, lattice, of_.description.axes, 1);
      if (patch.empty()) continue;
      const auto level = patch.values(block[level_.array], of_.component);
      std::vector<double> shown;
      if (shown_) shown = patch.values(block[shown_->array], colouring.by->component);
      for (const double value : values_)
        surface(patch, level, shown_ ? shown : level, value,
                [&](const Triangle& t) { draw_triangle(canvas, view, t, paint); });
    }
  }

 private:
  template <class F>
  static void surface(const Patch& patch, const std::vector<double>& level,
                      const std::vector<double>& shown, double value, F&& use) {
    Index cell;
    for (cell[2] = patch.lo()[2]; cell[2] < patch.hi()[2]; ++cell[2])
      for (cell[1] = patch.lo()[1]; cell[1] < patch.hi()[1]; ++cell[1])
        for (cell[0] = patch.lo()[0]; cell[0] < patch.hi()[0]; ++cell[0]) {
          const double* first = level.data() + patch.at(cell);
          const uint32_t above = corners_above(value, [&](int c) {
            return first[(c & 1) + (c >> 1 & 1) * patch.stride(1) + (c >> 2) * patch.stride(2)];
          });
          if (is_cut(above)) triangulate(corners(patch, level, shown, cell), above, value, use);
        }
  }
  static std::array<Known, 8> corners(const Patch& patch, const std::vector<double>& level,
                                      const std::vector<double>& shown, const Index& cell) {
    std::array<Known, 8> out;
    for (int c = 0; c < 8; ++c) {
      const Index point = {cell[0] + (c & 1), cell[1] + (c >> 1 & 1), cell[2] + (c >> 2)};
      const size_t at = patch.at(point);
      out[static_cast<size_t>(c)] = {patch.lattice().place(point), level[at],
                                     patch.gradient(level, point), shown[at]};
    }
    return out;
  }

  FieldComponent of_;
  std::vector<double> values_;
  const Sources& sources_;
  Slot level_;
  std::optional<Slot> shown_;
};

class SpectralSurface final : public Layer {
 public:
  SpectralSurface(const Colouring& colours, const FieldComponent& of, std::vector<double> values,
                  Sources& sources)
      : Layer(colours), values_(std::move(values)), elements_(sources), level_(elements_.want(of)) {
    if (colours.by) shown_ = elements_.want(*colours.by);
  }

  void measure(const stage::Step& step, Extremes& extremes) const override {
    if (shown_) elements_.measure(step, *shown_, extremes);
  }
  void enclose(const stage::Step& step, Box& box) const override { elements_.enclose(step, box); }
  void draw(const stage::Step& step, const View& view, const Paint& paint,
            Canvas& canvas) const override {
    std::vector<double> level, shown;
    std::vector<Vec> normal;
    elements_.for_each(step, [&](const Element& element) {
      element.read(level_, level);
      const auto [least, most] = std::minmax_element(level.begin(), level.end());
      bool is_needed = false;
      for (const double value : values_) is_needed |= !(*least > value) && !(*most < value);
      if (!is_needed) return;
      if (shown_) element.read(*shown_, shown);
      element.gradient(level, normal);
      for (const double value : values_)
        element.triangles(level, value, shown_ ? shown : level, normal,
                          [&](const Triangle& t) { draw_triangle(canvas, view, t, paint); });
    });
  }

 private:
  std::vector<double> values_;
  Elements elements_;
  SpectralField level_;
  std::optional<SpectralField> shown_;
};

std::vector<double> values_of(const stage::Value& map) {
  const auto given = map.find("values");
  if (!given) map.fail("the value or values of the surface are needed: `values: 0.5`");
  std::vector<double> out;
  if (!given.is_list()) out.push_back(given.real());
  for (int64_t i = 0; given.is_list() && i < given.size(); ++i) out.push_back(given[i].real());
  if (out.empty()) given.fail("expected at least one value");
  for (const double value : out)
    if (!std::isfinite(value)) given.fail("expected finite values");
  return out;
}

Colouring colours_of(const stage::Setup& setup, const stage::Value& map, const FieldComponent& of,
                     const std::vector<double>& values) {
  if (const auto by = map.find("colour_by")) {
    if (const auto one = map.find("colour")) one.fail("give either `colour` or `colour_by`");
    const FieldComponent shown = quantity_of(setup, map, "colour_by", "colour_component");
    if (shown.mesh != of.mesh)
      by.fail("field '" + shown.field + "' is on mesh '" + shown.mesh + "', and '" + of.field +
              "' on '" + of.mesh + "'");
    return Colouring::by_quantity(map, shown);
  }
  if (map.find("colour") || values.size() == 1) return Colouring::plain(map, colour_of_surfaces);
  Colouring out = Colouring::by_quantity(map, of);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (!out.limits && out.logarithmic && *least <= 0)
    map.find("scale").fail("a logarithmic scale needs values above 0; one of `values` is not");
  if (!out.limits && *least < *most) out.limits = Range{*least, *most, out.logarithmic};
  return out;
}

}  // namespace

std::unique_ptr<Layer> make_isosurface(const stage::Setup& setup, const stage::Value& map,
                                       Sources& sources) {
  auto known = Colouring::keys();
  known.insert({"field", "component", "values", "colour", "colour_by", "colour_component"});
  stages::only_keys(map, known);
  const FieldComponent of = quantity_of(setup, map, "field", "component");
  const auto& field = of.description;
  if (stages::has_placed_points(field)) {
    const auto values = values_of(map);
    return make_isosurface_of_cells(map, colours_of(setup, map, of, values), of, values, sources);
  }
  stages::expect_equal_cells(field, map.find("field"), "a picture of cells");
  stages::expect_hexahedra(field, map.find("field"), "an iso-surface");
  const bool is_spectral = field.mesh_kind == PILLION_SPECTRAL;
  if (!is_spectral && (field.mesh_kind != PILLION_UNIFORM || field.axes != 3))
    map.find("field").fail("field '" + of.field + "' is on no mesh with three axes");
  if (is_spectral && field.centering != PILLION_POINT)
    map.find("field").fail("field '" + of.field + "' has one value in each element; surfaces " +
                           "need one at each point");
  const auto values = values_of(map);
  const Colouring colours = colours_of(setup, map, of, values);
  if (is_spectral) return std::make_unique<SpectralSurface>(colours, of, values, sources);
  return std::make_unique<UniformSurface>(colours, of, values, sources);
}

}  // namespace pillion::stages::image
