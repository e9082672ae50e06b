// SPDX-License-Identifier: BSD-3-Clause
// Where a run is that this node does not have. Runs are found on their own nodes; on a login node,
// or another one of the allocation, the files of their output folders name the nodes to go to.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "run/progress.hpp"

namespace pillion::run {

/// A run as its file of progress names it.
struct Whereabouts {
  std::filesystem::path folder;
  std::string name, id, host;
  BatchJob batch_job;
};

/// Runs that say that they are active in progress files of `folder` and of the folders in it, two
/// levels deep, with that name, id or folder; of all names if it is "". Looks at a bounded number
/// of folders.
std::vector<Whereabouts> whereabouts(const std::filesystem::path& folder, const std::string& run);

/// Where that is and how to attach from there, as a sentence for people.
std::string directions(const Whereabouts& run);
/// That a run which says that it is active does not renew its files.
std::string no_sign_of_life(const Whereabouts& run);

}  // namespace pillion::run
