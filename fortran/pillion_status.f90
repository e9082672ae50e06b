! SPDX-License-Identifier: BSD-3-Clause
! How a call ends: its status goes to `ierr`, or, where the caller did not give one, a failure stops
! the job with its message. And texts on their way to C and back, where blanks at their end do not
! count and the NUL is C's.
module pillion_status
  use, intrinsic :: iso_c_binding, only: &
    c_char, c_f_pointer, c_int32_t, c_null_char, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: error_unit
  use mpi_f08, only: MPI_Abort, MPI_Comm_rank, MPI_COMM_WORLD, MPI_Finalized, MPI_Initialized
  use pillion_c, only: &
    c_error_message, pillion_ok
  implicit none
  private
  public :: conclude, from_c, pillion_error_message, to_c

  interface
    function strlen(text) result(length) bind(C)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  ! Message of the last failure on this thread; empty if there was none.
  function pillion_error_message() result(text)
    character(:), allocatable :: text
    text = from_c(c_error_message())
  end function

  subroutine conclude(status, ierr)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: ierr
    if (present(ierr)) then
      ierr = int(status)
    else if (status /= pillion_ok) then
      call stop_job(int(status))
    end if
  end subroutine

  ! Ranks that do not fail must not wait for one that does, so all are ended.
  subroutine stop_job(status)
    integer, intent(in) :: status
    logical :: begun, ended
    integer :: rank
    call MPI_Initialized(begun)
    call MPI_Finalized(ended)
    rank = 0
    if (begun .and. .not. ended) call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    write (error_unit, '(a, i0, 2a)') 'pillion, rank ', rank, ': ', pillion_error_message()
    flush (error_unit)
    if (begun .and. .not. ended) call MPI_Abort(MPI_COMM_WORLD, status)
    error stop 1
  end subroutine

  function to_c(text) result(c_text)
    character(*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: c_text
    c_text = trim(text)//c_null_char
  end function

  function from_c(c_text) result(text)
    type(c_ptr), intent(in) :: c_text
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(c_text, letters, [strlen(c_text)])
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function
end module
