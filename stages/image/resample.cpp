// SPDX-License-Identifier: BSD-3-Clause
// Finding which cell between an element's points a place is in, by Newton's iteration, and the
// value there.
#include "resample.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pillion::image {

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

}  // namespace pillion::image
