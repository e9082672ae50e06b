// SPDX-License-Identifier: BSD-3-Clause
// Whether the run of an output folder is still active, for a run that starts there. A process of
// this machine is looked at. Of one on another machine its number says nothing, and clocks of two
// machines may differ: so this one watches whether the files change that an active run renews.
#pragma once

#include <filesystem>
#include <string>

namespace pillion::run {

struct RunMarker;

enum class Liveness { Active, Ended, Unknown };

/// What the marker says, and the process that it names, if process numbers mean the same here.
Liveness liveness_of(const RunMarker& mark);

/// Whether a file of progress in the folder changes within two heartbeats. Returns at once where
/// none says that its run is active. A dead run is found to be one; an active run that cannot write
/// these files is not found.
bool has_heartbeat(const std::filesystem::path& folder);

}  // namespace pillion::run
