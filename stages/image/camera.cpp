// SPDX-License-Identifier: BSD-3-Clause
// Reading where the camera stands, and placing it where that is left open.
#include "camera.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "../common/options.hpp"

namespace pillion::stages::image {

namespace {

constexpr double margin = 1.04;  // around what is seen

double above_zero(const stage::Value& value) {
  const double number = value.real();
  if (!(number > 0 && std::isfinite(number)))
    value.fail("expected a number above 0, not " + value.text());
  return number;
}

void expect_direction(const stage::Value& place, const Vec& direction) {
  if (length(direction) == 0) place.fail("expected a direction, which is not 0");
}

/// Looking across an axis, x or y is to the right; else from the front, the right and above.
Vec usual_direction(int flat) {
  if (flat == 0) return {1, 0, 0};
  if (flat == 1) return {0, -1, 0};
  if (flat == 2) return {0, 0, 1};
  return {0.62, -1, 0.55};
}

/// The third axis is upwards unless it is looked along.
Vec usual_up(const Vec& direction) {
  const Vec d = unit(direction);
  return std::abs(d.z) > 0.999 ? Vec{0, 1, 0} : Vec{0, 0, 1};
}

/// From where all corners of a box are seen.
double distance_for(const Box& box, const Camera& camera, double aspect) {
  const Vec ahead = unit(camera.focal_point - camera.position);
  const Vec right = unit(cross(ahead, camera.up)), up = cross(right, ahead);
  double distance = 0;
  for (int c = 0; c < 8; ++c) {
    const Vec at = box.corner(c) - camera.focal_point;
    const double high = std::abs(dot(at, up)), wide = std::abs(dot(at, right)) / aspect;
    const double needed = margin * std::max(high, wide) / camera.half_height;
    distance = std::max(distance, needed - dot(at, ahead));
  }
  return distance;
}

/// Of what is seen of a box in parallel projection.
double half_height_for(const Box& box, const Camera& camera, double aspect) {
  const Vec ahead = unit(camera.focal_point - camera.position);
  const Vec right = unit(cross(ahead, camera.up)), up = cross(right, ahead);
  double half = 0;
  for (int c = 0; c < 8; ++c) {
    const Vec at = box.corner(c) - camera.focal_point;
    half = std::max({half, std::abs(dot(at, up)), std::abs(dot(at, right)) / aspect});
  }
  return margin * half;
}

}  // namespace

Vec vec_of(const stage::Value& value) {
  if (!value.is_list() || value.size() != 3)
    value.fail("expected three numbers, such as [0, 0, 1]");
  const Vec out = {value[0].real(), value[1].real(), value[2].real()};
  if (!std::isfinite(out.x) || !std::isfinite(out.y) || !std::isfinite(out.z))
    value.fail("expected finite numbers");
  return out;
}

CameraOptions CameraOptions::read(const stage::Value& map) {
  CameraOptions out;
  if (!map) return out;
  if (!map.is_map()) map.fail("expected a map, such as {direction: [1, -1, 1], zoom: 1.2}");
  stages::only_keys(
      map, {"position", "focal_point", "direction", "up", "parallel", "height", "angle", "zoom"});
  const auto vec = [&](const char* key, std::optional<Vec>& to) {
    if (const auto value = map.find(key)) to = vec_of(value);
  };
  vec("position", out.position), vec("focal_point", out.focal_point);
  vec("direction", out.direction), vec("up", out.up);
  if (const auto value = map.find("parallel")) out.parallel = value.boolean();
  if (const auto value = map.find("height")) out.height = above_zero(value);
  if (const auto value = map.find("angle")) out.angle = above_zero(value);
  if (const auto value = map.find("zoom")) out.zoom = above_zero(value);
  if (out.angle >= 180) map.find("angle").fail("expected an angle below 180 degrees");
  if (out.height && !out.parallel.value_or(false))
    map.find("height").fail("`height` goes with `parallel: true`; else give `angle` or `zoom`");
  if (out.position && out.direction)
    map.find("direction").fail("give either `position` or `direction`");
  if (out.position && out.focal_point && length(*out.position - *out.focal_point) == 0)
    map.find("position").fail("the camera stands at the very point that it looks at");
  if (out.direction) expect_direction(map.find("direction"), *out.direction);
  if (out.up) expect_direction(map.find("up"), *out.up);
  if (out.direction && out.up && length(cross(unit(*out.direction), unit(*out.up))) < 1e-6)
    map.find("up").fail("`up` is along the direction that the camera looks in");
  return out;
}

Camera CameraOptions::camera(const Box& box, const Frame& frame, int flat) const {
  Camera out;
  out.focal_point = focal_point.value_or(box.centre());
  Vec from = direction.value_or(usual_direction(flat));
  if (position) from = *position - out.focal_point;
  if (length(from) == 0)
    throw Error(ErrorCode::Stage, "the camera stands at the very point that it looks at");
  out.up = up.value_or(usual_up(from));
  if (length(cross(unit(from), unit(out.up))) < 1e-6) out.up = usual_up(from);
  out.parallel = parallel.value_or(flat >= 0 && !position);
  out.position = out.focal_point + unit(from);
  const double aspect = frame.aspect();
  if (out.parallel) {
    const double half = height ? *height / 2 : half_height_for(box, out, aspect);
    out.half_height = (half > 0 ? half : 1) / zoom;
    out.position = position.value_or(out.focal_point + length(box.hi - box.lo) * unit(from));
    return out;
  }
  out.half_height = std::tan(angle * std::numbers::pi / 360);
  const double distance = distance_for(box, out, aspect);
  out.position = position.value_or(out.focal_point + (distance > 0 ? distance : 1) * unit(from));
  out.half_height /= zoom;
  return out;
}

}  // namespace pillion::stages::image
