! SPDX-License-Identifier: BSD-3-Clause
! The heat example in Fortran: the same equations, cut and result as in heat.c, which says more.
! Arrays have the bounds of the whole cube, and a layer of ghost cells. Usage: heat_fortran [cells
! per side [steps]], where pillion.yaml is.
module conduction
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  implicit none

  real(real64), parameter :: mean = 300, amplitude = 10  ! K
  real(real64), parameter :: side = 1                    ! m
  real(real64), parameter :: alpha = 1e-4_real64         ! m^2/s
  real(real64), parameter :: pi = acos(-1.0_real64)

  type :: heat
    type(MPI_Comm) :: comm           ! a periodic grid of ranks
    integer :: below(3), above(3)    ! neighbours
    integer :: cells                 ! per side of the cube
    integer :: lo(3), hi(3)          ! the part of this rank
    real(real64), pointer :: now(:, :, :), next(:, :, :)
  end type

contains

  ! Largest stable step is h^2 / (6 alpha); half of it is taken.
  real(real64) function time_step(h)
    type(heat), intent(in) :: h
    time_step = (side/h%cells)**2/(12*alpha)
  end function

  ! The mode at a cell's centre, between -1 and 1.
  real(real64) function mode(h, i, j, k)
    type(heat), intent(in) :: h
    integer, intent(in) :: i, j, k
    real(real64) :: phase
    phase = 2*pi/side*side/h%cells
    mode = sin(phase*(i - 1 + 0.5_real64))*sin(phase*(j - 1 + 0.5_real64))* &
      sin(phase*(k - 1 + 0.5_real64))
  end function

  subroutine set_up(h, comm, cells)
    type(heat), intent(out) :: h
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: cells
    integer :: ranks, rank, dims(3), place(3), a
    call MPI_Comm_size(comm, ranks)
    dims = 0
    call MPI_Dims_create(ranks, 3, dims)
    call MPI_Cart_create(comm, 3, dims, [.true., .true., .true.], .false., h%comm)
    call MPI_Comm_rank(h%comm, rank)
    call MPI_Cart_coords(h%comm, rank, 3, place)
    do a = 1, 3
      call MPI_Cart_shift(h%comm, a - 1, 1, h%below(a), h%above(a))
    end do
    h%cells = cells
    h%lo = cells*place/dims + 1
    h%hi = cells*(place + 1)/dims
    allocate (h%now(h%lo(1) - 1:h%hi(1) + 1, h%lo(2) - 1:h%hi(2) + 1, h%lo(3) - 1:h%hi(3) + 1))
    allocate (h%next, mold=h%now)
    call fill(h)
  end subroutine

  subroutine fill(h)
    type(heat), intent(inout) :: h
    integer :: i, j, k
    do k = h%lo(3), h%hi(3)
      do j = h%lo(2), h%hi(2)
        do i = h%lo(1), h%hi(1)
          h%now(i, j, k) = mean + amplitude*mode(h, i, j, k)
        end do
      end do
    end do
  end subroutine

  subroutine tear_down(h)
    type(heat), intent(inout) :: h
    deallocate (h%now, h%next)
    call MPI_Comm_free(h%comm)
  end subroutine

  subroutine exchange_ghosts(h)
    type(heat), intent(inout) :: h
    associate (t => h%now, lo => h%lo, hi => h%hi)
      call exchange(h, 1, t(hi(1), :, :), t(lo(1) - 1, :, :), t(lo(1), :, :), t(hi(1) + 1, :, :))
      call exchange(h, 2, t(:, hi(2), :), t(:, lo(2) - 1, :), t(:, lo(2), :), t(:, hi(2) + 1, :))
      call exchange(h, 3, t(:, :, hi(3)), t(:, :, lo(3) - 1), t(:, :, lo(3)), t(:, :, hi(3) + 1))
    end associate
  end subroutine

  ! The last plane goes up and the first goes down; what comes is the ghost layer below and above.
  subroutine exchange(h, axis, last, ghosts_below, first, ghosts_above)
    type(heat), intent(in) :: h
    integer, intent(in) :: axis
    real(real64), intent(in), contiguous :: last(:, :), first(:, :)
    real(real64), intent(inout), contiguous :: ghosts_below(:, :), ghosts_above(:, :)
    call MPI_Sendrecv(last, size(last), MPI_DOUBLE_PRECISION, h%above(axis), 0, ghosts_below, &
      size(last), MPI_DOUBLE_PRECISION, h%below(axis), 0, h%comm, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(first, size(first), MPI_DOUBLE_PRECISION, h%below(axis), 1, ghosts_above, &
      size(first), MPI_DOUBLE_PRECISION, h%above(axis), 1, h%comm, MPI_STATUS_IGNORE)
  end subroutine

  subroutine advance(h)
    type(heat), intent(inout) :: h
    real(real64), pointer :: swap(:, :, :)
    real(real64) :: width, factor
    integer :: i, j, k
    call exchange_ghosts(h)
    width = side/h%cells
    factor = alpha*time_step(h)/(width*width)
    associate (t => h%now)
      do k = h%lo(3), h%hi(3)
        do j = h%lo(2), h%hi(2)
          do i = h%lo(1), h%hi(1)
            h%next(i, j, k) = t(i, j, k) + factor* &
              ((t(i - 1, j, k) + t(i + 1, j, k) - 2*t(i, j, k)) + &
              (t(i, j - 1, k) + t(i, j + 1, k) - 2*t(i, j, k)) + &
              (t(i, j, k - 1) + t(i, j, k + 1) - 2*t(i, j, k)))
          end do
        end do
      end do
    end associate
    swap => h%now
    h%now => h%next
    h%next => swap
  end subroutine

  ! Largest distance on any rank from a mode of this amplitude, relative to the first amplitude.
  real(real64) function distance(h, expected)
    type(heat), intent(in) :: h
    real(real64), intent(in) :: expected
    integer :: i, j, k
    distance = 0
    do k = h%lo(3), h%hi(3)
      do j = h%lo(2), h%hi(2)
        do i = h%lo(1), h%hi(1)
          distance = max(distance, abs(h%now(i, j, k) - mean - expected*mode(h, i, j, k)))
        end do
      end do
    end do
    call MPI_Allreduce(MPI_IN_PLACE, distance, 1, MPI_DOUBLE_PRECISION, MPI_MAX, h%comm)
    distance = distance/amplitude
  end function

  ! Whether the mode has decayed as it must; the same on every rank.
  logical function has_decayed(h, steps)
    type(heat), intent(in) :: h
    integer, intent(in) :: steps
    real(real64) :: width, wave, eigenvalue, discrete, decay, continuous
    integer :: rank
    width = side/h%cells
    wave = 2*pi/side
    eigenvalue = 6*(1 - cos(wave*width))/(width*width)
    discrete = distance(h, amplitude*(1 - alpha*time_step(h)*eigenvalue)**real(steps, real64))
    decay = 3*alpha*wave*wave*time_step(h)*steps
    continuous = distance(h, amplitude*exp(-decay))
    call MPI_Comm_rank(h%comm, rank)
    if (rank == 0) print '(a, es24.16e3, a, es24.16e3)', &
      'heat: discrete=', discrete, ' continuous=', continuous
    has_decayed = discrete < 1e-11_real64 .and. &
      continuous < 1e-11_real64 + decay*exp(-decay)*wave*wave*width*width
  end function

  ! An argument of the program, which is a number.
  integer function argument(number, otherwise)
    integer, intent(in) :: number, otherwise
    character(16) :: text
    argument = otherwise
    if (command_argument_count() < number) return
    call get_command_argument(number, text)
    read (text, *) argument
  end function
end module

program main
  use conduction
  use pillion
  implicit none
  type(pillion_session) :: pil
  type(MPI_Comm) :: comm
  type(heat) :: h
  integer :: steps, step
  logical :: good
  steps = argument(2, 200)
  call MPI_Init()
  call pillion_open('pillion.yaml', MPI_COMM_WORLD, pil)
  if (pillion_serve(pil)) then
    call MPI_Finalize()
    stop
  end if
  call pillion_communicator(pil, comm)
  call set_up(h, comm, argument(1, 32))
  do step = 0, steps
    if (step > 0) call advance(h)
    call pillion_share_box(pil, 'temperature', 0, h%lo, h%hi, &
      h%now(h%lo(1):h%hi(1), h%lo(2):h%hi(2), h%lo(3):h%hi(3)))
    call pillion_step(pil, step, step*time_step(h))
  end do
  good = has_decayed(h, steps)
  call pillion_close(pil)
  call tear_down(h)
  call MPI_Finalize()
  if (.not. good) stop 1
end program
