// SPDX-License-Identifier: BSD-3-Clause
// Layers that are clouds: volumes that give off light and hold it back.
#include <algorithm>
#include <cmath>

#include "../common/options.hpp"
#include "layer.hpp"
#include "resample.hpp"
#include "spectral.hpp"
#include "uniform.hpp"
#include "volume.hpp"

namespace pillion::image {

namespace {

struct VolumeOptions {
  std::vector<double> opacity = {0, 0.1, 0.4, 0.9};
  double thickness = 0;  ///< 0: a tenth of the longest side
  int64_t resolution = 128;
};

double longest_side(const Lattice& lattice) {
  const Vec size = lattice.hi() - lattice.lo();
  return std::max({size.x, size.y, size.z});
}

Opacity opacity_in(const VolumeOptions& options, const Lattice& lattice) {
  return {options.opacity, options.thickness > 0 ? options.thickness : longest_side(lattice) / 10};
}

/// Two samples in the narrowest cell.
double sample_spacing(const Lattice& lattice) {
  const auto& [x, y, z] = lattice.axes;
  return std::min({x.spacing, y.spacing, z.spacing}) / 2;
}

class UniformVolume final : public Layer {
 public:
  UniformVolume(const Colouring& colours, VolumeOptions options, Sources& sources)
      : Layer(colours),
        of_(*colours.by),
        options_(std::move(options)),
        sources_(sources),
        slot_(sources.want_bricks(of_.description, of_.field)) {}

  void measure(const stage::Step& step, Extremes& extremes) const override {
    measure_cells(step, sources_.input(slot_), slot_, of_, extremes);
  }
  void enclose(const stage::Step&, Box& box) const override { enclose_mesh(of_.description, box); }
  void draw(const stage::Step&, const View&, const Paint&, Canvas&) const override {}
  void glow(const stage::Step& step, const View& view, const Paint& paint,
            const std::vector<double>& ends, std::vector<Piece>& pieces) const override {
    const Lattice lattice = lattice_of(of_.description, step.coarsening(of_.mesh));
    const Opacity opacity = opacity_in(options_, lattice);
    const int32_t input = sources_.input(slot_);
    for (int32_t b = 0; b < step.block_count(input); ++b) {
      const auto block = step.block(input, b);
      const Patch patch(block, lattice, of_.description.axes, 0);
      const auto values = patch.values(block[slot_.array], of_.component);
      gather_light(pieces, view, patch, values, paint, opacity, sample_spacing(lattice), ends);
    }
  }
  [[nodiscard]] bool is_volume() const override { return true; }

 private:
  Quantity of_;
  VolumeOptions options_;
  const Sources& sources_;
  Slot slot_;
};

/// Sampled on a uniform mesh, and drawn as that is.
class SpectralVolume final : public Layer {
 public:
  SpectralVolume(const Colouring& colours, VolumeOptions options, Sources& sources)
      : Layer(colours),
        options_(std::move(options)),
        elements_(sources),
        field_(elements_.want(*colours.by)) {}

  void measure(const stage::Step& step, Extremes& extremes) const override {
    elements_.measure(step, field_, extremes);
  }
  void enclose(const stage::Step& step, Box& box) const override { elements_.enclose(step, box); }
  void draw(const stage::Step&, const View&, const Paint&, Canvas&) const override {}
  void glow(const stage::Step& step, const View& view, const Paint& paint,
            const std::vector<double>& ends, std::vector<Piece>& pieces) const override {
    const Resampled mesh = resampled(step, elements_, field_, options_.resolution);
    const Opacity opacity = opacity_in(options_, mesh.lattice);
    for_each_brick(step, mesh, [&](const Patch& patch, const stage::Array& array) {
      gather_light(pieces, view, patch, patch.values(array, 0), paint, opacity,
                   sample_spacing(mesh.lattice), ends);
    });
  }
  [[nodiscard]] bool is_volume() const override { return true; }

 private:
  VolumeOptions options_;
  Elements elements_;
  SpectralField field_;
};

VolumeOptions options_of(const stage::Value& map, bool is_spectral) {
  VolumeOptions out;
  if (const auto ramp = map.find("opacity")) {
    out.opacity.clear();
    if (!ramp.is_list()) out.opacity.push_back(ramp.real());
    for (int64_t i = 0; ramp.is_list() && i < ramp.size(); ++i)
      out.opacity.push_back(ramp[i].real());
    if (out.opacity.empty()) ramp.fail("expected at least one opacity");
    for (const double opacity : out.opacity)
      if (!(opacity >= 0 && opacity <= 1)) ramp.fail("opacities are from 0 to 1");
  }
  if (const auto thickness = map.find("thickness")) {
    out.thickness = thickness.real();
    if (!(out.thickness > 0 && std::isfinite(out.thickness)))
      thickness.fail("expected a length above 0, not " + thickness.text());
  }
  if (const auto resolution = map.find("resolution")) {
    if (!is_spectral) resolution.fail("`resolution` is for spectral meshes; this one is uniform");
    out.resolution = stages::integer_from(resolution, 2);
    if (out.resolution > 256) resolution.fail("expected at most 256 samples along an axis");
  }
  return out;
}

}  // namespace

std::unique_ptr<Layer> make_volume(const stage::Setup& setup, const stage::Value& map,
                                   Sources& sources) {
  auto known = Colouring::keys();
  known.insert({"field", "component", "opacity", "thickness", "resolution"});
  stages::only_keys(map, known);
  const Quantity of = quantity_of(setup, map, "field", "component");
  const auto& field = of.description;
  const bool is_spectral = field.mesh_kind == PILLION_SPECTRAL;
  if (!is_spectral && (field.mesh_kind != PILLION_UNIFORM || field.axes != 3))
    map.find("field").fail("field '" + of.field + "' is on no mesh with three axes");
  const Colouring colours = Colouring::by_quantity(map, of);
  VolumeOptions options = options_of(map, is_spectral);
  if (is_spectral) return std::make_unique<SpectralVolume>(colours, std::move(options), sources);
  return std::make_unique<UniformVolume>(colours, std::move(options), sources);
}

}  // namespace pillion::image
