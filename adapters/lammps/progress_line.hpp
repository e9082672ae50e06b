// SPDX-License-Identifier: BSD-3-Clause
// The line that tells a person how the run is doing: step, rate, publications, skips and lag. On a
// terminal it is rewritten in place; elsewhere a line is added every few seconds.
#pragma once

#include <pillion/pillion.h>

#include <cstdint>
#include <string>

namespace pillion::lammps {

class ProgressLine {
 public:
  /// `seconds` between lines; 0 for none.
  explicit ProgressLine(double seconds = 0);

  /// Shows the line if it is time to. `last_step`: of the current run command.
  void update(const pillion_session* session, int64_t last_step);
  /// Shows the line as it stands if steps were made since it was shown, and leaves it.
  void finish(const pillion_session* session, int64_t last_step);

 private:
  void show(const pillion_progress& progress, int64_t last_step);
  double seconds_;
  double next_ = 0;
  int64_t shown_ = -1;  ///< step of the line on the screen
  bool terminal_;
  bool open_ = false;  ///< the cursor stands behind a line on a terminal
};

/// The text of the line.
std::string progress_text(const pillion_progress& progress, int64_t last_step);

}  // namespace pillion::lammps
