! SPDX-License-Identifier: BSD-3-Clause
! Files from which a run resumes, on any number of ranks. 64 bytes of head: the mark and version
! 'taylgrn1', order, elements per side, levels and step as 64-bit integers, and the times of three
! levels as 64-bit reals, the present first. Then element after element, by number, its velocities
! u(i, j, k, component, level) as 64-bit reals, all in the byte order of the machine. One level is
! enough to begin from.
module checkpoints
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
  use, intrinsic :: iso_fortran_env, only: dp => real64, int64
  use failure, only: fail, fail_here
  use mesh, only: spectral_mesh
  use mpi_f08
  use stepping, only: begin, flow
  implicit none
  private
  public :: write_checkpoint, read_checkpoint

  integer(int64), parameter :: mark = transfer('taylgrn1', 0_int64)
  integer, parameter :: head_bytes = 64

  interface
    integer(c_int) function rename_file(old, new) bind(c, name='rename')
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: old(*), new(*)
    end function
  end interface

contains

  !> The file appears under its name when it is whole. Collective.
  subroutine write_checkpoint(f, name, step)
    type(flow), intent(in) :: f
    character(*), intent(in) :: name
    integer, intent(in) :: step
    type(MPI_File) :: file
    integer :: e
    file = opened(f%space%mesh, name // '.part', ior(MPI_MODE_CREATE, MPI_MODE_WRONLY))
    call MPI_File_set_size(file, 0_MPI_OFFSET_KIND)
    if (f%space%mesh%rank == 0) call write_head(file, f, step)
    do e = 1, f%space%mesh%count
      call write_element(file, f, e)
    end do
    call MPI_File_close(file)
    if (f%space%mesh%rank /= 0) return
    if (rename_file(name // '.part' // c_null_char, name // c_null_char) /= 0) &
      call fail_here(name // ': cannot be written')
  end subroutine

  !> Collective.
  subroutine read_checkpoint(f, name, step)
    type(flow), intent(inout) :: f
    character(*), intent(in) :: name
    integer, intent(out) :: step
    type(MPI_File) :: file
    real(dp), allocatable :: velocity(:, :, :, :, :, :), element(:, :, :, :, :)
    real(dp) :: times(3)
    integer :: e, levels
    file = opened(f%space%mesh, name, MPI_MODE_RDONLY)
    call read_head(file, f%space%mesh, name, levels, step, times)
    associate (n => f%space%mesh%n, count => f%space%mesh%count)
      allocate (velocity(n, n, n, 3, count, levels), element(n, n, n, 3, levels))
      do e = 1, count
        call MPI_File_read_at(file, place(f%space%mesh, e, levels), element, size(element), &
                              MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE)
        velocity(:, :, :, :, e, :) = element
      end do
    end associate
    call MPI_File_close(file)
    call begin(f, times(:levels), velocity)
  end subroutine

  function opened(mesh, name, mode) result(file)
    type(spectral_mesh), intent(in) :: mesh
    character(*), intent(in) :: name
    integer, intent(in) :: mode
    type(MPI_File) :: file
    integer :: status
    call MPI_File_open(mesh%comm, name, mode, MPI_INFO_NULL, file, status)
    if (status /= MPI_SUCCESS) call fail(name // ': cannot be opened')
  end function

  subroutine write_head(file, f, step)
    type(MPI_File), intent(in) :: file
    type(flow), intent(in) :: f
    integer, intent(in) :: step
    integer(int64) :: numbers(5)
    numbers = [mark, int([f%space%mesh%n - 1, f%space%mesh%side, f%levels, step], int64)]
    call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, numbers, 5, MPI_INTEGER8, MPI_STATUS_IGNORE)
    call MPI_File_write_at(file, 40_MPI_OFFSET_KIND, f%times, 3, MPI_DOUBLE_PRECISION, &
                           MPI_STATUS_IGNORE)
  end subroutine

  subroutine read_head(file, mesh, name, levels, step, times)
    type(MPI_File), intent(in) :: file
    type(spectral_mesh), intent(in) :: mesh
    character(*), intent(in) :: name
    integer, intent(out) :: levels, step
    real(dp), intent(out) :: times(3)
    integer(int64) :: numbers(5)
    integer(MPI_OFFSET_KIND) :: bytes
    numbers = 0
    call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, numbers, 5, MPI_INTEGER8, MPI_STATUS_IGNORE)
    call MPI_File_read_at(file, 40_MPI_OFFSET_KIND, times, 3, MPI_DOUBLE_PRECISION, &
                          MPI_STATUS_IGNORE)
    call MPI_File_get_size(file, bytes)
    if (numbers(1) /= mark) call fail(name // ': is not a checkpoint of this program')
    if (any(numbers(2:3) /= [mesh%n - 1, mesh%side])) &
      call fail(name // ': was written with order=' // text(numbers(2)) // ' elements=' &
                // text(numbers(3)) // '; give the same')
    if (numbers(4) < 1 .or. numbers(4) > 3) call fail(name // ': has ' // text(numbers(4)) &
      // ' levels instead of 1 to 3')
    levels = int(numbers(4))
    step = int(numbers(5))
    if (bytes /= head_bytes + mesh%side**3 * element_bytes(mesh, levels)) &
      call fail(name // ': has ' // text(int(bytes, int64)) // ' bytes, not what its head says')
  end subroutine

  subroutine write_element(file, f, e)
    type(MPI_File), intent(in) :: file
    type(flow), intent(in) :: f
    integer, intent(in) :: e
    real(dp) :: element(f%space%mesh%n, f%space%mesh%n, f%space%mesh%n, 3, f%levels)
    integer :: l, status
    element(:, :, :, :, 1) = f%velocity(:, :, :, :, e)
    do l = 2, f%levels
      element(:, :, :, :, l) = f%past(:, :, :, :, e, f%ago(l - 1))
    end do
    call MPI_File_write_at(file, place(f%space%mesh, e, f%levels), element, size(element), &
                           MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, status)
    if (status /= MPI_SUCCESS) call fail_here('a checkpoint cannot be written: is the disk full?')
  end subroutine

  pure function place(mesh, e, levels)
    type(spectral_mesh), intent(in) :: mesh
    integer, intent(in) :: e, levels
    integer(MPI_OFFSET_KIND) :: place
    place = head_bytes + (mesh%numbers(e) - 1) * element_bytes(mesh, levels)
  end function

  pure function element_bytes(mesh, levels) result(bytes)
    type(spectral_mesh), intent(in) :: mesh
    integer, intent(in) :: levels
    integer(MPI_OFFSET_KIND) :: bytes
    bytes = 8 * 3 * levels * mesh%n**3
  end function

  pure function text(number)
    integer(int64), intent(in) :: number
    character(:), allocatable :: text
    character(20) :: digits
    write (digits, '(i0)') number
    text = trim(digits)
  end function

end module
