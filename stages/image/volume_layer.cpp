// SPDX-License-Identifier: BSD-3-Clause
// The layer `volume`: fields on spectral elements resampled to a lattice, and rays through it.

#include <algorithm>
#include <cmath>
#include <limits>
#include <pillion/stage.hpp>
#include <vector>

#include "../common/cells.hpp"
#include "../common/options.hpp"
#include "layer.hpp"
#include "patch.hpp"
#include "spectral.hpp"
#include "uniform.hpp"
#include "volume.hpp"

namespace pillion::stages::image {

// A field of spectral elements on a uniform mesh, for volumes: the value in each cell's centre, and
// not a number where no element is. A centre on a face of elements may get a value from each of
// them; the larger one counts, so that it does not matter who holds which.

struct Resampled {
  Lattice lattice;
  std::vector<double> values;  ///< first axis fastest

  [[nodiscard]] int64_t cells(int axis) const {
    return lattice.axes[static_cast<size_t>(axis)].cells;
  }
};

/// With `resolution` cells along the longest side; the same on every peer. [peers]
Resampled resampled(const stage::Step& step, const Elements& elements, const SpectralField& field,
                    int64_t resolution);

/// Calls use(const Patch&, const stage::Array&) for the bricks that are this peer's.
template <class F>
void for_each_brick(const stage::Step& step, const Resampled& mesh, F&& use) {
  constexpr int64_t side = 1 << Sources::brick_side;
  stage::Array array{};
  array.data = mesh.values.data();
  array.type = PILLION_FLOAT64;
  array.components = 1;
  for (int axis = 0, stride = 1; axis < 3; ++axis) {
    array.strides[axis] = stride;
    stride *= static_cast<int>(mesh.cells(axis));
  }
  int64_t number = 0;
  Index lo;
  for (lo[2] = 0; lo[2] < mesh.cells(2); lo[2] += side)
    for (lo[1] = 0; lo[1] < mesh.cells(1); lo[1] += side)
      for (lo[0] = 0; lo[0] < mesh.cells(0); lo[0] += side) {
        if (number++ % step.peers() != step.peer()) continue;
        pillion_block block{};
        for (int d = 0; d < 3; ++d) {
          block.allocated.hi[d] = mesh.cells(d);
          block.valid.lo[d] = lo[static_cast<size_t>(d)];
          block.valid.hi[d] = std::min(block.valid.lo[d] + side, block.allocated.hi[d]);
        }
        use(Patch(stage::Block(&block), mesh.lattice, 3, 0), array);
      }
}

// Finding which cell between an element's points a place is in, by Newton's iteration, and the
// value there.

namespace {

constexpr double absent = -std::numeric_limits<double>::max();
constexpr double tolerance = 1e-7;  // of a cell's side: places on faces are in both cells

/// Of eight numbers or places at corners, that at a place of the cell from 0 to 1.
template <class T>
T mixed(const std::array<T, 8>& at, const Vec& r) {
  T out = 0 * at[0];
  for (size_t c = 0; c < 8; ++c) {
    const double weight = ((c & 1) != 0 ? r.x : 1 - r.x) * ((c & 2) != 0 ? r.y : 1 - r.y) *
                          ((c & 4) != 0 ? r.z : 1 - r.z);
    out = out + weight * at[c];
  }
  return out;
}

/// How places change along an axis of the cell.
Vec edge(const std::array<Vec, 8>& at, Vec r, int axis) {
  Vec ahead = r;
  ahead[axis] = 1, r[axis] = 0;
  return mixed(at, ahead) - mixed(at, r);
}

/// Where in the cell a place is; false if it is not in it.
bool inverted(const std::array<Vec, 8>& corners, const Vec& place, Vec& r) {
  r = {0.5, 0.5, 0.5};
  for (int iteration = 0; iteration < 12; ++iteration) {
    const Vec off = place - mixed(corners, r);
    const Vec a = edge(corners, r, 0), b = edge(corners, r, 1), c = edge(corners, r, 2);
    const double volume = dot(a, cross(b, c));
    if (volume == 0) return false;
    const Vec move =
        1 / volume * Vec{dot(off, cross(b, c)), dot(off, cross(c, a)), dot(off, cross(a, b))};
    r = r + move;
    if (!(std::abs(r.x) < 4 && std::abs(r.y) < 4 && std::abs(r.z) < 4)) return false;
    if (length(move) < 1e-12) break;
  }
  for (int d = 0; d < 3; ++d)
    if (!(r[d] > -tolerance && r[d] < 1 + tolerance)) return false;
  return true;
}

Lattice lattice_in(const Box& box, int64_t resolution) {
  Lattice out;
  double longest = 0;
  for (int d = 0; d < 3; ++d) longest = std::max(longest, box.hi[d] - box.lo[d]);
  for (int d = 0; d < 3; ++d) {
    const double side = box.hi[d] - box.lo[d];
    const auto cells = std::max(
        int64_t{1},
        static_cast<int64_t>(std::ceil(side / longest * static_cast<double>(resolution) - 1e-9)));
    const double width = side / static_cast<double>(cells);
    out.axes[static_cast<size_t>(d)] = {box.lo[d], box.hi[d], box.lo[d] + width / 2, width, cells};
  }
  return out;
}

/// Sets the values of the centres that are in a cell.
void sample_cell(Resampled& mesh, const std::array<Vec, 8>& corners,
                 const std::array<double, 8>& values) {
  Index lo, hi;
  for (int d = 0; d < 3; ++d) {
    double least = corners[0][d], most = least;
    for (const Vec& corner : corners) {
      least = std::min(least, corner[d]);
      most = std::max(most, corner[d]);
    }
    const Axis& axis = mesh.lattice.axes[static_cast<size_t>(d)];
    const double slack = tolerance * axis.spacing + 1e-3 * (most - least);
    const auto at = [&](double x) { return (x - axis.first) / axis.spacing; };
    lo[d] = std::max(int64_t{0}, static_cast<int64_t>(std::ceil(at(least - slack))));
    hi[d] = std::min(axis.cells - 1, static_cast<int64_t>(std::floor(at(most + slack))));
  }
  Index i;
  for (i[2] = lo[2]; i[2] <= hi[2]; ++i[2])
    for (i[1] = lo[1]; i[1] <= hi[1]; ++i[1])
      for (i[0] = lo[0]; i[0] <= hi[0]; ++i[0]) {
        Vec r;
        if (!inverted(corners, mesh.lattice.place(i), r)) continue;
        const double value = mixed(values, r);
        double& to =
            mesh.values[static_cast<size_t>((i[2] * mesh.cells(1) + i[1]) * mesh.cells(0) + i[0])];
        if (std::isfinite(value)) to = std::max(to, value);
      }
}

}  // namespace

Resampled resampled(const stage::Step& step, const Elements& elements, const SpectralField& field,
                    int64_t resolution) {
  const Box box = elements.box(step);
  Resampled out{lattice_in(box, resolution), {}};
  out.values.assign(static_cast<size_t>(out.cells(0) * out.cells(1) * out.cells(2)), absent);
  std::vector<double> values;
  elements.for_each(step, [&](const Element& element) {
    element.read(field, values);
    for (size_t k = 0; k + 1 < element.n(); ++k)
      for (size_t j = 0; j + 1 < element.n(); ++j)
        for (size_t i = 0; i + 1 < element.n(); ++i) {
          std::array<Vec, 8> corners;
          std::array<double, 8> at{};
          const auto points = element.corners(i, j, k);
          for (size_t c = 0; c < 8; ++c) {
            corners[c] = element.places()[points[c]];
            at[c] = values[points[c]];
          }
          sample_cell(out, corners, at);
        }
  });
  step.max(std::span(out.values));
  for (double& value : out.values)
    if (value == absent) value = std::numeric_limits<double>::quiet_NaN();
  return out;
}

// Layers that are clouds: volumes that give off light and hold it back.

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
            const std::vector<double>& ends, std::vector<RaySegment>& pieces) const override {
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
  FieldComponent of_;
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
            const std::vector<double>& ends, std::vector<RaySegment>& pieces) const override {
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
    out.resolution = stages::integer_from(resolution, 2, 256);
  }
  return out;
}

}  // namespace

std::unique_ptr<Layer> make_volume(const stage::Setup& setup, const stage::Value& map,
                                   Sources& sources) {
  auto known = Colouring::keys();
  known.insert({"field", "component", "opacity", "thickness", "resolution"});
  stages::only_keys(map, known);
  const FieldComponent of = quantity_of(setup, map, "field", "component");
  const auto& field = of.description;
  stages::expect_equal_cells(field, map.find("field"), "a picture of cells");
  stages::expect_hexahedra(field, map.find("field"), "a volume");
  const bool is_spectral = field.mesh_kind == PILLION_SPECTRAL;
  if (!is_spectral && (field.mesh_kind != PILLION_UNIFORM || field.axes != 3))
    map.find("field").fail("field '" + of.field + "' is on no mesh with three axes");
  const Colouring colours = Colouring::by_quantity(map, of);
  VolumeOptions options = options_of(map, is_spectral);
  if (is_spectral) return std::make_unique<SpectralVolume>(colours, std::move(options), sources);
  return std::make_unique<UniformVolume>(colours, std::move(options), sources);
}

}  // namespace pillion::stages::image
