// SPDX-License-Identifier: BSD-3-Clause
// Finding out where all ranks of a job sit, once, when a session is opened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "topology/location.hpp"

namespace pillion::run {

struct TestOverrides;

/// What the variables PILLION_PRETEND_… of the environment say.
TestOverrides read_test_overrides();

/// The node of each rank. [collective]
std::vector<int> find_nodes(const comm::Communicator& world, const TestOverrides& test_overrides);

struct Locations {
  std::vector<topology::Location>
      locations;        ///< by rank; unknown but for the node if `trouble` is set
  std::string fault;    ///< in the configuration: its mesh does not fit a node
  std::string trouble;  ///< why spots could not be found out; "" if they were
};

/// The spot of each rank, the same on every rank. One rank of each node asks for its topology.
/// `columns` and `rows` are those of the mesh that joins a node's cores, 0 if none is known.
/// [collective]
Locations find_locations(const comm::Communicator& world, const std::vector<int>& node,
                         const TestOverrides& test_overrides, int64_t columns, int64_t rows);

// Which ranks share a node. Pure functions, so that every rank comes to the same answer from the
// same list.

/// The node of a rank where `ranks` ranks pretend to be on `nodes` nodes: neighbours together,
/// sizes differing by one at most. There are never more nodes than ranks.
int overridden_node(int rank, int ranks, int nodes);

/// Numbers nodes from 0 in the order in which they first appear. `leader_of_rank` is the same for
/// ranks on the same node and for no others.
std::vector<int> number_nodes(const std::vector<int64_t>& leader_of_rank);

}  // namespace pillion::run
