// SPDX-License-Identifier: BSD-3-Clause
// Layers that are particles, drawn as spheres.
#include <algorithm>
#include <cmath>
#include <optional>

#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "layer.hpp"
#include "raster.hpp"

namespace pillion::stages::image {

namespace {

constexpr Colour colour_of_points = 0x1f77b4;

class Points final : public Layer {
 public:
  Points(const Colouring& colours, FieldComponent position, double radius, Sources& sources)
      : Layer(colours),
        position_(std::move(position)),
        radius_(radius),
        sources_(sources),
        places_(sources.want(position_.mesh, Arrangement::as_shared, position_.field)) {
    if (colours.by)
      shown_ = sources.want(position_.mesh, Arrangement::as_shared, colours.by->field);
  }

  void measure(const stage::Step& step, Extremes& extremes) const override {
    if (!shown_) return;
    for_each_block(step, [&](const stage::Block& block) {
      for (const double value : column(block, *shown_, colouring.by->component))
        extremes.add(value);
    });
  }
  void enclose(const stage::Step& step, Box& box) const override {
    const pillion_domain domain = step.domain(position_.mesh);
    for (int corner = 0; corner < 8; ++corner) {
      const int i = corner & 1, j = corner >> 1 & 1, k = corner >> 2;
      const Vec at = {
          (i != 0 ? domain.hi[0] : domain.lo[0]) + j * domain.tilt[0] + k * domain.tilt[1],
          (j != 0 ? domain.hi[1] : domain.lo[1]) + k * domain.tilt[2],
          k != 0 ? domain.hi[2] : domain.lo[2]};
      for (int d = 0; d < 3; ++d) {
        box.lo[d] = std::min(box.lo[d], at[d]);
        box.hi[d] = std::max(box.hi[d], at[d]);
      }
    }
  }
  void draw(const stage::Step& step, const View& view, const Paint& paint,
            Canvas& canvas) const override {
    for_each_block(step, [&](const stage::Block& block) {
      const auto x = column(block, places_, 0), y = column(block, places_, 1),
                 z = column(block, places_, 2);
      std::vector<double> shown(x.size());
      if (shown_) shown = column(block, *shown_, colouring.by->component);
      for (size_t i = 0; i < x.size(); ++i)
        draw_sphere(canvas, view, {x[i], y[i], z[i]}, radius_, shown[i], paint);
    });
  }

 private:
  template <class F>
  void for_each_block(const stage::Step& step, F&& use) const {
    const int32_t input = sources_.input(places_);
    for (int32_t b = 0; b < step.block_count(input); ++b) use(step.block(input, b));
  }
  static std::vector<double> column(const stage::Block& block, const Slot& slot,
                                    int32_t component) {
    std::vector<double> out(static_cast<size_t>(block.owned()));
    const auto array = block[slot.array];
    stages::read_values({&array, component}, {block.count(), 1, 1}, 0, out);
    return out;
  }

  FieldComponent position_;
  double radius_;
  const Sources& sources_;
  Slot places_;
  std::optional<Slot> shown_;
};

}  // namespace

std::unique_ptr<Layer> make_points(const stage::Setup& setup, const stage::Value& map,
                                   Sources& sources) {
  auto known = Colouring::keys();
  known.insert({"position", "radius", "colour", "colour_by", "colour_component"});
  stages::only_keys(map, known);
  const auto place = map.find("position"), radius = map.find("radius");
  if (!place) map.fail("the field of positions is needed: `position: NAME`");
  if (!radius) map.fail("the radius of spheres is needed: `radius: LENGTH`");
  FieldComponent position;
  position.field = place.text();
  position.description = setup.field(position.field, place);
  position.mesh = position.description.mesh;
  if (position.description.mesh_kind != PILLION_PARTICLES || position.description.components != 3)
    place.fail("field '" + position.field + "' is not of particles with three components");
  const double size = radius.real();
  if (!(size >= 0 && std::isfinite(size)))
    radius.fail("expected a length that is not below 0, not " + radius.text());
  if (!map.find("colour_by"))
    return std::make_unique<Points>(Colouring::plain(map, colour_of_points), position, size,
                                    sources);
  const FieldComponent shown = quantity_of(setup, map, "colour_by", "colour_component");
  if (const auto one = map.find("colour")) one.fail("give either `colour` or `colour_by`");
  if (shown.mesh != position.mesh)
    map.find("colour_by").fail("field '" + shown.field + "' is not of the same particles");
  return std::make_unique<Points>(Colouring::by_quantity(map, shown), position, size, sources);
}

}  // namespace pillion::stages::image
