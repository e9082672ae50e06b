// SPDX-License-Identifier: BSD-3-Clause
// Whether a configuration goes with what is around it: its ranks, its folders, its checkpoint, this
// machine. Functions throw an Error that names the fault, or return a remark on an oddity, "" if
// there is none.
#pragma once

#include <string>
#include <vector>

#include "preflight/dry_run.hpp"

namespace pillion::preflight {

/// Throws if products cannot be written there.
void check_output(const std::string& output);

/// Throws if a run cannot resume from the checkpoint; returns analyses that are not in it.
std::vector<std::string> check_restart(const std::string& folder,
                                       const model::Configuration& configuration);

/// Throws if there are too few ranks for the sidecars.
void check_ranks(const model::SidecarSpec& spec, const LaunchSize& start);

/// What this machine lacks; the run may well be on another.
std::vector<std::string> lacking_here(const model::SidecarSpec& spec);

}  // namespace pillion::preflight
