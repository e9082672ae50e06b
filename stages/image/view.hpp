// SPDX-License-Identifier: BSD-3-Clause
// The geometry of a picture: where a point of space is seen, and which points a sample of the
// picture sees. Every pixel has samples x samples of them; all of it works on samples. Depth is
// measured along the viewing direction, from the camera.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "vec.hpp"

namespace pillion::image {

/// All points origin + depth * direction.
struct Ray {
  Vec origin, direction;
  [[nodiscard]] Vec at(double depth) const { return origin + depth * direction; }
};

struct Camera {
  Vec position, focal_point, up;
  bool parallel = false;
  double half_height = 1;  ///< parallel: in units of length; else tangent of half the angle
};

/// Pixels of a picture, and the part of it that the camera is centred on.
struct Frame {
  int32_t width = 0, height = 0;
  int32_t left = 0, top = 0, right = 0, bottom = 0;  ///< the part, [left, right) x [top, bottom)
  int32_t samples = 1;                               ///< of a pixel along each axis

  [[nodiscard]] int32_t columns() const { return width * samples; }
  [[nodiscard]] int32_t rows() const { return height * samples; }
  [[nodiscard]] double aspect() const {
    return static_cast<double>(right - left) / static_cast<double>(bottom - top);
  }
};

class View {
 public:
  View(const Camera& camera, const Frame& frame) : camera_(camera), frame_(frame) {
    ahead_ = unit(camera.focal_point - camera.position);
    right_ = unit(cross(ahead_, camera.up));
    up_ = cross(right_, ahead_);
    per_unit_ = (frame.bottom - frame.top) * frame.samples / (2 * camera.half_height);
    centre_x_ = (frame.left + frame.right) * frame.samples / 2.0;
    centre_y_ = (frame.top + frame.bottom) * frame.samples / 2.0;
  }

  [[nodiscard]] const Frame& frame() const { return frame_; }
  [[nodiscard]] const Vec& ahead() const { return ahead_; }
  [[nodiscard]] bool parallel() const { return camera_.parallel; }
  /// The smallest depth that is seen.
  [[nodiscard]] double nearest() const {
    return camera_.parallel ? -1e300 : 1e-3 * length(camera_.focal_point - camera_.position);
  }

  /// Where a point is seen, in samples from the upper left corner, and its depth, as z.
  [[nodiscard]] Vec seen(const Vec& point) const {
    const Vec from = point - camera_.position;
    const double depth = dot(from, ahead_);
    const double scale = camera_.parallel ? per_unit_ : per_unit_ / depth;
    return {centre_x_ + scale * dot(from, right_), centre_y_ - scale * dot(from, up_), depth};
  }
  [[nodiscard]] double depth(const Vec& point) const {
    return dot(point - camera_.position, ahead_);
  }
  /// Samples that a unit of length takes up at a depth.
  [[nodiscard]] double magnification(double depth) const {
    return camera_.parallel ? per_unit_ : per_unit_ / depth;
  }

  /// What is seen at a place of the picture; sample (i, j) is at (i + 0.5, j + 0.5).
  [[nodiscard]] Ray ray(double x, double y) const {
    const Vec aside = (x - centre_x_) / per_unit_ * right_ + (centre_y_ - y) / per_unit_ * up_;
    if (camera_.parallel) return {camera_.position + aside, ahead_};
    return {camera_.position, ahead_ + aside};
  }

 private:
  Camera camera_;
  Frame frame_;
  Vec ahead_, right_, up_;
  double per_unit_, centre_x_, centre_y_;
};

/// A rectangle of samples, [x0, x1) x [y0, y1).
struct Rectangle {
  int32_t x0, y0, x1, y1;
  [[nodiscard]] bool empty() const { return x0 >= x1 || y0 >= y1; }
};

/// Where a box may be seen: all of the picture if it reaches behind the camera.
inline Rectangle rectangle_of(const View& view, const Vec& lo, const Vec& hi) {
  const Rectangle all{0, 0, view.frame().columns(), view.frame().rows()};
  double x0 = all.x1, y0 = all.y1, x1 = 0, y1 = 0;
  for (int corner = 0; corner < 8; ++corner) {
    const Vec at = {(corner & 1) != 0 ? hi.x : lo.x, (corner & 2) != 0 ? hi.y : lo.y,
                    (corner & 4) != 0 ? hi.z : lo.z};
    if (!(view.depth(at) > view.nearest())) return all;
    const Vec seen = view.seen(at);
    x0 = std::min(x0, seen.x), x1 = std::max(x1, seen.x);
    y0 = std::min(y0, seen.y), y1 = std::max(y1, seen.y);
  }
  const auto whole = [](double value, int32_t most) {
    return static_cast<int32_t>(std::clamp(std::floor(value), 0.0, static_cast<double>(most)));
  };
  return {whole(x0 - 1, all.x1), whole(y0 - 1, all.y1), whole(x1 + 2, all.x1),
          whole(y1 + 2, all.y1)};
}

}  // namespace pillion::image
