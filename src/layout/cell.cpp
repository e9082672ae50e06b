// SPDX-License-Identifier: BSD-3-Clause
// Fractional coordinates of a triclinic cell with an upper triangular edge matrix.
#include "layout/cell.hpp"

#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace pillion::layout {

namespace {

/// Of 2 dimensions the third may have no extent, and it has no images.
pillion_domain flattened(pillion_domain domain) {
  if (domain.dimensions != 2) return domain;
  if (!(domain.hi[2] > domain.lo[2])) domain.hi[2] = domain.lo[2] + 1;
  domain.tilt[1] = domain.tilt[2] = 0;
  domain.periodic[2] = 0;
  return domain;
}

}  // namespace

Cell::Cell(const pillion_domain& given) : dimensions_(given.dimensions == 2 ? 2 : 3) {
  const auto domain = flattened(given);
  xx_ = domain.hi[0] - domain.lo[0];
  yy_ = domain.hi[1] - domain.lo[1];
  zz_ = domain.hi[2] - domain.lo[2];
  xy_ = domain.tilt[0];
  xz_ = domain.tilt[1];
  yz_ = domain.tilt[2];
  per_xx_ = 1 / xx_;
  per_yy_ = 1 / yy_;
  per_zz_ = 1 / zz_;
  for (int d = 0; d < 3; ++d) {
    lo_[d] = domain.lo[d];
    periodic_[d] = domain.periodic[d] != 0;
    if (!(domain.hi[d] > domain.lo[d]) || !std::isfinite(domain.hi[d] - domain.lo[d]))
      base::fail(ErrorCode::Sharing,
                 "the domain of the particles has no extent along axis {}: [{}, {})", d,
                 domain.lo[d], domain.hi[d]);
  }
  // Rows of the inverse edge matrix; the distance between faces is one over their length.
  const double ix = per_xx_, iy = per_yy_, iz = per_zz_;
  const double ixy = -xy_ * ix * iy, iyz = -yz_ * iy * iz;
  const double ixz = (xy_ * yz_ - xz_ * yy_) * ix * iy * iz;
  widths_ = {1 / std::sqrt(ix * ix + ixy * ixy + ixz * ixz), 1 / std::sqrt(iy * iy + iyz * iyz),
             zz_};
}

Vector Cell::shift(const Index& edges) const {
  const auto x = static_cast<double>(edges[0]);
  const auto y = static_cast<double>(edges[1]);
  const auto z = static_cast<double>(edges[2]);
  return {x * xx_ + y * xy_ + z * xz_, y * yy_ + z * yz_, z * zz_};
}

std::array<int, 3> division(int ranks, const Vector& widths, int dimensions) {
  std::array<int, 3> best{ranks, 1, 1};
  double smallest = std::numeric_limits<double>::infinity();
  for (int x = 1; x <= ranks; ++x) {
    if (ranks % x != 0) continue;
    for (int y = 1; y <= ranks / x; ++y) {
      if (ranks / x % y != 0) continue;
      const int z = ranks / x / y;
      if (dimensions == 2 && z > 1) continue;
      const double a = widths[0] / x, b = widths[1] / y, c = widths[2] / z;
      const double faces = dimensions == 2 ? a + b : a * b + b * c + c * a;
      if (faces < smallest) {
        smallest = faces;
        best = {x, y, z};
      }
    }
  }
  return best;
}

}  // namespace pillion::layout
