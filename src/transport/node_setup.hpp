// SPDX-License-Identifier: BSD-3-Clause
// Making the segments of a run and finding one's place in them, for ranks of one MPI job.
#pragma once

#include "comm/communicator.hpp"
#include "transport/node.hpp"

namespace pillion::transport {

/// What a simulation rank has of its node's segment.
struct NodeEndpoint {
  std::shared_ptr<node::Segment> segment;
  node::FileAddress address;  ///< of the segment
  int channel = 0;
  std::unique_ptr<node::SharedBudget> budget;  ///< bytes of messages with values; needs the segment
};

/// Makes a node's segment, whose simulation ranks share `memory` bytes, in which each has taken its
/// channel with an equal part. `on_node` are the simulation ranks of the node. [collective over
/// `simulation`] Throws the same error on every rank, with numbers if there is too little memory.
NodeEndpoint make_endpoint(const comm::Communicator& simulation, const comm::Communicator& on_node,
                           const node::Identity& identity, int64_t memory,
                           const base::Bytes& configuration);

/// A budget that these ranks of a node share, each with an equal part; null, on all of them, if
/// they have no memory in common. [collective over `on_node`]
std::unique_ptr<node::SharedBudget> make_budget(const comm::Communicator& on_node, size_t budget);

/// Sources of a sidecar rank that serves some ranks of `world`, which have endpoints. Ranks that
/// are not simulation ranks pass no endpoint. [collective over `world`]
std::vector<Source> open_sources(const comm::Communicator& world, const NodeEndpoint* mine,
                                 const std::vector<int>& serves);

}  // namespace pillion::transport
