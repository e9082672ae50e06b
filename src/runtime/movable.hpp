// SPDX-License-Identifier: BSD-3-Clause
// What a simulation rank knows of an analysis that may run on either side.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/relocation.hpp"

namespace pillion::runtime {

struct Movable {
  size_t analysis = 0;
  Relocation relocation;
  std::string why;                     ///< it should move; "" if it should not
  std::optional<int64_t> called_back;  ///< number of the message that asks sidecars to give it back
  std::filesystem::path folder;        ///< through which it moves
  std::string why_back;                ///< it was called back
  bool stays = false;                  ///< for good, for it could not move
  int64_t moves = 0;
  int64_t due = 0;      ///< publications so far, those left out included
  int64_t missing = 0;  ///< of these, lost in sidecars
  double own = 0;       ///< seconds for which the publication at hand kept the simulation
  double paid = 0;      ///< seconds for copies and stalls so far
  double ended = 0;     ///< monotonic seconds at which the publication before ended; 0: none
};

}  // namespace pillion::runtime
