// SPDX-License-Identifier: BSD-3-Clause
// How ranks of the simulation come to the same facts, and to the same outcome.
#pragma once

#include <mpi.h>

#include <string>

#include "facts.hpp"

namespace pillion::catalyst {

/// The facts of all ranks together, the same on every rank. No rank holds more than two ranks'
/// facts at a time. [collective]
Facts agree(Facts mine, MPI_Comm comm);

/// The text of rank 0 on every rank. [collective]
std::string broadcast(std::string text, MPI_Comm comm);

}  // namespace pillion::catalyst
