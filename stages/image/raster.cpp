// SPDX-License-Identifier: BSD-3-Clause
// Rasterising. A triangle's values at a sample depend on its own corners alone.
#include "raster.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace pillion::stages::image {

namespace {

constexpr int64_t grid = 1024;        // steps of the fine grid in a sample
constexpr double farthest = 1 << 18;  // samples from the upper left corner, at which is cut off

/// A corner as it is seen; x and y in steps of the grid.
struct Seen {
  int64_t x, y;
  double depth;
};

Seen seen_at(const View& view, const Vec& position) {
  const Vec at = view.seen(position);
  const auto step = [](double v) {
    return std::llround(std::clamp(v, -farthest, farthest) * static_cast<double>(grid));
  };
  return {step(at.x), step(at.y), at.z};
}

/// Twice the area of (a, b, p): positive if p is on the inner side of the edge from a to b.
int64_t edge(const Seen& a, const Seen& b, int64_t x, int64_t y) {
  return (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
}

/// Samples on an edge belong to the triangle whose left or upper edge it is.
bool takes_edge(const Seen& a, const Seen& b) { return a.y > b.y || (a.y == b.y && a.x < b.x); }

Rectangle clipped(const Canvas& canvas, double x0, double y0, double x1, double y1) {
  const auto whole = [](double v, int32_t lo, int32_t hi) {
    return static_cast<int32_t>(
        std::clamp(v, static_cast<double>(lo), static_cast<double>(std::max(lo, hi))));
  };
  return {whole(std::floor(x0), 0, canvas.columns()), whole(std::floor(y0), 0, canvas.rows()),
          whole(std::floor(x1) + 1, 0, canvas.columns()),
          whole(std::floor(y1) + 1, 0, canvas.rows())};
}

/// Weights of the corners, corrected for perspective.
std::array<double, 3> weights_of(const View& view, const std::array<Seen, 3>& seen,
                                 const std::array<int64_t, 3>& areas) {
  std::array<double, 3> weights{};
  double sum = 0;
  for (size_t c = 0; c < 3; ++c) {
    weights[c] = static_cast<double>(areas[c]);
    if (!view.parallel()) weights[c] /= seen[c].depth;
    sum += weights[c];
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

void fill(Canvas& canvas, const View& view, std::array<Seen, 3> seen, Triangle triangle,
          const Paint& paint) {
  const int64_t area = edge(seen[0], seen[1], seen[2].x, seen[2].y);
  if (area == 0) return;
  if (area < 0) {
    std::swap(seen[1], seen[2]);
    std::swap(triangle[1], triangle[2]);
  }
  const auto [x0, x1] = std::minmax({seen[0].x, seen[1].x, seen[2].x});
  const auto [y0, y1] = std::minmax({seen[0].y, seen[1].y, seen[2].y});
  const double fine = grid;
  const Rectangle box =
      clipped(canvas, static_cast<double>(x0) / fine, static_cast<double>(y0) / fine,
              static_cast<double>(x1) / fine, static_cast<double>(y1) / fine);
  std::array<bool, 3> takes{};
  for (size_t c = 0; c < 3; ++c) takes[c] = takes_edge(seen[(c + 1) % 3], seen[(c + 2) % 3]);
  for (int32_t y = box.y0; y < box.y1; ++y)
    for (int32_t x = box.x0; x < box.x1; ++x) {
      const int64_t px = x * grid + grid / 2, py = y * grid + grid / 2;
      std::array<int64_t, 3> areas{};
      bool inside = true;
      for (size_t c = 0; c < 3; ++c) {
        areas[c] = edge(seen[(c + 1) % 3], seen[(c + 2) % 3], px, py);
        inside = inside && (areas[c] > 0 || (areas[c] == 0 && takes[c]));
      }
      if (!inside) continue;
      const auto w = weights_of(view, seen, areas);
      const auto mixed = [&](auto&& of) { return w[0] * of(0) + w[1] * of(1) + w[2] * of(2); };
      Vec normal;
      for (int d = 0; d < 3; ++d)
        normal[d] = mixed([&](size_t c) { return triangle[c].normal[d]; });
      const double value = mixed([&](size_t c) { return triangle[c].value; });
      const double depth = mixed([&](size_t c) { return seen[c].depth; });
      canvas.put(x, y, depth, paint.lit(value, normal, view.ray(x + 0.5, y + 0.5).direction));
    }
}

/// The part of a convex polygon for whose positions a linear function is not below 0.
template <class F>
std::vector<Corner> cut_off(const std::vector<Corner>& polygon, F&& inside) {
  std::vector<Corner> out;
  for (size_t c = 0; c < polygon.size(); ++c) {
    const Corner &a = polygon[c], &b = polygon[(c + 1) % polygon.size()];
    const double da = inside(a.position), db = inside(b.position);
    if (da >= 0) out.push_back(a);
    if ((da >= 0) == (db >= 0)) continue;
    const double t = da / (da - db);
    out.push_back({between(a.position, b.position, t), between(a.normal, b.normal, t),
                   a.value + t * (b.value - a.value)});
  }
  return out;
}

/// Whether a point is beyond the nearest depth that is seen, and not too far aside for the grid.
bool is_near_picture(const View& view, const Vec& position) {
  if (!(view.depth(position) >= view.nearest())) return false;
  const Vec at = view.seen(position);
  return std::abs(at.x) <= farthest && std::abs(at.y) <= farthest;
}

/// The part of a triangle that is, as a convex polygon.
std::vector<Corner> near_picture(const View& view, const Triangle& triangle) {
  std::vector<Corner> out(triangle.begin(), triangle.end());
  out = cut_off(out, [&](const Vec& p) { return view.depth(p) - view.nearest(); });
  for (const int axis : {0, 1})
    for (const double sign : {1.0, -1.0})
      out = cut_off(out, [&](const Vec& p) {
        // Times the depth, so that it is linear.
        const Vec at = view.seen(p);
        return (farthest + sign * at[axis]) * (view.parallel() ? 1 : at.z);
      });
  return out;
}

}  // namespace

void draw_triangle(Canvas& canvas, const View& view, const Triangle& triangle, const Paint& paint) {
  const auto draw = [&](const Triangle& part) {
    fill(canvas, view,
         {seen_at(view, part[0].position), seen_at(view, part[1].position),
          seen_at(view, part[2].position)},
         part, paint);
  };
  if (std::all_of(triangle.begin(), triangle.end(),
                  [&](const Corner& c) { return is_near_picture(view, c.position); }))
    return draw(triangle);
  const auto polygon = near_picture(view, triangle);
  for (size_t c = 2; c < polygon.size(); ++c) draw({polygon[0], polygon[c - 1], polygon[c]});
}

void draw_line(Canvas& canvas, const View& view, const Vec& from, const Vec& to, double width,
               Colour colour) {
  Vec ends[2] = {from, to};
  const double nearest = view.nearest();
  const double before[2] = {view.depth(from) - nearest, view.depth(to) - nearest};
  if (before[0] < 0 && before[1] < 0) return;
  for (int e = 0; e < 2; ++e)
    if (before[e] < 0) ends[e] = between(from, to, before[0] / (before[0] - before[1]));
  const Vec a = view.seen(ends[0]), b = view.seen(ends[1]);
  const double dx = b.x - a.x, dy = b.y - a.y, half = width / 2;
  const double squared = std::max(dx * dx + dy * dy, 1e-12);
  const Rectangle box = clipped(canvas, std::min(a.x, b.x) - half, std::min(a.y, b.y) - half,
                                std::max(a.x, b.x) + half, std::max(a.y, b.y) + half);
  for (int32_t y = box.y0; y < box.y1; ++y) {
    // Of a row, only what is near the line.
    const double reach = std::abs(dy) > 1e-6 ? half * std::sqrt(squared) / std::abs(dy) : 1e9;
    const double at = std::abs(dy) > 1e-6 ? a.x + (y + 0.5 - a.y) / dy * dx : a.x;
    const auto from_x =
        static_cast<int32_t>(std::clamp(at - reach - 1, double(box.x0), double(box.x1)));
    const auto to_x =
        static_cast<int32_t>(std::clamp(at + reach + 1, double(box.x0), double(box.x1)));
    for (int32_t x = from_x; x < to_x; ++x) {
      const double px = x + 0.5 - a.x, py = y + 0.5 - a.y;
      const double t = std::clamp((px * dx + py * dy) / squared, 0.0, 1.0);
      if (std::hypot(px - t * dx, py - t * dy) > half) continue;
      const double depth = view.parallel() ? a.z + t * (b.z - a.z) : 1 / ((1 - t) / a.z + t / b.z);
      canvas.put(x, y, depth, colour);
    }
  }
}

void draw_sphere(Canvas& canvas, const View& view, const Vec& centre, double wanted, double value,
                 const Paint& paint) {
  const double depth = view.depth(centre);
  if (depth - wanted < view.nearest()) return;
  // However far away, it is to hit a sample.
  const double radius = std::max(wanted, 0.75 / view.magnification(depth));
  const Vec at = view.seen(centre);
  // Seen from nearby, a sphere's outline is wider than its radius at the depth of its centre.
  const double reach = view.magnification(depth - radius) * radius * 1.5 + 1;
  const Rectangle box = clipped(canvas, at.x - reach, at.y - reach, at.x + reach, at.y + reach);
  for (int32_t y = box.y0; y < box.y1; ++y)
    for (int32_t x = box.x0; x < box.x1; ++x) {
      const Ray ray = view.ray(x + 0.5, y + 0.5);
      const Vec from = ray.origin - centre;
      const double a = dot(ray.direction, ray.direction), b = dot(from, ray.direction);
      const double root = b * b - a * (dot(from, from) - radius * radius);
      if (root < 0) continue;
      const double hit = (-b - std::sqrt(root)) / a;
      canvas.put(x, y, hit, paint.lit(value, ray.at(hit) - centre, ray.direction));
    }
}

}  // namespace pillion::stages::image
