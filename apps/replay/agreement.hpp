// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of pillion-replay fail together. They have time, unlike those of a simulation, so
// they agree wherever one of them may fail alone.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>

namespace replay {

/// Runs `work` on every rank. If it throws on any, what the lowest such rank threw is thrown on
/// all. The work must not be collective. [collective]
void together(MPI_Comm comm, const std::function<void()>& work);

/// What `work` returns on rank 0, on every rank; what it throws there, too. [collective]
std::string from_first(MPI_Comm comm, const std::function<std::string()>& work);

}  // namespace replay
