// SPDX-License-Identifier: BSD-3-Clause
// What tests pretend of the machine, so that a laptop can stand for many nodes.
#pragma once

#include <cstdint>
#include <string>

namespace pillion::run {

struct TestOverrides {
  int64_t nodes = 0;  ///< 0 if nodes are nodes
  /// As topology::node_of_text reads it; the ranks of a node take its cores in order. "" if cores
  /// are cores.
  std::string topology;
};

/// What PILLION_PRETEND_NODES and PILLION_PRETEND_TOPOLOGY say.
TestOverrides read_test_overrides();

}  // namespace pillion::run
