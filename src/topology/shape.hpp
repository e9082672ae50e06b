// SPDX-License-Identifier: BSD-3-Clause
// The shape of a node: its cores and what they share, of this machine or of one that is described.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/location.hpp"

namespace pillion::topology {

/// A core. `cpus` are the operating system's numbers of its hardware threads.
struct Core {
  Location location;  ///< on node 0
  std::vector<int> cpus;
};

/// Cores in hwloc's logical order.
struct Shape {
  std::vector<Core> cores;
  int32_t packages = 0;
  int32_t domains = 0;  ///< of memory that have cores
  int32_t columns = 0;  ///< of the mesh that joins the cores, 0 if it is not known
  int32_t rows = 0;
};

/// Which cores of a node there are: all, or the ones that the operating system allows this process.
enum class CoreSet { All, Allowed };
/// The node that this process runs on. Throws ErrorCode::Placement if hwloc cannot tell.
Shape this_node(CoreSet which);
/// As hwloc describes it in a file that `lstopo FILE.xml` wrote.
Shape node_of_file(const std::string& path);
/// As hwloc's synthetic descriptions say, such as "package:2 numa:4 core:16"; "mesh:8x8" instead
/// is one domain whose cores sit on a mesh of columns x rows, and may end with further parts.
Shape node_of_text(const std::string& text);

/// Puts the cores on a mesh, row by row. Throws if there are more or fewer.
void put_on_mesh(Shape& shape, int32_t columns, int32_t rows);

/// The location of a process that may run on these CPUs of a node: what all of them share.
Location location_of(const Shape& shape, const std::vector<int>& cpus);

}  // namespace pillion::topology
