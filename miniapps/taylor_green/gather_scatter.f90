! SPDX-License-Identifier: BSD-3-Clause
! Direct stiffness summation: values of all points that are one point of the mesh are added up, and
! each gets the sum. Points inside elements have no partner. Neighbouring ranks exchange
! partial sums without blocking; sums are formed in the order of ranks, so that copies of a point
! are equal to the last digit.
module gather_scatter
  use, intrinsic :: iso_fortran_env, only: dp => real64, int64
  use mesh, only: place_of, spectral_mesh
  use mpi_f08
  use numbering, only: global_numbers, sorted_order, surface_points
  implicit none
  private
  public :: gather_scatter_plan, new_gather_scatter, add_at_shared_points, multiplicities

  integer, parameter :: most_components = 3

  type :: neighbour
    integer :: rank
    integer, allocatable :: slots(:) !! in the same order on both sides
    real(dp), allocatable :: sent(:, :), received(:, :)
  end type

  !> Points with equal global numbers have one slot, in the order of these numbers.
  type :: gather_scatter_plan
    type(MPI_Comm) :: comm
    integer :: rank, points, slots
    integer, allocatable :: surface(:) !! points of an element that others may have too
    integer, allocatable :: slot(:, :) !! surface point, element
    integer, allocatable :: shared(:) !! slots that other ranks have too
    type(neighbour), allocatable :: neighbours(:) !! ascending in rank
    real(dp), allocatable :: total(:, :) !! slot, component: kept, since to allocate takes time
  end type

