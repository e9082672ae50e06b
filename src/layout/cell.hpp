// SPDX-License-Identifier: BSD-3-Clause
// Geometry of the parallelepiped that particles live in, and its division among ranks: which parts
// see a place in it. Every particle goes through here, so what is usual is inline and does without
// divisions.
#pragma once

#include <pillion/types.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/error.hpp"

namespace pillion::layout {

using Vector = std::array<double, 3>;
using Index = std::array<int64_t, 3>;

class Cell {
 public:
  /// Throws if the domain has no volume.
  explicit Cell(const pillion_domain& given);

  /// Coordinates in units of the edges: the domain is [0, 1)^3.
  [[nodiscard]] Vector fractional(const Vector& position) const {
    const double z = (position[2] - lo_[2]) * per_zz_;
    const double y = (position[1] - lo_[1] - yz_ * z) * per_yy_;
    const double x = (position[0] - lo_[0] - xy_ * y - xz_ * z) * per_xx_;
    return {x, y, z};
  }
  /// The displacement by whole edges.
  [[nodiscard]] Vector shift(const Index& edges) const;
  /// Distance between opposite faces, per direction.
  [[nodiscard]] const Vector& widths() const { return widths_; }
  [[nodiscard]] bool periodic(int d) const { return periodic_[d]; }
  /// 2 where the third direction neither is divided nor has images.
  [[nodiscard]] int dimensions() const { return dimensions_; }

 private:
  Vector lo_{};
  double xx_ = 0, yy_ = 0, zz_ = 0, xy_ = 0, xz_ = 0, yz_ = 0;
  double per_xx_ = 0, per_yy_ = 0, per_zz_ = 0;
  Vector widths_{};
  std::array<bool, 3> periodic_{};
  int dimensions_;
};

/// Ranks per direction whose product is `ranks`, with the smallest faces between them. With 2
/// dimensions there is one along the third direction.
std::array<int, 3> division(int ranks, const Vector& widths, int dimensions = 3);

// std::floor is a call where the oldest processors must do too.
inline int64_t floor_of(double x) {
  const auto whole = static_cast<int64_t>(x);
  return whole - (static_cast<double>(whole) > x ? 1 : 0);
}

/// The domain in parts along one direction, each grown by the halo.
class Axis {
 public:
  static constexpr double most_periods = 120;  ///< what edges are counted in holds some more

  Axis(const Cell& cell, int d, int parts, double halo)
      : parts_(parts), per_part_(1.0 / parts), periodic_(cell.periodic(d)) {
    constexpr double safety = 1e-9;  // a copy too many is harmless, one too few is not
    const double reach = halo / cell.widths()[d];
    if (periodic_ && reach > 1)
      base::fail(ErrorCode::Stage,
                 "a halo of {} exceeds the periodic domain, which is {} wide along axis {}", halo,
                 cell.widths()[d], d);
    // One part that has no images sees everything, however far the halo reaches.
    grown_ = parts == 1 && !periodic_ ? -1 : (reach + safety) * parts;
  }

  /// Parts that see a particle, counted on through the periodic images; `owner` has it once it is
  /// displaced by `-wrap` edges.
  struct Span {
    int64_t first, last, owner, wrap;
  };

  [[nodiscard]] bool can_place(double f) const {
    return periodic_ ? std::abs(f) < most_periods : std::isfinite(f);
  }

  [[nodiscard]] Span span(double f) const {
    const double most = parts_;
    if (!periodic_) {
      const double at = f * most;
      return {part(at - grown_), part(at + grown_), part(at), 0};
    }
    const int64_t wrap = floor_of(f);
    const double at = (f - static_cast<double>(wrap)) * most;
    return {floor_of(at - grown_), floor_of(at + grown_), part(at), wrap};
  }

  /// Calls note(index, part, seen by the part below, by the one above, outside of the domain) for
  /// each of several particles, with 1 for yes: as span() has it for those within the domain, if
  /// the halo is less than half a part.
  template <size_t count, class Note>
  void locate(const std::array<double, count>& fractional, Note&& note) const {
    constexpr double whole = 0x1p52;  // numbers from here on have no fraction
    const double parts = parts_, grown = grown_;
    for (size_t i = 0; i < count; ++i) {
      const double f = fractional[i];
      const double low = f >= 0 ? f : 0, inside = low < 1 ? low : 0;
      const double at = inside * parts;
      const double nearest = (at + whole) - whole;
      const double part = nearest - (nearest > at ? 1.0 : 0.0);
      note(i, part, at - grown < part ? 1.0 : 0.0, at + grown >= part + 1 ? 1.0 : 0.0,
           f == inside ? 0.0 : 1.0);
    }
  }
  [[nodiscard]] bool is_narrow() const { return grown_ < 0.5; }

  /// The part that is counted as `at`, and the edges by which the particle of a span is displaced
  /// to be seen there.
  struct Image {
    int64_t part, edges;
  };
  [[nodiscard]] Image image(const Span& span, int64_t at) const {
    const int64_t images = floor_of((static_cast<double>(at) + 0.5) * per_part_);
    return {at - images * parts_, -images - span.wrap};
  }

  /// The part below or above one, if there is one.
  [[nodiscard]] std::optional<Image> neighbour(int part, bool above) const {
    const int next = above ? part + 1 : part - 1;
    if (next >= 0 && next < parts_) return Image{next, 0};
    if (!periodic_) return {};
    return above ? Image{0, -1} : Image{parts_ - 1, 1};
  }

  /// Calls function(part, edges, whether it owns the particle) for all parts of a span.
  template <class Function>
  void each(const Span& span, Function&& function) const {
    auto [part, edges] = image(span, span.first);
    for (int64_t at = span.first; at <= span.last; ++at) {
      function(part, edges, at == span.owner);
      if (++part == parts_) part = 0, --edges;
    }
  }

  [[nodiscard]] int parts() const { return parts_; }

 private:
  [[nodiscard]] int64_t part(double at) const {
    return floor_of(std::clamp(at, 0.0, static_cast<double>(parts_) - 0.5));
  }

  int parts_;
  double per_part_;
  bool periodic_;
  double grown_;  ///< the number of parts added
};

}  // namespace pillion::layout
