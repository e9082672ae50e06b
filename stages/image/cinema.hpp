// SPDX-License-Identifier: BSD-3-Clause
// Pictures from many sides as a Cinema database (specification D: a folder NAME.cdb with a table
// data.csv, a row for each picture), which Cinema's viewers open.
#pragma once

#include <cstddef>
#include <optional>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "camera.hpp"

namespace pillion::stages::image {

/// Where the camera stands: angles in degrees around the third axis, from the first, and above the
/// plane of the first two.
struct ViewPoint {
  double phi, theta;
  [[nodiscard]] CameraOptions camera(const CameraOptions& rest) const;
};

class Views {
 public:
  /// Nothing if there is no such map. Throws, saying where, if it is not right.
  static std::optional<Views> read(const stage::Value& map, const stage::Value& camera);

  [[nodiscard]] const std::vector<ViewPoint>& points() const { return points_; }
  /// Notes a picture; the first peer, which has it, writes it.
  void add(const stage::Step& step, const std::string& name, const ViewPoint& view,
           const std::vector<std::byte>& file);
  /// After the pictures of a step: writes the table of all pictures so far, if it is due. [peers]
  void end_step(const stage::Step& step, const std::string& name);
  /// After the last step: writes it, if some pictures are not in it. [peers]
  void finish(const stage::Step& step, const std::string& name) const;

  void save(stage::State& state) const;
  void restore(stage::State& state);

 private:
  void write_table(const stage::Step& step, const std::string& name) const;

  std::string rows_, pending_;  ///< of pictures of steps before, and of the one at work
  int64_t pending_step_ = -1;
  size_t steps_ = 0;
  bool has_all_ = true;  ///< pictures are in the table
  std::vector<ViewPoint> points_;
};

}  // namespace pillion::stages::image
