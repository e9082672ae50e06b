// SPDX-License-Identifier: BSD-3-Clause
// The stage `image`: a picture of a step, drawn by all peers together and written by the first.

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <pillion/stage.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../common/options.hpp"
#include "camera.hpp"
#include "cinema.hpp"
#include "compose.hpp"
#include "layer.hpp"
#include "picture.hpp"
#include "raster.hpp"

namespace pillion::stages::image {

// The edges of a box.

inline void draw_outline(Canvas& canvas, const View& view, const Box& box, Colour colour) {
  const double width = 1.2 * view.frame().samples;
  for (int a = 0; a < 8; ++a)
    for (const int bit : {1, 2, 4})
      if ((a & bit) == 0)
        draw_line(canvas, view, box.corner(a), box.corner(a | bit), width, colour);
}

// Which layer an entry of `draw` is.

std::unique_ptr<Layer> make_layer(const stage::Setup& setup, const stage::Value& entry,
                                  Sources& sources) {
  if (!entry.is_map() || entry.size() != 1)
    entry.fail(
        "expected one of `slice: {…}`, `surface: {…}`, `isosurface: {…}`, `volume: {…}` and "
        "`points: {…}`");
  const std::string kind = entry.key(0);
  const stage::Value map = entry[0];
  const bool is_known = kind == "slice" || kind == "surface" || kind == "isosurface" ||
                        kind == "volume" || kind == "points";
  if (!is_known)
    entry.fail("cannot draw '" + kind + "'; known: slice, surface, isosurface, volume, points");
  if (!map.is_map()) entry.fail("expected a map behind `" + kind + ":`");
  if (kind == "slice") return make_slice(setup, map, sources);
  if (kind == "surface") return make_surface(setup, map, sources);
  if (kind == "isosurface") return make_isosurface(setup, map, sources);
  if (kind == "volume") return make_volume(setup, map, sources);
  return make_points(setup, map, sources);
}

namespace {

Colour colour_of(const stage::Value& value) {
  Colour out = 0;
  if (!parse_colour(value.text(), out))
    value.fail("expected a colour such as white or '#102030', not '" + value.text() + "'");
  return out;
}

/// Black on light grounds, and white on dark ones.
Colour ink_on(Colour ground) {
  const auto c = parts(ground);
  return 0.3 * c[0] + 0.6 * c[1] + 0.1 * c[2] > 128 ? 0x202020 : 0xf0f0f0;
}

/// The shortest text with the needed digits.
std::string written(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// A text with {NAME} replaced by the value of a scalar, or by "time" or "step". Other braces stay.
std::string with_values(std::string text, const stage::Step& step) {
  std::map<std::string, std::string> values{{"step", std::to_string(step.index())},
                                            {"time", written(step.time())}};
  for (const auto& name : step.scalars()) values[name] = written(step.scalar(name));
  for (size_t at = 0; (at = text.find('{', at)) != std::string::npos;) {
    const size_t end = text.find('}', at);
    const auto found =
        end == std::string::npos ? values.end() : values.find(text.substr(at + 1, end - at - 1));
    if (found == values.end()) {
      ++at;
      continue;
    }
    text.replace(at, end + 1 - at, found->second);
    at += found->second.size();
  }
  return text;
}

class Image final : public stage::Stage {
 public:
  explicit Image(stage::Setup& setup)
      : name_(setup["name"].text()),
        camera_(CameraOptions::read(setup["camera"])),
        views_(Views::read(setup["cinema"], setup["camera"])),
        background_(colour_of(setup["background"])),
        outline_(setup["outline"].boolean()),
        labels_(setup["labels"].boolean()),
        samples_(size_from(setup["samples"], 1, 4)) {
    read_size(setup["size"]);
    if (name_.empty() || name_.find_first_of("/ .") != std::string::npos)
      setup["name"].fail("expected a word without dots and slashes, to name files by");
    const auto draw = setup["draw"];
    if (!draw.is_list() || draw.size() == 0)
      draw.fail("expected a list of what to draw, such as [slice: {field: density}]");
    for (int64_t i = 0; i < draw.size(); ++i) {
      layers_.push_back(make_layer(setup, draw[i], sources_));
      volumes_ += layers_.back()->is_volume() ? 1 : 0;
      if (volumes_ > 1) draw[i].fail("a picture can have one volume");
    }
    setup.product(name_ + (views_ ? ".cdb" : ".png"));
    setup.survives_failures();
    title_ = setup["title"] ? setup["title"].text() : layers_.front()->colouring.label;
    sources_.request(setup);
    // Measured: a canvas of samples, more of them for a volume, whose bricks are drawn one by one.
    const int64_t samples = int64_t{width_} * height_ * samples_ * samples_;
    setup.memory(volumes_ > 0 ? 5 : 1, samples * (volumes_ > 0 ? 32 : 13));
  }

  void run(stage::Step& step) override {
    if (!box_) box_ = whole_box(step);
    std::vector<Paint> paints;
    for (const auto& layer : layers_) paints.push_back(paint_of(step, *layer));
    if (!views_) {
      const auto file = png_of(step, picture(step, paints, camera_));
      step.write_file(name_ + ".png", name_, file, true);
      return;
    }
    for (const ViewPoint& view : views_->points())
      views_->add(step, name_, view, png_of(step, picture(step, paints, view.camera(camera_))));
    views_->end_step(step, name_);
  }

  void finish(stage::Step& step) override {
    if (views_) views_->finish(step, name_);
  }

  void save(stage::State& state) const override {
    const Box box = box_.value_or(Box{});
    state.save("box", std::vector<Box>{box});
    if (views_) views_->save(state);
    else state.save("rows", std::vector<char>());
  }
  void restore(stage::State& state) override {
    const Box box = state.load<Box>("box").at(0);
    if (!box.empty()) box_ = box;
    if (views_) views_->restore(state);
  }

 private:
  static int32_t size_from(const stage::Value& value, int64_t least, int64_t most) {
    return static_cast<int32_t>(stages::integer_from(value, least, most));
  }
  void read_size(const stage::Value& value) {
    if (!value.is_list() || value.size() != 2)
      value.fail("expected width and height in pixels, such as [1024, 768]");
    width_ = size_from(value[0], 16, 8192);
    height_ = size_from(value[1], 16, 8192);
    if (int64_t{width_} * height_ * samples_ * samples_ > int64_t{1} << 26)
      value.fail("a picture may have 67 million samples; make it smaller, or `samples` fewer");
  }

  /// Settled at the first publication, so that the camera stands still.
  [[nodiscard]] Box whole_box(const stage::Step& step) const {
    Box own;
    for (const auto& layer : layers_) layer->enclose(step, own);
    const Box box = own.of_all(step);
    if (box.empty()) throw Error(ErrorCode::Stage, "there is nothing to take a picture of");
    return box;
  }

  [[nodiscard]] static Paint paint_of(const stage::Step& step, const Layer& layer) {
    Extremes extremes;
    if (layer.colouring.is_measured()) {
      layer.measure(step, extremes);
      std::array<double, 3> ends = {extremes.least, -extremes.most, extremes.least_positive};
      step.min(std::span<double>(ends));
      extremes = {ends[0], -ends[1], ends[2]};
    }
    return layer.colouring.paint(extremes);
  }

  /// The axis across which all layers lie, or -1.
  [[nodiscard]] int flat_axis() const {
    const int axis = layers_.front()->flat_axis();
    const bool same = std::all_of(layers_.begin(), layers_.end(),
                                  [&](const auto& l) { return l->flat_axis() == axis; });
    return same ? axis : -1;
  }
  [[nodiscard]] Frame frame() const {
    const bool has_bars = std::any_of(layers_.begin(), layers_.end(),
                                      [](const auto& l) { return l->colouring.by.has_value(); });
    Margins margins;
    if (labels_) margins = margins_for(width_, height_, true, has_bars);
    return {width_, height_, 0, margins.top, width_ - margins.right, height_, samples_};
  }

  /// Whole at the first peer. [peers]
  [[nodiscard]] Picture picture(const stage::Step& step, const std::vector<Paint>& paints,
                                const CameraOptions& camera) const {
    const Frame frame = this->frame();
    const View view(camera.camera(*box_, frame, flat_axis()), frame);
    Canvas canvas(frame.columns(), frame.rows());
    for (size_t l = 0; l < layers_.size(); ++l) layers_[l]->draw(step, view, paints[l], canvas);
    if (outline_ && step.peer() == 0) draw_outline(canvas, view, *box_, ink_on(background_));
    keep_foremost(step, frame, canvas);
    const auto pieces = light(step, view, paints, canvas);
    Picture out{width_, height_,
                stages::gather_values(step, pixels(step, frame, canvas, pieces, background_))};
    if (labels_ && step.peer() == 0) label(out, step, paints);
    return out;
  }
  [[nodiscard]] std::vector<RaySegment> light(const stage::Step& step, const View& view,
                                              const std::vector<Paint>& paints,
                                              const Canvas& canvas) const {
    std::vector<RaySegment> pieces;
    if (volumes_ == 0) return pieces;
    const auto ends = ray_ends(step, view.frame(), canvas);
    for (size_t l = 0; l < layers_.size(); ++l)
      layers_[l]->glow(step, view, paints[l], ends, pieces);
    return sorted_pieces(step, view.frame(), pieces);
  }
  void label(Picture& to, const stage::Step& step, const std::vector<Paint>& paints) const {
    const Colour ink = ink_on(background_);
    const std::string units = step.units("time");
    write_title(to, with_values(title_, step),
                "step " + std::to_string(step.index()) + ", time " + written(step.time()) +
                    (units.empty() ? "" : " " + units),
                ink);
    std::vector<Bar> bars;
    for (size_t l = 0; l < layers_.size(); ++l) {
      const Bar bar{with_values(layers_[l]->colouring.label, step), paints[l]};
      const bool is_new = std::find(bars.begin(), bars.end(), bar) == bars.end();
      if (layers_[l]->colouring.by && is_new) bars.push_back(bar);
    }
    draw_bars(to, bars, ink);
  }

  [[nodiscard]] std::vector<std::byte> png_of(const stage::Step& step,
                                              const Picture& picture) const {
    if (step.peer() != 0) return {};
    const std::string title = with_values(title_, step);
    return png(picture, {{"Title", title}, {"Comment", step.origin(name_ + ".png", title)}});
  }

  std::string name_, title_;
  CameraOptions camera_;
  std::optional<Views> views_;
  Colour background_;
  bool outline_, labels_;
  int32_t samples_, width_ = 0, height_ = 0;
  int volumes_ = 0;
  Sources sources_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::optional<Box> box_;
};

const pillion_parameter parameters[] = {
    {"draw", "list of layers", nullptr,
     "What to draw: slice, surface, isosurface, volume, points; each a map of its own keys"},
    {"name", "word", "image", "Names the files: NAME.STEP.png"},
    {"size", "[width, height]", "[1024, 768]", "In pixels"},
    {"camera", "map", "null",
     "position or direction, focal_point, up, angle, zoom; parallel, height; what is left out is "
     "chosen so that everything is seen"},
    {"background", "colour", "white", "What is not drawn on"},
    {"outline", "true | false", "true", "Draw the edges of the mesh"},
    {"labels", "true | false", "true", "Write a title with step and time, and draw colour bars"},
    {"title", "text", "null",
     "The title, with {NAME} for a scalar; by default what the first layer shows"},
    {"samples", "integer", "2", "Of a pixel along each axis, to smooth edges; 1 to 4"},
    {"cinema", "map", "null",
     "Pictures from many sides as a Cinema database: {phi: angles or their number, theta: angles}"},
};

}  // namespace
}  // namespace pillion::stages::image

PILLION_STAGE(pillion::stages::image::Image, "image",
              "Pictures of slices, surfaces, volumes and particles",
              pillion::stages::image::parameters)
