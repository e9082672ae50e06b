// SPDX-License-Identifier: BSD-3-Clause
// The command line of pillion-replay.
#pragma once

#include <pillion/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "replay/arrangement.hpp"

namespace replay {

struct Options {
  std::vector<std::string> files;  ///< and folders
  std::string configuration;
  std::map<std::string, std::string> parameters;
  std::map<std::string, std::string> names;  ///< by field, what files call it
  std::map<std::string, pillion_domain> domains;
  std::optional<double> time_per_step;
  std::vector<std::pair<int64_t, int64_t>>
      steps;           ///< from one to another, both included; empty: all
  std::string about;   ///< the file that says the rest; "": those beside the files
  std::string output;  ///< "": as the configuration says
  Indices indices = Indices::Zyx;
  bool help = false;
};

extern const char* const usage;

/// Throws pillion::Error if the words make no sense.
Options read_options(const std::vector<std::string>& words);

/// What `--domain` says: a periodic box from the origin, "LX,LY,LZ".
pillion_domain read_box(const std::string& text);

}  // namespace replay
