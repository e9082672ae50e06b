! SPDX-License-Identifier: BSD-3-Clause
! How a call ends: its status goes to `ierr`. Where the caller did not give one, a mistake of the
! program stops the job with its message; a failure of a checkpoint or at the end only prints it.
! And texts on their way to C and back, where blanks at their end do not count and the NUL is C's.
module pillion_status
  use, intrinsic :: iso_c_binding, only: &
    c_char, c_f_pointer, c_int32_t, c_null_char, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
  use mpi_f08, only: MPI_Abort, MPI_Comm_rank, MPI_COMM_WORLD, MPI_Finalized, MPI_Initialized
  use pillion_c, only: &
    c_error_message, pillion_error_argument, pillion_ok
  implicit none
  private
  public :: conclude, conclude_and_continue, from_c, pillion_error_message, refuse, &
    text_of, to_c

  ! What this module's users found wrong themselves, if that was the last failure.
  character(:), allocatable :: own_message

  interface
    function strlen(text) result(length) bind(C)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

  ! Numbers as text that comes back as it was.
  interface text_of
    module procedure text_of_int32, text_of_int64, text_of_real32, text_of_real64
  end interface

contains

  ! Message of the last failure on this thread; empty if there was none.
  function pillion_error_message() result(text)
    character(:), allocatable :: text
    if (allocated(own_message)) then
      text = own_message
    else
      text = from_c(c_error_message())
    end if
  end function

  ! Ends a call that did not come to the library.
  subroutine refuse(message, ierr)
    character(*), intent(in) :: message
    integer, intent(out), optional :: ierr
    own_message = message
    if (present(ierr)) then
      ierr = pillion_error_argument
    else
      call stop_job(int(pillion_error_argument))
    end if
  end subroutine

  subroutine conclude(status, ierr)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: ierr
    if (status /= pillion_ok .and. allocated(own_message)) deallocate (own_message)
    if (present(ierr)) then
      ierr = int(status)
    else if (status /= pillion_ok) then
      call stop_job(int(status))
    end if
  end subroutine

  ! The same for calls whose failure must not end a simulation.
  subroutine conclude_and_continue(status, ierr)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: ierr
    if (status /= pillion_ok .and. allocated(own_message)) deallocate (own_message)
    if (present(ierr)) then
      ierr = int(status)
    else if (status /= pillion_ok) then
      call print_message()
    end if
  end subroutine

  ! Ranks that do not fail must not wait for one that does, so all are ended.
  subroutine stop_job(status)
    integer, intent(in) :: status
    call print_message()
    if (is_mpi_running()) call MPI_Abort(MPI_COMM_WORLD, status)
    error stop 1
  end subroutine

  subroutine print_message()
    integer :: rank
    rank = 0
    if (is_mpi_running()) call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    write (error_unit, '(a, i0, 2a)') 'pillion, rank ', rank, ': ', pillion_error_message()
    flush (error_unit)
  end subroutine

  function is_mpi_running() result(running)
    logical :: running, begun, ended
    call MPI_Initialized(begun)
    call MPI_Finalized(ended)
    running = begun .and. .not. ended
  end function

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

  function text_of_int32(value) result(text)
    integer(int32), intent(in) :: value
    character(:), allocatable :: text
    text = text_of_int64(int(value, int64))
  end function

  function text_of_int64(value) result(text)
    integer(int64), intent(in) :: value
    character(:), allocatable :: text
    character(20) :: digits
    write (digits, '(i0)') value
    text = trim(digits)
  end function

  function text_of_real32(value) result(text)
    real(real32), intent(in) :: value
    character(:), allocatable :: text
    character(32) :: digits
    write (digits, '(es15.8e3)') value
    text = trim(adjustl(digits))
  end function

  function text_of_real64(value) result(text)
    real(real64), intent(in) :: value
    character(:), allocatable :: text
    character(32) :: digits
    write (digits, '(es24.16e3)') value
    text = trim(adjustl(digits))
  end function
end module
