/* SPDX-License-Identifier: BSD-3-Clause */
/* What the headers of Pillion name of MPI, so that the reference can be made without it. */
#pragma once
typedef struct mpi_communicator* MPI_Comm;
typedef int MPI_Fint;
