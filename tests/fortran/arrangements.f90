! SPDX-License-Identifier: BSD-3-Clause
! Shares the same numbers in every arrangement that a program may have them in, each as a field of
! its own, for test_arrangements.py: the value at cell (i, j, k), counted from 1, is 100 i + 10 j +
! k, and 1000 c more for component c. The third step is offered from other memory and with other
! counts. Usage: arrangements, where pillion.yaml is.
module fields
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use mpi_f08
  use pillion
  implicit none

  integer, parameter :: nx = 5, ny = 4, nz = 6, room = 12

  ! Values that are 24 bytes apart.
  type :: cell
    integer(int32) :: before
    real(real64) :: value
    real(real32) :: after
  end type

  type(pillion_session) :: session
  integer :: lo(3), hi(3), n(3), rank
  real(real64), allocatable, target :: packed(:, :, :)
  real(real32), allocatable, target :: ghosts(:, :, :)
  integer(int16), allocatable, target :: around(:, :, :)
  integer(int8), allocatable, target :: small(:, :, :)
  integer(int32), allocatable, target :: every_other(:, :, :)
  integer(int64), allocatable, target :: backwards(:, :, :)
  type(cell), allocatable, target :: member(:, :, :)
  real(real64), allocatable, target :: first(:, :, :, :)
  real(real32), allocatable, target :: last(:, :, :, :)
  integer(int32), allocatable, target :: flat_first(:)
  real(real64), allocatable, target :: flat_last(:)
  real(real64), allocatable, target :: like_c(:, :, :)
  real(real64), pointer :: own(:, :, :), values(:, :, :)
  real(real32), target :: sheet(6, 5), line(2, 7)
  real(real64), target :: position(3, room), velocity(room, 3)
  integer(int64), target :: id(room)
  real(real32), target :: mass(2*room)
  real(real64), target :: points(3, 3, 3, 2, room)    ! of elements, as those below
  real(real32), target :: one_of_them(27, room)
  integer(int64), target :: flat(2*27*room)
  integer(int32), target :: means(2, 2*room)
  real(real32), allocatable, target :: u(:, :, :), v(:, :, :), w(:, :, :)   ! components apart
  real(real64), target :: x(2*room), between(7), y(2*room), z(2*room)
  real(real64), target :: vx(3, 3, 3, room), vy(3, 3, 3, room)

