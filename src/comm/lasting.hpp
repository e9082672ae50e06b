// SPDX-License-Identifier: BSD-3-Clause
// Communicators that the program gets. It may use one until MPI_Finalize, however long its session
// has been closed: a solver that is given a communicator keeps it. They are freed in MPI_Finalize.
// A session that opens later on the same ranks gets the one of a session that has closed, so that
// a program may open any number of them.
#pragma once

#include "comm/communicator.hpp"

namespace pillion::comm {

/// A communicator of `ranks` that stays until MPI_Finalize. [collective]
[[nodiscard]] MPI_Comm take_lasting(const Communicator& ranks);
/// A later session may take it. Not collective.
void give_back_lasting(MPI_Comm comm) noexcept;

/// Whether MPI was initialised and has not ended.
[[nodiscard]] bool is_mpi_running();

}  // namespace pillion::comm
