// SPDX-License-Identifier: BSD-3-Clause
// Finding a run by its name, and the channels that each rank of a job of sidecars is to serve.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "transport/node.hpp"

namespace pillion::run {

/// "NAME (id 0123456789abcdef): 4 simulation ranks on 2 nodes", a line for each run on this node.
std::string describe_runs(const std::vector<node::Found>& found);

/// The runs that are called `name`, or whose id it is, and that this process can attach to.
std::vector<node::Found> matching(const std::vector<node::Found>& found, const std::string& name);

/// The channels, of `channels` on a node, that helper `me` of `helpers` on that node serves:
/// [first, last).
std::pair<int, int> channel_range(int me, int helpers, int channels);

struct Attachment {
  /// The ranks on nodes of the run, which share the work; none where the run is not on the node.
  comm::Communicator job;
  std::vector<std::shared_ptr<node::Segment>> segments;  ///< of this node
  std::vector<transport::Source> sources;                ///< for this rank
  bool is_first = false;      ///< has the first channel of the first node
  std::vector<bool> control;  ///< by segment: whether this rank writes its control pages
};

/// Opens the run called `name`, looking for it for `patience` seconds at most, or until a rank was
/// asked to leave. [collective] Throws the same error on every rank: there is none, there are
/// several, or a node of the run has no sidecar.
Attachment attach_to(
    const comm::Communicator& sidecars, const std::string& name, double patience,
    const std::function<bool()>& leave = [] { return false; });

}  // namespace pillion::run
