! SPDX-License-Identifier: BSD-3-Clause
! Ends a run that cannot go on.
module failure
  use, intrinsic :: iso_fortran_env, only: error_unit
  use mpi_f08, only: MPI_COMM_WORLD, MPI_Abort, MPI_Comm_rank, MPI_Finalize
  implicit none
  private
  public :: fail, fail_here

contains

  !> For a reason that every rank has alike: all of them call this, and one says why.
  subroutine fail(why)
    character(*), intent(in) :: why
    integer :: rank
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    if (rank == 0) write (error_unit, '(2a)') 'taylor_green: ', why
    call MPI_Finalize()
    stop 1, quiet=.true.
  end subroutine

  !> For a reason that perhaps only this rank has.
  subroutine fail_here(why)
    character(*), intent(in) :: why
    write (error_unit, '(2a)') 'taylor_green: ', why
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

end module