contains

  subroutine divide(comm)
    type(MPI_Comm), intent(in) :: comm
    integer :: dims(3), place(3), ranks
    type(MPI_Comm) :: grid
    call MPI_Comm_size(comm, ranks)
    dims = 0
    call MPI_Dims_create(ranks, 3, dims)
    call MPI_Cart_create(comm, 3, dims, [.false., .false., .false.], .false., grid)
    call MPI_Comm_rank(grid, rank)
    call MPI_Cart_coords(grid, rank, 3, place)
    call MPI_Comm_free(grid)
    lo = [nx, ny, nz]*place/dims + 1
    hi = [nx, ny, nz]*(place + 1)/dims
    n = hi - lo + 1
  end subroutine

  subroutine make()
    allocate (packed(lo(1):hi(1), lo(2):hi(2), lo(3):hi(3)))
    allocate (ghosts(0:n(1) + 1, -1:n(2) + 2, 0:n(3) + 3), source=-1.0_real32)
    allocate (around(0:n(1) + 1, -1:n(2) + 2, n(3)), source=-1_int16)
    allocate (small(n(1), n(2), n(3)))
    allocate (every_other(2*n(1), n(2), 3*n(3)), source=-1)
    allocate (backwards(n(1), n(2), n(3)), member(n(1), n(2), n(3)))
    allocate (first(3, n(1), n(2), n(3)), last(n(1), n(2), n(3), 3))
    allocate (flat_first(2*product(n)), flat_last(2*product(n)))
    allocate (like_c(n(3), n(2), n(1)))
    allocate (u(0:n(1) + 1, 0:n(2) + 1, n(3)), v(0:n(1) + 1, 0:n(2) + 1, n(3)), source=-1.0_real32)
    allocate (w(0:n(1) + 1, 0:n(2) + 1, n(3)), source=-1.0_real32)
    call pillion_allocate(session, 'own', 0, n, 2, own)
  end subroutine

  elemental function value(i, j, k, c) result(v)
    integer, intent(in) :: i, j, k, c
    integer :: v
    v = 1000*c + 100*(lo(1) + i - 1) + 10*(lo(2) + j - 1) + lo(3) + k - 1
  end function

  subroutine fill()
    integer :: i, j, k, c, at
    do k = 1, n(3)
      do j = 1, n(2)
        do i = 1, n(1)
          packed(lo(1) + i - 1, lo(2) + j - 1, lo(3) + k - 1) = value(i, j, k, 0)
          ghosts(i, j, k) = real(value(i, j, k, 0), real32)
          around(i, j, k) = int(value(i, j, k, 0), int16)
          small(i, j, k) = int(value(i, j, k, 0)/10, int8)
          every_other(2*i, j, 3*k - 2) = value(i, j, k, 0)
          backwards(n(1) + 1 - i, j, n(3) + 1 - k) = value(i, j, k, 0)
          member(i, j, k)%value = value(i, j, k, 0)
          like_c(k, j, i) = value(i, j, k, 0)
          own(i, j, k) = value(i, j, k, 0)
          do c = 1, 3
            first(c, i, j, k) = value(i, j, k, c)
            last(i, j, k, c) = real(value(i, j, k, c), real32)
          end do
          u(i, j, k) = real(value(i, j, k, 1), real32)
          v(i, j, k) = real(value(i, j, k, 2), real32)
          w(i, j, k) = real(value(i, j, k, 3), real32)
          at = i + n(1)*(j - 1 + n(2)*(k - 1))
          do c = 1, 2
            flat_first(2*(at - 1) + c) = value(i, j, k, c)
            flat_last(at + product(n)*(c - 1)) = value(i, j, k, c)
          end do
        end do
      end do
    end do
  end subroutine

  subroutine share()
    type(pillion_view) :: unsigned
    call pillion_share_box(session, 'packed', 0, lbound(packed), ubound(packed), packed)
    call pillion_share_box(session, 'ghosts', 0, lo, hi, ghosts(1:n(1), 1:n(2), 1:n(3)))
    call pillion_share_box(session, 'around', 0, lo, hi, around, ghosts=[1, 2, 0])
    call pillion_share_box(session, 'small', 0, lo, hi, small)
    unsigned = pillion_view_of(around(1:n(1), 1:n(2), :))
    unsigned%type = pillion_uint16
    call pillion_share_box_components(session, 'unsigned', 0, lo, hi, [unsigned])
    call pillion_share_box(session, 'every_other', 0, int(lo, int64), int(hi, int64), &
      every_other(2::2, :, ::3))
    call pillion_share_box(session, 'backwards', 0, lo, hi, backwards(n(1):1:-1, :, n(3):1:-1))
    values => member%value
    call pillion_share_box(session, 'member', 0, lo, hi, values)
    call pillion_share_box(session, 'own', 0, lo, hi, own)
    call pillion_share_box(session, 'first', 0, lo, hi, first)
    call pillion_share_box(session, 'last', 0, lo, hi, last, pillion_components_last)
    call pillion_share_box(session, 'flat_first', 0, lo, hi, flat_first)
    call pillion_share_box(session, 'flat_last', 0, lo, hi, flat_last, pillion_components_last)
    call pillion_share_box_strided(session, 'like_c', 0, lo, hi, like_c(1, 1, 1), &
      [n(3)*n(2), n(3), 1, 0])
    call pillion_share_box_components(session, 'apart', 0, lo, hi, [ &
      pillion_view_of(u(1:n(1), 1:n(2), :)), pillion_view_of(v(1:n(1), 1:n(2), :)), &
      pillion_view_of(w(1:n(1), 1:n(2), :))])
    call share_on_first_rank()
  end subroutine

  ! Other ranks have no block of these meshes.
  subroutine share_on_first_rank()
    integer :: i, j
    if (rank > 0) return
    sheet = reshape([((100.0*i + 10.0*j, i=1, 6), j=1, 5)], [6, 5])
    line = reshape([(100.0*i + 1000, 100.0*i + 2000, i=1, 7)], [2, 7])
    call pillion_share_box(session, 'sheet', 3, [1, 1], [6, 5], sheet)
    call pillion_share_box(session, 'line', 0, [1], [7], line)
  end subroutine

  ! A number of particles of this rank, in arrays that have room for more.
  subroutine share_particles(count)
    integer, intent(in) :: count
    integer :: i
    do i = 1, count
      id(i) = 100*rank + i
      position(:, i) = real(id(i), real64) + [0.1_real64, 0.2_real64, 0.3_real64]
      velocity(i, :) = -position(:, i)
      mass(2*i - 1) = real(id(i), real32)
      x(2*i) = position(1, i)
      y(2*i) = position(2, i)
      z(2*i) = position(3, i)
    end do
    call pillion_share_particles(session, 'id', 0, count, id)
    call pillion_share_particles(session, 'position', 0, int(count, int64), position)
    call pillion_share_particles(session, 'velocity', 0, count, velocity, pillion_components_last)
    call pillion_share_particles(session, 'mass', 0, count, mass(1::2))
    between = 0
    call pillion_share_components(session, 'xyz', 0, count, &
      [pillion_view_of(x(2::2)), pillion_view_of(y(2::2)), pillion_view_of(z(2::2))])
  end subroutine

  ! The value at point (i, j, k) of an element is that of cell (i, j, k) and 10000 times its number.
  subroutine share_elements(count)
    integer, intent(in) :: count
    integer :: e, c, i, j, k
    do e = 1, count
      do c = 1, 2
        do k = 1, 3
          do j = 1, 3
            points(:, j, k, c, e) = [(10000*(100*rank + e) + 1000*c + 100*i + 10*j + k, i=1, 3)]
          end do
        end do
      end do
      one_of_them(:, e) = real(reshape(points(:, :, :, 1, e), [27]), real32)
      means(:, 2*e) = [100*rank + e, -100*rank - e]
    end do
    vx = points(:, :, :, 1, :)
    vy = points(:, :, :, 2, :)
    flat = int(reshape(points, [size(points)]), int64)
    call pillion_share_elements(session, 'points', 0, count, points)
    call pillion_share_elements(session, 'one_of_them', 0, count, one_of_them(:, :count))
    call pillion_share_elements(session, 'flat', 0, int(count, int64), flat)
    call pillion_share_elements(session, 'means', 0, count, means(:, 2::2))
    call pillion_share_components(session, 'v', 0, int(count, int64), &
      [pillion_view_of(vx), pillion_view_of(vy)])
  end subroutine

  subroutine replace()
    deallocate (packed, ghosts, around, small, every_other, backwards, member, first, last, &
      flat_first, flat_last, like_c, u, v, w)
    call pillion_unshare(session, 'own', 0)
    call make()
  end subroutine
end module

program arrangements
  use fields
  implicit none
  type(MPI_Comm) :: comm
  integer :: step
  call MPI_Init()
  call pillion_open('pillion.yaml', MPI_COMM_WORLD, session)
  if (pillion_serve(session)) then
    call MPI_Finalize()
    stop
  end if
  call pillion_communicator(session, comm)
  call divide(comm)
  call make()
  call pillion_set_domain(session, 'atoms', [0d0, 0d0, 0d0], [1d3, 1d3, 1d3], [1d0, 2d0, 3d0], &
    [.true., .false., .true.])
  do step = 0, 2
    if (step == 1) call pillion_swap(session, 'own', 0, own)
    if (step == 2) call replace()
    call fill()
    call share()
    call share_particles(merge(0, 5 + rank + step, rank == 1 .and. step == 0))
    call share_elements(merge(0, 2 + rank + step, rank == 1 .and. step == 0))
    call pillion_step(session, step, 0.5d0*step)
  end do
  call pillion_close(session)
  call MPI_Finalize()
end program
