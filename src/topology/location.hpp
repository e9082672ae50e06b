// SPDX-License-Identifier: BSD-3-Clause
// The role and the location of a rank.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace pillion::topology {

enum class Role : int32_t { Any = 0, Simulation = 1, Sidecar = 2 };

// Where ranks sit: what each shares with others, and how far two of them are apart. Plain values,
// so that every rank makes the same plans, and for machines that one does not have.

constexpr int32_t unknown = -1;

/// The spot of a rank. Numbers of parts count within the node and follow hwloc's logical order;
/// `unknown` where a rank may run on several.
struct Location {
  int32_t node = 0;
  int32_t package = unknown;  ///< socket
  int32_t numa = unknown;     ///< domain of memory
  int32_t cache = unknown;    ///< the largest one that several cores of a domain share
  int32_t core = unknown;
  int32_t column = unknown;  ///< on the mesh that joins the cores of the node, if there is one
  int32_t row = unknown;

  [[nodiscard]] bool on_mesh() const { return column != unknown; }
  bool operator==(const Location&) const = default;
};

/// Levels that two spots are apart: 0 on one core, 1 with one cache, 2 in one NUMA domain, 3 in
/// one package, 4 on one node, 8 beyond. On a mesh hops along columns and rows count instead.
int64_t distance(const Location& from, const Location& to);

constexpr int64_t levels_between_nodes = 8;

/// Indices of spots by node, package, domain, cache and core; equal ones in the order in which they
/// are given.
std::vector<int> in_order(const std::vector<Location>& locations);

/// What takes data in at a bounded rate: a domain of memory, or on a mesh a column of its links.
/// Equal for spots that share one.
struct Intake {
  int32_t node = 0;
  int32_t part = unknown;
  auto operator<=>(const Intake&) const = default;
};
Intake intake_of(const Location& location);

}  // namespace pillion::topology
