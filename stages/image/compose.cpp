// SPDX-License-Identifier: BSD-3-Clause
// Compositing, last of all sorted by depth (sort-last, direct send).
#include "compose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

namespace pillion::stages::image {

namespace {

constexpr double nowhere = std::numeric_limits<double>::infinity();

PixelRows own_rows(const stage::Step& step, const Frame& frame) {
  return rows_of(step.peer(), step.peers(), frame.height);
}

/// Of what is seen at the samples of a pixel.
struct Depths {
  double near = nowhere, far = -nowhere;
  /// The difference between parts of one surface that are beside each other is less.
  [[nodiscard]] bool are_two() const { return far - near > 1e-3 * std::abs(near); }
  [[nodiscard]] bool is_far(double depth) const {
    return !are_two() || depth == far || depth - near > far - depth;
  }
};

template <class F>
void for_each_sample(const Frame& frame, int32_t px, int32_t py, F&& use) {
  const int32_t n = frame.samples;
  for (int32_t y = py * n; y < (py + 1) * n; ++y)
    for (int32_t x = px * n; x < (px + 1) * n; ++x) use(x, y);
}

Depths depths_of(const Frame& frame, const Canvas& drawn, int32_t px, int32_t py) {
  Depths out;
  for_each_sample(frame, px, py, [&](int32_t x, int32_t y) {
    out.near = std::min(out.near, drawn.depth(x, y));
    out.far = std::max(out.far, drawn.depth(x, y));
  });
  return out;
}

/// The samples at which a ray ends.
struct Behind {
  int weight = 0;
  std::array<double, 3> sum{};
  [[nodiscard]] std::array<double, 3> mean() const {
    return {sum[0] / weight, sum[1] / weight, sum[2] / weight};
  }
};

std::array<Behind, 2> behind_rays(const Frame& frame, const Canvas& drawn, int32_t px, int32_t py,
                                  Colour background) {
  std::array<Behind, 2> out;
  const Depths depths = depths_of(frame, drawn, px, py);
  for_each_sample(frame, px, py, [&](int32_t x, int32_t y) {
    Behind& of_ray = out[depths.is_far(drawn.depth(x, y)) ? 1 : 0];
    const auto c = parts(drawn.seen(x, y, background));
    for (size_t i = 0; i < 3; ++i) of_ray.sum[i] += c[i];
    ++of_ray.weight;
  });
  return out;
}

/// The mean colour of a pixel without light in front.
Colour mean(const Frame& frame, const Canvas& drawn, int32_t px, int32_t py, Colour background) {
  std::array<uint32_t, 3> sum{};
  for_each_sample(frame, px, py, [&](int32_t x, int32_t y) {
    const Colour c = drawn.seen(x, y, background);
    sum[0] += c >> 16 & 255;
    sum[1] += c >> 8 & 255;
    sum[2] += c & 255;
  });
  const double all = frame.samples * frame.samples;
  return rgb(sum[0] / all, sum[1] / all, sum[2] / all);
}

/// Light of the pieces of one ray, front to back, with what is behind them.
std::array<double, 3> in_front(const RaySegment* piece, const RaySegment* end,
                               std::array<double, 3> behind) {
  std::array<double, 3> sum{};
  double through = 1;
  for (; piece != end; ++piece) {
    sum[0] += through * piece->red;
    sum[1] += through * piece->green;
    sum[2] += through * piece->blue;
    through *= 1 - static_cast<double>(piece->opacity);
  }
  for (size_t i = 0; i < 3; ++i) sum[i] += through * behind[i];
  return sum;
}

/// Of a pixel: what both of its rays see, by the number of their samples.
Colour mixed(const std::array<Behind, 2>& behind, const RaySegment* first, const RaySegment* end,
             int32_t far_ray) {
  const RaySegment* const far = std::find_if(first, end, [&](auto& p) { return p.ray == far_ray; });
  std::array<double, 3> sum{};
  for (const bool is_far : {false, true}) {
    const Behind& of_ray = behind[is_far ? 1 : 0];
    if (of_ray.weight == 0) continue;
    const auto c = in_front(is_far ? far : first, is_far ? end : far, of_ray.mean());
    for (size_t i = 0; i < 3; ++i) sum[i] += of_ray.weight * c[i];
  }
  const double all = behind[0].weight + behind[1].weight;
  return rgb(sum[0] / all, sum[1] / all, sum[2] / all);
}

/// What has been drawn in the rows of some peer.
std::vector<Fragment> fragments(const Frame& frame, const Canvas& drawn, const PixelRows& rows) {
  const int32_t first = rows.first * frame.samples, last = rows.last * frame.samples;
  size_t count = 0;
  drawn.for_each_drawn(first, last, [&](auto...) { ++count; });
  std::vector<Fragment> out;
  out.reserve(count);
  drawn.for_each_drawn(first, last, [&](int32_t x, int32_t y, double depth, Colour colour) {
    out.push_back({depth, colour, y * frame.columns() + x});
  });
  return out;
}

}  // namespace

void keep_foremost(const stage::Step& step, const Frame& frame, Canvas& drawn) {
  if (step.peers() == 1) return;
  std::vector<std::vector<Fragment>> out(static_cast<size_t>(step.peers()));
  for (int32_t p = 0; p < step.peers(); ++p)
    if (p != step.peer())
      out[static_cast<size_t>(p)] = fragments(frame, drawn, rows_of(p, step.peers(), frame.height));
  for (const Fragment& f : stages::exchange_values(step, out))
    drawn.put(f.sample % frame.columns(), f.sample / frame.columns(), f.depth, f.colour);
}

std::vector<double> ray_ends(const stage::Step& step, const Frame& frame, const Canvas& drawn) {
  const auto count = static_cast<size_t>(frame.width) * static_cast<size_t>(frame.height);
  std::vector<double> out(2 * count, nowhere);
  const PixelRows own = own_rows(step, frame);
  for (int32_t y = own.first; y < own.last; ++y)
    for (int32_t x = 0; x < frame.width; ++x) {
      const Depths d = depths_of(frame, drawn, x, y);
      const int32_t pixel = y * frame.width + x;
      out[static_cast<size_t>(ray_of(pixel, false))] = d.are_two() ? d.near : -nowhere;
      out[static_cast<size_t>(ray_of(pixel, true))] = d.far;
    }
  step.min(std::span(out));
  return out;
}

std::vector<RaySegment> sorted_pieces(const stage::Step& step, const Frame& frame,
                                      const std::vector<RaySegment>& pieces) {
  std::vector<std::vector<RaySegment>> out(static_cast<size_t>(step.peers()));
  std::vector<size_t> owner(static_cast<size_t>(frame.height));
  for (int32_t p = 0; p < step.peers(); ++p) {
    const PixelRows rows = rows_of(p, step.peers(), frame.height);
    std::fill(owner.begin() + rows.first, owner.begin() + rows.last, static_cast<size_t>(p));
  }
  for (const RaySegment& piece : pieces)
    out[owner[static_cast<size_t>(piece.ray / 2 / frame.width)]].push_back(piece);
  auto in = stages::exchange_values(step, out);
  std::sort(in.begin(), in.end(), [](const RaySegment& a, const RaySegment& b) {
    return std::tie(a.ray, a.first, a.opacity, a.red) < std::tie(b.ray, b.first, b.opacity, b.red);
  });
  return in;
}

std::vector<uint8_t> pixels(const stage::Step& step, const Frame& frame, const Canvas& drawn,
                            const std::vector<RaySegment>& pieces, Colour background) {
  const PixelRows rows = own_rows(step, frame);
  std::vector<uint8_t> out;
  out.reserve(static_cast<size_t>(rows.count()) * static_cast<size_t>(frame.width) * 3);
  const RaySegment* piece = pieces.data();
  const RaySegment* const end = piece + pieces.size();
  for (int32_t y = rows.first; y < rows.last; ++y)
    for (int32_t x = 0; x < frame.width; ++x) {
      const int32_t pixel = y * frame.width + x;
      const RaySegment* const first = piece;
      while (piece != end && piece->ray <= ray_of(pixel, true)) ++piece;
      const Colour colour = first == piece ? mean(frame, drawn, x, y, background)
                                           : mixed(behind_rays(frame, drawn, x, y, background),
                                                   first, piece, ray_of(pixel, true));
      for (const int shift : {16, 8, 0}) out.push_back(static_cast<uint8_t>(colour >> shift));
    }
  return out;
}

}  // namespace pillion::stages::image
