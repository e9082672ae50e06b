! SPDX-License-Identifier: BSD-3-Clause
! What is around a block of docs/howto-fortran.md: a program that opens a session with options.
module log
  implicit none
contains
  subroutine write_message(level, message)
    integer, intent(in) :: level
    character(*), intent(in) :: message
    print *, level, message
  end subroutine
end module

program main
  use log
  use mpi_f08
  use pillion
  implicit none
  integer, parameter :: nx = 4
  type(pillion_session) :: pil
  integer :: ierr
  call MPI_Init()
  call open_session()
  call pillion_close(pil)
  call MPI_Finalize()
contains
  subroutine open_session()
    ! block
  end subroutine
end program
