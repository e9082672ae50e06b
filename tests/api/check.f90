! SPDX-License-Identifier: BSD-3-Clause
! What check.h is for the API tests in C: a check that fails is counted and reported, and the
! program goes on, so that no rank leaves the others waiting; every rank then ends with a status
! that all agree on.
module check
  use, intrinsic :: iso_fortran_env, only: error_unit
  use mpi_f08
  implicit none
  private
  public :: end_alike, expect, expect_ok, file_exists, world_size

  integer :: failures = 0

contains

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    failures = failures + 1
    write (error_unit, '(2a)') 'failed: ', what
  end subroutine

  subroutine expect_ok(status, what)
    integer, intent(in) :: status
    character(*), intent(in) :: what
    call expect(status == 0, what)
  end subroutine

  ! Finalises MPI, and stops with status 0 if no rank saw a failure.
  subroutine end_alike()
    integer :: total
    call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Finalize()
    if (total > 0) stop 1
  end subroutine

  function world_size() result(size)
    integer :: size
    call MPI_Comm_size(MPI_COMM_WORLD, size)
  end function

  function file_exists(path) result(exists)
    character(*), intent(in) :: path
    logical :: exists
    inquire (file=path, exist=exists)
  end function
end module
