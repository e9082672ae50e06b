! SPDX-License-Identifier: BSD-3-Clause
! What misuse.c does, as far as Fortran allows it: calls at the wrong time or with the wrong
! communicator give a status, and none ends the program.
program misuse
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use mpi_f08
  use check
  use pillion
  implicit none
  real(real32), target :: heights(16) = 0
  type(pillion_session) :: session
  type(MPI_Comm) :: comm
  integer :: ierr
  call without_mpi('MPI_Init')
  call MPI_Init()
  call pillion_open('second.yaml', MPI_COMM_NULL, session, ierr)
  call expect(ierr == pillion_error_argument, 'MPI_COMM_NULL is refused')
  call intercommunicator()
  call pillion_open('second.yaml', MPI_COMM_WORLD, session, ierr)
  call expect_ok(ierr, 'open')
  call expect(.not. pillion_serve(session), 'no sidecars')
  call share()
  call pillion_step(session, 0, 0.0_real64, ierr)
  call expect_ok(ierr, 'step')
  call pillion_set_parameter(session, 'n', 1, ierr)
  call expect(ierr == pillion_error_state, 'a parameter comes too late')
  call expect(index(pillion_error_message(), 'too late') > 0, 'the message names the reason')
  call pillion_configure(session, ierr)
  call expect_ok(ierr, 'configure what is configured')
  call pillion_close(session, ierr)
  call expect_ok(ierr, 'close')
  call pillion_close(session, ierr)
  call expect_ok(ierr, 'close twice')
  call pillion_step(session, 1, 1.0_real64, ierr)
  call expect(ierr == pillion_error_argument, 'a step of a closed session is refused')
  call pillion_communicator(session, comm)
  call expect(comm == MPI_COMM_NULL, 'a closed session has no communicator')
  call end_alike()
  call without_mpi('MPI_Finalize')

contains

  subroutine without_mpi(why)
    character(*), intent(in) :: why
    call pillion_open('second.yaml', MPI_COMM_WORLD, session, ierr)
    call expect(ierr == pillion_error_state, 'open without MPI is refused')
    call expect(index(pillion_error_message(), why) > 0, 'the message names '//why)
    call pillion_close(session, ierr)
    call expect_ok(ierr, 'close without MPI')
  end subroutine

  subroutine intercommunicator()
    type(MPI_Comm) :: half, both
    integer :: rank
    if (world_size() == 1) return
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half)
    call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mod(rank, 2), 0, both)
    call pillion_open('second.yaml', both, session, ierr)
    call expect(ierr == pillion_error_argument, 'an intercommunicator is refused')
    call expect(index(pillion_error_message(), 'intercommunicator') > 0, 'and named')
    call MPI_Comm_free(both)
    call MPI_Comm_free(half)
  end subroutine

  subroutine share()
    integer :: rank, ranks, first, last
    call pillion_communicator(session, comm)
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    first = 16*rank/ranks + 1
    last = 16*(rank + 1)/ranks
    call pillion_share_box(session, 'height', 0, [first], [last], heights(first:last), ierr=ierr)
    call expect_ok(ierr, 'share')
  end subroutine
end program
