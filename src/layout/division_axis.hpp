// SPDX-License-Identifier: BSD-3-Clause
// One direction of a domain that is divided among ranks for particles: which parts see a place in
// it. Every particle goes through here, so what is usual is inline and does without divisions.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "layout/cell.hpp"

namespace pillion::layout {

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
      : parts_(parts), periodic_(cell.periodic(d)) {
    constexpr double safety = 1e-9;  // a copy too many is harmless, one too few is not
    const double reach = halo / cell.widths()[d];
    if (periodic_ && reach > 1)
      base::fail(ErrorCode::Stage,
                 "a halo of {} exceeds the periodic domain, which is {} wide along axis {}", halo,
                 cell.widths()[d], d);
    // One part that has no images sees everything, however far the halo reaches.
    grown_ = parts == 1 && !periodic_ ? -1 : (reach + safety) * parts;
  }

  /// Parts that see a particle, counted on through the periodic images; `home` owns it once it is
  /// displaced by `-wrap` edges.
  struct Span {
    int64_t first, last, home, wrap;
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

  /// The part of a particle within the domain, and whether it is that far from all others.
  struct Home {
    int part;
    bool alone;
  };
  [[nodiscard]] Home home(double f) const {
    const double at = f * parts_;
    const int part = static_cast<int>(at);
    const double within = at - part;
    return {part, within > grown_ && within < 1 - grown_};
  }

  /// Calls deed(part, edges by which the particle is displaced to be seen there, is it home).
  template <class Deed>
  void each(const Span& span, Deed&& deed) const {
    const int64_t image = span.first < 0 ? (span.first + 1) / parts_ - 1 : 0;
    int64_t part = span.first - image * parts_, edges = -image - span.wrap;
    for (int64_t at = span.first; at <= span.last; ++at) {
      deed(part, edges, at == span.home);
      if (++part == parts_) part = 0, --edges;
    }
  }

  [[nodiscard]] int parts() const { return parts_; }

 private:
  [[nodiscard]] int64_t part(double at) const {
    return floor_of(std::clamp(at, 0.0, static_cast<double>(parts_) - 0.5));
  }

  int parts_;
  bool periodic_;
  double grown_;  ///< by so many parts
};

}  // namespace pillion::layout
