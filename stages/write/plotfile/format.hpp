// SPDX-License-Identifier: BSD-3-Clause
// The texts of an AMReX plotfile: its header, the list of boxes of a level, and the line in front
// of a box's values. The format is that of AMReX's AMReX_PlotFileUtil and AMReX_VisMF.
#pragma once

#include <pillion/stage.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pillion::stages::write_plotfile {

using Index = std::array<int64_t, 3>;

/// Cells of a level, and by how much smaller they are than those of the coarsest.
struct Level {
  Index cells{1, 1, 1};
  Index refinement{1, 1, 1};
};

/// A mesh with its levels from the coarsest on.
struct Geometry {
  int32_t axes = 3;
  std::array<double, 3> origin{}, length{};
  std::array<bool, 3> periodic{};
  std::vector<Level> levels;

  explicit Geometry(const pillion_mesh& mesh);
  /// Of a cell of a level, along an axis.
  [[nodiscard]] double width(size_t level, size_t axis) const {
    return length[axis] / static_cast<double>(levels[level].cells[axis]);
  }
};

/// A box in one of the files of its level.
struct StoredBox {
  Index lo{}, hi{};  ///< half-open, in cells of the level
  int64_t offset = 0;
  int32_t level = 0;
  int32_t peer = 0;  ///< whose file has it
};

/// Least and largest value of each component in a box.
struct Extremes {
  std::vector<double> least, largest;
};

/// What a step has. The boxes are in the order of levels; `extremes` has those of each.
struct Contents {
  std::vector<std::string> names;  ///< of components
  int64_t step = 0;
  double time = 0;
  std::vector<StoredBox> boxes;
  std::vector<Extremes> extremes;

  /// Numbers of the first box of a level and of the one behind its last.
  [[nodiscard]] std::array<size_t, 2> boxes_of(int32_t level) const;
  /// How many levels have a box or lie below one that has.
  [[nodiscard]] int32_t levels() const;
};

/// The name of the folder of a level.
std::string level_name(int32_t level);
/// The name of a peer's file in that folder.
std::string file_name(int32_t peer);
/// "Header".
std::string header_text(const Geometry& geometry, const Contents& contents);
/// "Level_l/Cell_H".
std::string level_text(const Geometry& geometry, const Contents& contents, int32_t level);
/// What stands before a box's values, which are doubles if they are wide.
std::string box_header(int32_t axes, const Index& lo, const Index& hi, bool is_wide,
                       size_t components);
/// "job_info", where readers look for what the header cannot say.
std::string job_text(const Geometry& geometry);

}  // namespace pillion::stages::write_plotfile