contains

  function new_gather_scatter(mesh) result(plan)
    type(spectral_mesh), intent(in) :: mesh
    type(gather_scatter_plan) :: plan
    integer(int64), allocatable :: number(:), slot_number(:)
    integer, allocatable :: order(:), slot(:)
    integer :: e, s
    plan%comm = mesh%comm
    plan%rank = mesh%rank
    plan%points = mesh%n**3
    plan%surface = surface_points(mesh%n)
    number = [(global_numbers(mesh, mesh%numbers(e), plan%surface), e=1, mesh%count)]
    order = sorted_order(number)
    allocate (slot(size(number)))
    plan%slots = 0
    do s = 1, size(order)
      if (is_new(number, order, s)) plan%slots = plan%slots + 1
      slot(order(s)) = plan%slots
    end do
    plan%slot = reshape(slot, [size(plan%surface), mesh%count])
    allocate (slot_number(plan%slots), plan%total(plan%slots, most_components))
    slot_number(slot) = number
    call find_neighbours(mesh, slot_number, plan)
  end function

  pure logical function is_new(number, order, s)
    integer(int64), intent(in) :: number(:)
    integer, intent(in) :: order(:), s
    is_new = s == 1
    if (.not. is_new) is_new = number(order(s)) /= number(order(s - 1))
  end function

  !> u(point, component, element); collective.
  subroutine add_at_shared_points(plan, components, elements, u)
    type(gather_scatter_plan), intent(inout) :: plan
    integer, intent(in) :: components, elements
    real(dp), intent(inout) :: u(plan%points, components, elements)
    integer :: c, e
    plan%total(:, :components) = 0
    do e = 1, elements
      do c = 1, components
        call gather(plan%surface, plan%slot(:, e), u(:, c, e), plan%total(:, c))
      end do
    end do
    if (size(plan%neighbours) > 0) call exchange(plan, plan%total(:, :components))
    do e = 1, elements
      do c = 1, components
        u(plan%surface, c, e) = plan%total(plan%slot(:, e), c)
      end do
    end do
  end subroutine

  pure subroutine gather(surface, slot, u, total)
    integer, intent(in) :: surface(:), slot(:)
    real(dp), intent(in) :: u(:)
    real(dp), intent(inout) :: total(:)
    integer :: s
    do s = 1, size(surface)
      total(slot(s)) = total(slot(s)) + u(surface(s))
    end do
  end subroutine

  !> How many points of the mesh are the same point; collective.
  function multiplicities(plan, elements) result(number)
    type(gather_scatter_plan), intent(inout) :: plan
    integer, intent(in) :: elements
    real(dp) :: number(plan%points, elements)
    number = 1
    call add_at_shared_points(plan, 1, elements, number)
  end function

  subroutine exchange(plan, total)
    type(gather_scatter_plan), intent(inout), target :: plan
    real(dp), intent(inout) :: total(:, :)
    type(MPI_Request) :: requests(2 * size(plan%neighbours))
    type(neighbour), pointer :: other
    integer :: i
    do i = 1, size(plan%neighbours)
      other => plan%neighbours(i)
      other%sent = total(other%slots, :)
      other%received = other%sent ! for its shape
      call MPI_Irecv(other%received, size(other%received), MPI_DOUBLE_PRECISION, other%rank, 0, &
                     plan%comm, requests(2 * i - 1))
      call MPI_Isend(other%sent, size(other%sent), MPI_DOUBLE_PRECISION, other%rank, 0, &
                     plan%comm, requests(2 * i))
    end do
    call MPI_Waitall(size(requests), requests, MPI_STATUSES_IGNORE)
    call add_in_order_of_ranks(plan, total)
  end subroutine

  subroutine add_in_order_of_ranks(plan, total)
    type(gather_scatter_plan), intent(in) :: plan
    real(dp), intent(inout) :: total(:, :)
    real(dp) :: mine(size(plan%shared), size(total, 2))
    integer :: i, lower
    mine = total(plan%shared, :)
    total(plan%shared, :) = 0
    lower = count(plan%neighbours%rank < plan%rank)
    do i = 1, lower
      call add(plan%neighbours(i)%slots, plan%neighbours(i)%received, total)
    end do
    call add(plan%shared, mine, total)
    do i = lower + 1, size(plan%neighbours)
      call add(plan%neighbours(i)%slots, plan%neighbours(i)%received, total)
    end do
  end subroutine

  pure subroutine add(slots, values, total)
    integer, intent(in) :: slots(:)
    real(dp), intent(in) :: values(:, :)
    real(dp), intent(inout) :: total(:, :)
    total(slots, :) = total(slots, :) + values
  end subroutine

  !> Every rank knows which elements the others have, so that no rank needs to ask.
  subroutine find_neighbours(mesh, slot_number, plan)
    type(spectral_mesh), intent(in) :: mesh
    integer(int64), intent(in) :: slot_number(:)
    type(gather_scatter_plan), intent(inout) :: plan
    logical :: beside(mesh%side**3), has(size(slot_number)), shared(size(slot_number))
    integer, allocatable :: theirs(:)
    integer :: rank, e, s
    beside = elements_beside(mesh)
    shared = .false.
    allocate (plan%neighbours(0))
    do rank = 0, mesh%ranks - 1
      if (rank == mesh%rank) cycle
      theirs = pack([(e, e=1, mesh%side**3)], beside .and. mesh%owner == rank)
      if (size(theirs) == 0) cycle
      has = .false.
      do e = 1, size(theirs)
        call mark(slot_number, global_numbers(mesh, theirs(e), plan%surface), has)
      end do
      plan%neighbours = [plan%neighbours, neighbour(rank, pack([(s, s=1, size(has))], has))]
      shared = shared .or. has
    end do
    plan%shared = pack([(s, s=1, size(shared))], shared)
  end subroutine

  !> Elements that share a point with any of this rank's.
  pure function elements_beside(mesh) result(beside)
    type(spectral_mesh), intent(in) :: mesh
    logical :: beside(mesh%side**3)
    integer :: e, i, j, k, place(3)
    beside = .false.
    do e = 1, mesh%count
      do concurrent(i=-1:1, j=-1:1, k=-1:1)
        place = modulo(place_of(mesh, mesh%numbers(e)) + [i, j, k], mesh%side)
        beside(1 + place(1) + mesh%side * (place(2) + mesh%side * place(3))) = .true.
      end do
    end do
  end function

  pure subroutine mark(sorted, wanted, found)
    integer(int64), intent(in) :: sorted(:), wanted(:)
    logical, intent(inout) :: found(:)
    integer :: w, low, high, middle
    do w = 1, size(wanted)
      low = 1
      high = size(sorted)
      do while (low < high)
        middle = (low + high) / 2
        if (sorted(middle) < wanted(w)) then
          low = middle + 1
        else
          high = middle
        end if
      end do
      if (sorted(low) == wanted(w)) found(low) = .true.
    end do
  end subroutine

end module
