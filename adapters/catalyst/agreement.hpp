// SPDX-License-Identifier: BSD-3-Clause
// How ranks of the simulation come to the same facts, and to the same outcome.
#pragma once

#include <mpi.h>

#include <array>
#include <optional>
#include <string>

#include "facts.hpp"

namespace pillion::catalyst {

/// The facts of all ranks together, the same on every rank. No rank holds more than two ranks'
/// facts at a time. [collective]
Facts agree(Facts mine, MPI_Comm comm);

/// Bounds of this rank's positions in a mesh of particles: least values, and, with the other sign,
/// largest ones.
std::array<double, 6> bounds_of(const Key& key, const Description& description);

struct AgreedDomain {
  pillion_domain domain;
  bool is_given_by_all = false;
};
/// The domain of a mesh of particles: one that a rank has given, or else the box around all
/// positions, in which the last one lies. [collective]
AgreedDomain agree_on_domain(const std::optional<pillion_domain>& given,
                             const std::array<double, 6>& bounds, MPI_Comm comm);

/// The text of rank 0 on every rank. [collective]
std::string broadcast(std::string text, MPI_Comm comm);

}  // namespace pillion::catalyst
