// SPDX-License-Identifier: BSD-3-Clause
// Points and values of a block, and planes through it.
#include "patch.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "../common/elements.hpp"

namespace pillion::stages::image {

// Values of a block at the points of the lattice.

namespace {

double mixed(double a, double b, double weight) { return weight == 0 ? a : a + weight * (b - a); }

/// Values along an axis, where each is made of two.
template <class Taps>
std::vector<double> along(const std::vector<double>& from, Index& size, int axis,
                          const Taps& taps) {
  Index out_size = size;
  out_size[axis] = static_cast<int64_t>(taps.size());
  std::vector<double> out(static_cast<size_t>(out_size[0] * out_size[1] * out_size[2]));
  const int64_t strides[3] = {1, size[0], size[0] * size[1]};
  size_t to = 0;
  Index i;
  for (i[2] = 0; i[2] < out_size[2]; ++i[2])
    for (i[1] = 0; i[1] < out_size[1]; ++i[1])
      for (i[0] = 0; i[0] < out_size[0]; ++i[0]) {
        const auto& tap = taps[i[axis]];
        const int64_t base =
            i[0] * strides[0] + i[1] * strides[1] + i[2] * strides[2] - i[axis] * strides[axis];
        out[to++] = mixed(from[base + tap.a * strides[axis]], from[base + tap.b * strides[axis]],
                          tap.weight);
      }
  size = out_size;
  return out;
}

}  // namespace

Patch::Patch(const stage::Block& block, const Lattice& lattice, int32_t axes, int64_t margin,
             const Cells& wanted)
    : lattice_(&lattice) {
  for (int d = 0; d < 3; ++d) {
    const int64_t cells = lattice.axes[d].cells;
    const bool is_there = d < axes;
    const int64_t inner_lo = is_there ? block.inner_lo()[d] : 0;
    const int64_t inner_hi = is_there ? block.inner_hi()[d] : 1;
    block_size_[d] = is_there ? block.hi()[d] - block.lo()[d] : 1;
    lo_[d] = std::max(inner_lo == 0 ? -1 : inner_lo, wanted.lo[d]);
    hi_[d] = std::min(inner_hi, wanted.hi[d]);
    if (empty_along(d)) continue;
    from_[d] = std::max(lo_[d] - margin, int64_t{-1});
    size_[d] = std::min(hi_[d] + margin, cells) + 1 - from_[d];
    taps_[d] =
        is_there ? taps(block, d) : std::vector<Tap>(static_cast<size_t>(size_[d]), Tap{0, 0, 0});
    read_only_what_is_needed(d);
  }
}

void Patch::read_only_what_is_needed(int axis) {
  int64_t first = INT64_MAX, last = 0;
  for (const Tap& tap : taps_[axis]) {
    first = std::min({first, tap.a, tap.b});
    last = std::max({last, tap.a, tap.b});
  }
  for (Tap& tap : taps_[axis]) tap.a -= first, tap.b -= first;
  first_read_[axis] = first;
  read_size_[axis] = last + 1 - first;
}

std::vector<Patch::Tap> Patch::taps(const stage::Block& block, int axis) const {
  const Axis& of = lattice_->axes[axis];
  const int64_t first = block.lo()[axis], last = of.cells - 1;
  std::vector<Tap> out;
  for (int64_t point = from_[axis]; point < from_[axis] + size_[axis]; ++point) {
    const int64_t inside = std::clamp(point, int64_t{0}, last);
    Tap tap{inside - first, inside - first, 0};
    // Beyond the faces there are cells only where the mesh is periodic.
    const double gap = of.first - of.lo + of.hi - of.place(last);
    if (point < 0 && first < 0) tap = {-1 - first, -first, (of.hi - of.place(last)) / gap};
    if (point > last && block.hi()[axis] > of.cells)
      tap = {last - first, of.cells - first, (of.hi - of.place(last)) / gap};
    out.push_back(tap);
  }
  return out;
}

std::vector<double> Patch::values(const stage::Array& array, int32_t component) const {
  Index size = read_size_;
  std::vector<double> out(static_cast<size_t>(size[0] * size[1] * size[2]));
  const auto row = static_cast<size_t>(size[0]);
  for (int64_t k = 0; k < size[2]; ++k)
    for (int64_t j = 0; j < size[1]; ++j) {
      const int64_t from =
          ((k + first_read_[2]) * block_size_[1] + j + first_read_[1]) * block_size_[0];
      stages::read_values({&array, component}, block_size_, from + first_read_[0],
                          std::span(out).subspan((k * size[1] + j) * row, row));
    }
  for (int axis = 2; axis >= 0; --axis) out = along(out, size, axis, taps_[axis]);
  return out;
}

double Patch::interpolated(const std::vector<double>& values, const Index& cell,
                           const Vec& fraction) const {
  const double* v = values.data() + at(cell);
  const int64_t y = stride(1), z = stride(2);
  const auto line = [&](const double* p) { return p[0] + fraction.x * (p[1] - p[0]); };
  const auto plane = [&](const double* p) {
    const double a = line(p);
    return a + fraction.y * (line(p + y) - a);
  };
  const double a = plane(v);
  return a + fraction.z * (plane(v + z) - a);
}

Vec Patch::gradient(const std::vector<double>& values, const Index& point) const {
  Vec out;
  const size_t here = at(point);
  for (int d = 0; d < 3; ++d) {
    const Axis& axis = lattice_->axes[d];
    const int64_t before = point[d] > -1 ? 1 : 0, after = point[d] < axis.cells ? 1 : 0;
    const double distance = axis.place(point[d] + after) - axis.place(point[d] - before);
    out[d] = (values[here + after * stride(d)] - values[here - before * stride(d)]) / distance;
  }
  return out;
}

// Drawing planes through a uniform mesh.

namespace {

/// Where a ray meets the plane; false if nowhere in front of the camera.
bool meets(const Plane& plane, const View& view, const Ray& ray, Vec& at, double& depth) {
  const double slope = dot(ray.direction, plane.normal);
  if (slope == 0) return false;
  depth = dot(plane.origin - ray.origin, plane.normal) / slope;
  if (!(depth > view.nearest()) || !std::isfinite(depth)) return false;
  at = ray.at(depth);
  if (plane.axis >= 0) at[plane.axis] = plane.origin[plane.axis];
  return true;
}

}  // namespace

Cells cells_of(const Plane& plane, const Lattice& lattice) {
  Cells out;
  if (plane.axis < 0) return out;
  double fraction = 0;
  const auto d = static_cast<size_t>(plane.axis);
  out.lo[d] = lattice.axes[d].cell(plane.origin[plane.axis], fraction);
  out.hi[d] = out.lo[d] + 1;
  return out;
}

void draw_slice(Canvas& canvas, const View& view, const Patch& patch,
                const std::vector<double>& values, const Plane& plane, const Paint& paint) {
  const Lattice& lattice = patch.lattice();
  const Rectangle box = rectangle_of(view, patch.lower(), patch.upper());
  for (int32_t y = box.y0; y < box.y1; ++y)
    for (int32_t x = box.x0; x < box.x1; ++x) {
      Vec at, fraction;
      double depth = 0;
      if (!meets(plane, view, view.ray(x + 0.5, y + 0.5), at, depth) || !lattice.contains(at))
        continue;
      Index cell;
      for (int d = 0; d < 3; ++d) cell[d] = lattice.axes[d].cell(at[d], fraction[d]);
      if (patch.owns(cell))
        canvas.put(x, y, depth, paint.flat(patch.interpolated(values, cell, fraction)));
    }
}

}  // namespace pillion::stages::image
