// SPDX-License-Identifier: BSD-3-Clause
// Where a picture is taken from, and what is seen there: points and directions in space, where a
// point is seen, and which points a sample of the picture sees. Every pixel has samples x samples
// of them; depth is measured along the viewing direction, from the camera.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <pillion/stage.hpp>
#include <span>

namespace pillion::stages::image {

struct Vec {
  double x = 0, y = 0, z = 0;

  double& operator[](int axis) { return axis == 0 ? x : axis == 1 ? y : z; }
  double operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
};

inline Vec operator+(const Vec& a, const Vec& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec operator-(const Vec& a, const Vec& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec operator*(double s, const Vec& a) { return {s * a.x, s * a.y, s * a.z}; }
inline double dot(const Vec& a, const Vec& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec cross(const Vec& a, const Vec& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double length(const Vec& a) { return std::sqrt(dot(a, a)); }
/// Of length 1; zero stays zero.
inline Vec unit(const Vec& a) {
  const double l = length(a);
  return l > 0 ? 1 / l * a : a;
}
/// From a (t = 0) to b (t = 1).
inline Vec between(const Vec& a, const Vec& b, double t) { return a + t * (b - a); }

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

/// Of space; of nothing at first.
struct Box {
  Vec lo{nothing, nothing, nothing}, hi{-nothing, -nothing, -nothing};
  static constexpr double nothing = 1e300;

  /// That which holds the boxes of all peers. [peers]
  [[nodiscard]] Box of_all(const stage::Step& step) const {
    std::array<double, 6> ends = {lo.x, lo.y, lo.z, -hi.x, -hi.y, -hi.z};
    step.min(std::span<double>(ends));
    return {{ends[0], ends[1], ends[2]}, {-ends[3], -ends[4], -ends[5]}};
  }
  [[nodiscard]] bool empty() const { return !(lo.x <= hi.x && lo.y <= hi.y && lo.z <= hi.z); }
  [[nodiscard]] Vec centre() const { return 0.5 * (lo + hi); }
  [[nodiscard]] Vec corner(int number) const {
    return {(number & 1) != 0 ? hi.x : lo.x, (number & 2) != 0 ? hi.y : lo.y,
            (number & 4) != 0 ? hi.z : lo.z};
  }
};

struct CameraOptions {
  std::optional<Vec> position, focal_point, direction, up;
  std::optional<bool> parallel;
  std::optional<double> height;  ///< of what is seen, if parallel
  double angle = 30;             ///< degrees, from bottom to top
  double zoom = 1;

  /// Throws, saying where, if the map is not right.
  static CameraOptions read(const stage::Value& map);
  /// `flat` is the axis across which all of the picture lies, or -1.
  [[nodiscard]] Camera camera(const Box& box, const Frame& frame, int flat) const;
};

/// Three numbers.
Vec vec_of(const stage::Value& value);

}  // namespace pillion::stages::image
