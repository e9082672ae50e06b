// SPDX-License-Identifier: BSD-3-Clause
// Finding out where all ranks of a job sit, once, when a session is opened.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "run/test_overrides.hpp"
#include "topology/location.hpp"

namespace pillion::run {

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

}  // namespace pillion::run
