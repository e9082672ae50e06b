! SPDX-License-Identifier: BSD-3-Clause
! Makes the mistake that its first argument names, for test_trouble_in_fortran.py; what is one
! rank's mistake is the last one's. With a second argument it asks for statuses, prints the first
! that is not 0 with its message, and ends well; without one it leaves them out, so that the job
! must stop.
module attempts
  use, intrinsic :: iso_fortran_env, only: output_unit, real64
  use mpi
  use pillion
  implicit none

  type(pillion_session) :: session
  real(real64), target :: heights(12) = 1
  integer :: rank, ranks, code
  character(16) :: mistake

contains

  subroutine share(from, to)
    integer, intent(in) :: from, to
    integer, target :: whole(12)
    character(:), allocatable :: what
    what = trim(mistake)
    if (rank /= ranks - 1) what = ''
    select case (what)
    case ('shape')
      call pillion_share_box(session, 'height', 0, [from], [to], heights(:to - from))
    case ('axes')
      call pillion_share_box(session, 'height', 0, [from, 1], [to, 1], heights(:to - from + 1))
    case ('box')
      call pillion_share_box(session, 'height', 0, [from + 1], [to + 1], heights(:to - from + 1))
    case ('type')
      call pillion_share_box(session, 'height', 0, [from], [to], whole(:to - from + 1))
    case ('ends')
      call pillion_share_box(session, 'height', 0, [from], [to, 1], heights(:to - from + 1))
    case ('strides')
      call pillion_share_box_strided(session, 'height', 0, [from], [to], heights(1), [1])
    case ('indices')
      call pillion_share_box_strided(session, 'height', 0, [from, 1], [to, 1], heights(1), [1, 1, 1])
    case ('name')
      call pillion_share_box(session, 'heigth ', 0, [from], [to], heights(:to - from + 1))
    case default
      call pillion_share_box(session, 'height', 0, [from], [to], heights(:to - from + 1))
    end select
  end subroutine

  subroutine go_on(ierr)
    integer, intent(out), optional :: ierr
    type(pillion_field) :: field
    real(real64), pointer :: other(:)
    call share(12*rank/ranks + 1, 12*(rank + 1)/ranks)
    if (mistake == 'swap' .and. rank == ranks - 1) then
      allocate (other(1))
      call pillion_swap(session, 'height', 0, other, ierr)
      if (present(ierr)) return
    else if (mistake == 'size' .and. rank == ranks - 1) then
      call pillion_allocate(session, 'height', 1, [-1], 2, other, ierr)
      if (present(ierr)) return
    else if (mistake == 'number') then
      call pillion_get_field(session, 7, field, ierr)
      if (present(ierr)) return
    end if
    if (mistake == 'calls' .and. rank == ranks - 1) then
      call pillion_close(session, ierr)
      return
    end if
    call pillion_step(session, 0, 0.0_real64, ierr)
    if (mistake == 'folder') call pillion_checkpoint(session, 'pillion.yaml/folder', ierr)
  end subroutine
end module

program trouble
  use attempts
  implicit none
  character(:), allocatable :: file
  integer :: ierr
  call get_command_argument(1, mistake)
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  file = 'pillion.yaml'
  if (mistake == 'file') file = 'absent.yaml'
  if (command_argument_count() > 1) then
    call pillion_open(file, MPI_COMM_WORLD, session, ierr)
    if (ierr == 0) call go_on(ierr)
    if (ierr /= 0) print '(i0, 2a)', ierr, ' ', pillion_error_message()
    flush (output_unit)
  else
    call pillion_open(file, MPI_COMM_WORLD, session)
    call go_on()
    call pillion_close(session)
    print '(a)', 'closed'
  end if
  call MPI_Finalize(code)
end program
