! SPDX-License-Identifier: BSD-3-Clause
! The C consumer in Fortran. Usage: FILE OUTPUT.
program consumer
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use pillion
  implicit none
  type(pillion_options) :: options
  type(pillion_session) :: session
  type(pillion_progress) :: progress
  type(MPI_Comm) :: comm
  character(256) :: file, output
  real(real64), target :: height(12)
  integer :: rank, ranks, lo, hi, step, i
  call get_command_argument(1, file)
  call get_command_argument(2, output)
  call MPI_Init()
  call pillion_options_create(options)
  call pillion_options_set(options, 'output', output)
  call pillion_open_with(file, MPI_COMM_WORLD, options, session)
  call pillion_options_free(options)
  call pillion_communicator(session, comm)
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, ranks)
  lo = 12*rank/ranks + 1
  hi = 12*(rank + 1)/ranks
  height = [(merge(1.0_real64, -1.0_real64, mod(i, 2) == 1), i=1, 12)]
  do step = 0, 3
    call pillion_share_box(session, 'height', 0, [lo], [hi], height(lo:hi))
    call pillion_step(session, step, real(step, real64))
  end do
  call pillion_get_progress(session, progress)
  call pillion_close(session)
  call MPI_Finalize()
  if (progress%step /= 3 .or. progress%disabled /= 0) error stop
end program
