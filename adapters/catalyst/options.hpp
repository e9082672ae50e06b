// SPDX-License-Identifier: BSD-3-Clause
// What a simulation, or the user in the environment, tells Pillion through the node that is passed
// to catalyst_initialize.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conduit.hpp"

namespace pillion::catalyst {

struct Options {
  std::string file;                                             ///< the YAML file
  std::vector<std::pair<std::string, std::string>> parameters;  ///< values of $name in it
  std::string restart;                                          ///< a checkpoint; "" for a new run
  std::optional<int64_t> communicator;                          ///< a handle of Fortran
  int64_t levels = 1;                                           ///< room for levels of refinement
  bool is_in_world = false;  ///< the session's ranks are all started ones, sidecars among them
  std::vector<std::string> others;  ///< scripts that are not for Pillion
};

/// `params` is the node of catalyst_initialize. Throws Error if it names no file.
Options read_options(const Node& params);

/// The Fortran handle of the simulation's communicator, if `params` has one.
std::optional<int64_t> read_communicator(const Node& params);

/// The step and the time of a node of catalyst_execute. Without a step it is `next`.
struct StepAndTime {
  int64_t step = 0;
  double time = 0;
};
StepAndTime read_step(const Node& params, int64_t next);

/// The domain of a channel of particles: `lo` and `hi`, and `periodic` if it is, along each axis.
pillion_domain read_domain(const Node& domain);

}  // namespace pillion::catalyst
