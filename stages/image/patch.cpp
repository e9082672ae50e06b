// SPDX-License-Identifier: BSD-3-Clause
// Values of a block at the points of the lattice.
#include "patch.hpp"

#include <algorithm>
#include <span>

#include "../common/elements.hpp"

namespace pillion::image {

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

}  // namespace pillion::image
