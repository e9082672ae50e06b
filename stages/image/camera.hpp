// SPDX-License-Identifier: BSD-3-Clause
// Where a picture is taken from: what the configuration says of it, and the rest so that all of
// what is drawn is seen.
#pragma once

#include <array>
#include <optional>
#include <pillion/stage.hpp>
#include <span>

#include "view.hpp"

namespace pillion::image {

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

}  // namespace pillion::image
