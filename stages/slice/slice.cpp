// SPDX-License-Identifier: BSD-3-Clause
// The stage `slice`: a picture in numbers. Values of a field in a plane of cells, or their means
// over a thick slice, as a table of pixels.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <vector>

#include "../common/coarse.hpp"
#include "../common/component.hpp"
#include "../common/elements.hpp"
#include "../common/options.hpp"
#include "plane.hpp"

namespace {

using namespace pillion;
using namespace pillion::stages;

/// Of finite values in each pixel, and how many cells had none.
struct Sums {
  std::vector<double> values;
  std::vector<int64_t> counts;
  int64_t not_finite = 0;

  explicit Sums(int64_t pixels)
      : values(static_cast<size_t>(pixels)), counts(static_cast<size_t>(pixels) + 1) {}

  void add(size_t pixel, double value) {
    if (!std::isfinite(value)) {
      ++not_finite;
      return;
    }
    values[pixel] += value;
    ++counts[pixel];
  }
  void combine(const stage::Step& step) {
    counts.back() = not_finite;
    step.sum(std::span(values));
    step.sum(std::span(counts));
    not_finite = counts.back();
    counts.pop_back();
  }
  /// NaN where there is no value.
  [[nodiscard]] std::vector<double> means() const {
    std::vector<double> out(values.size(), std::numeric_limits<double>::quiet_NaN());
    for (size_t p = 0; p < out.size(); ++p)
      if (counts[p] > 0) out[p] = values[p] / static_cast<double>(counts[p]);
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
        most_(integer_from(setup["pixels"], 1)),
        input_(setup.input(stage::Input::as_shared({name_}))) {
    const double length = field_.length[axis_];
    at_ = length / 2;
    thickness_ = 0;
    if (const auto at = setup["position"]) at_ = within(at, at.real() - field_.origin[axis_]);
    setup.product(table_name() + ".csv");
    if (const auto thickness = setup["thickness"])
      thickness_ = thickness.text() == "all" ? 2 * length : positive(thickness);
  }

  void run(stage::Step& step) override {
    const int64_t factor = step.coarsening(field_.mesh);
    const Plane plane = plane_of(factor);
    Sums sums(plane.size());
    for (int32_t b = 0; b < step.block_count(input_); ++b) add(step.block(input_, b), plane, sums);
    sums.combine(step);
    step.write(table_of(step, plane, sums));
  }

 private:
  /// Meshes with two axes have one plane.
  int32_t axis_of(const stage::Setup& setup) const {
    const auto place = setup["field"];
    if (field_.mesh_kind != PILLION_UNIFORM || field_.axes < 2)
      place.fail("field '" + name_ + "' is not on a mesh with two or three axes; `deposit` makes " +
                 "a field on a mesh of particles");
    const auto given = setup["axis"];
    const int32_t axis = given ? choice(given, {"x", "y", "z"}) : 2;
    if (field_.axes == 2 && axis != 2)
      given.fail("the mesh of field '" + name_ + "' has two axes, and all of it is one plane");
    return axis;
  }
  double within(const stage::Value& place, double at) const {
    if (!(at >= 0 && at <= field_.length[axis_]))
      place.fail("the mesh reaches from " + std::to_string(field_.origin[axis_]) + " to " +
                 std::to_string(field_.origin[axis_] + field_.length[axis_]) +
                 " along this axis, and " + place.text() + " is outside");
    return at;
  }
  static double positive(const stage::Value& place) {
    const double thickness = place.real();
    if (!(thickness > 0 && std::isfinite(thickness)))
      place.fail("expected a length above 0, or `all`, not " + place.text());
    return thickness;
  }

  /// Meshes with two axes are one cell thick.
  [[nodiscard]] Plane plane_of(int64_t factor) const {
    const std::array<int32_t, 2> along = {axis_ == 0 ? 1 : 0, axis_ == 2 ? 1 : 2};
    int64_t side = 1;
    for (const int32_t a : along)
      side = std::max(side, Pixels::side_for(field_.cells[a], factor, most_));
    const auto pixels = [&](int32_t a) {
      return Pixels(field_.cells[a], field_.origin[a], field_.length[a], factor, side);
    };
    Span planes{0, 1};
    if (field_.axes == 3)
      planes =
          coarse(planes_of(at_, thickness_, field_.length[axis_], field_.cells[axis_]), factor);
    return {axis_, planes, along, {pixels(along[0]), pixels(along[1])}};
  }

  void add(const stage::Block& block, const Plane& plane, Sums& sums) const {
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
        for (int64_t i = lo[0]; i < hi[0]; ++i)
          sums.add(plane.pixel_of({i, j, k}), row[static_cast<size_t>(i - lo[0])]);
      }
  }

  [[nodiscard]] std::string called() const {
    return name_ + ending_of(component_, field_.components);
  }
  [[nodiscard]] std::string table_name() const { return "slice_" + called() + "_" + "xyz"[axis_]; }
  [[nodiscard]] stage::Table table_of(const stage::Step& step, const Plane& plane,
                                      const Sums& sums) const {
    stage::Table out(table_name(), called() + " across " + "xyz"[axis_]);
    const auto units = step.units(field_.mesh);
    for (size_t d = 0; d < 2; ++d)
      out.column(std::string(1, "xyz"[plane.along[d]]), units, centres(plane, d));
    out.column("mean", step.units(name_), sums.means());
    if (field_.axes == 3) describe_planes(out, plane, step.coarsening(field_.mesh), units);
    if (sums.not_finite > 0) out.attribute("not_finite", static_cast<double>(sums.not_finite));
    const int64_t coarsening = one_of(step, field_.mesh, field_);
    if (coarsening > 1) out.attribute("coarsening", static_cast<double>(coarsening));
    out.per_step();
    return out;
  }
  void describe_planes(stage::Table& out, const Plane& plane, int64_t factor,
                       const std::string& units) const {
    const Pixels cells(field_.cells[axis_], field_.origin[axis_], field_.length[axis_], factor, 1);
    out.attribute("from", cells.lower(plane.planes.lo), units);
    out.attribute("to", cells.lower(plane.planes.hi), units);
  }
  /// Of each pixel, along one of the plane's axes.
  static std::vector<double> centres(const Plane& plane, size_t d) {
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
  int32_t input_;
  double at_ = 0, thickness_ = 0;  ///< from the mesh's lower end
};

const pillion_parameter parameters[] = {
    {"field", "field", nullptr, "Field on a uniform mesh"},
    {"axis", "x | y | z", "null", "Axis across the slice"},
    {"position", "length", "null", "Where along that axis; in its middle if left out"},
    {"thickness", "length | all", "null", "Take means over so much; one cell if left out"},
    {"component", "integer | magnitude", "null", "Component of a vector field, or its magnitude"},
    {"pixels", "integer", "256", "At most so many along each axis; cells are averaged to fit"},
};

}  // namespace

PILLION_STAGE(Slice, "slice", "A plane of a field, or the mean over a thick one", parameters)
