! SPDX-License-Identifier: BSD-3-Clause
! The points of the mesh without their copies, as one grid: cut among the ranks into slabs of planes
! across z, which have whole lines along x and y, and into slabs across y, with whole lines along z.
module slabs
  use, intrinsic :: iso_fortran_env, only: dp => real64, int64
  use mesh, only: place_of, spectral_mesh
  use mpi_f08
  use numbering, only: sorted_order
  implicit none
  private
  public :: slab_plan, new_slabs, elements_to_planes, planes_to_elements, planes_to_lines, &
    lines_to_planes

  !> How many values go to, or come from, each rank, and where they begin.
  type :: parts
    integer, allocatable :: counts(:), starts(:)
  end type

  type :: slab_plan
    type(MPI_Comm) :: comm
    integer :: width !! points along an edge of the box
    integer :: low, thick !! first plane of this rank, from 1, and how many it has
    integer, allocatable :: first(:) !! plane of each rank, and one behind the last
    integer, allocatable :: point(:) !! of elements, in the order in which they are sent
    integer, allocatable :: cell(:) !! of the planes, in the order in which they come
    type(parts) :: elements, slab, planes, lines
  end type

contains

  function new_slabs(mesh) result(plan)
    type(spectral_mesh), intent(in) :: mesh
    type(slab_plan) :: plan
    integer :: rank
    plan%comm = mesh%comm
    plan%width = mesh%side * (mesh%n - 1)
    plan%first = [(1 + plan%width * rank / mesh%ranks, rank=0, mesh%ranks)]
    plan%low = plan%first(mesh%rank + 1)
    plan%thick = plan%first(mesh%rank + 2) - plan%low
    call plan_slab(mesh, plan)
    call plan_transposition(plan)
  end function

  !> From one of the copies of each point to planes(x, y, z). Collective.
  subroutine elements_to_planes(plan, values, planes)
    type(slab_plan), intent(in) :: plan
    real(dp), intent(in) :: values(:)
    real(dp), intent(out) :: planes(size(plan%cell))
    real(dp) :: received(size(plan%cell))
    call move(plan, values(plan%point), plan%elements, received, plan%slab)
    planes(plan%cell) = received
  end subroutine

  !> The reverse; values at the other copies are 0. Collective.
  subroutine planes_to_elements(plan, planes, values)
    type(slab_plan), intent(in) :: plan
    real(dp), intent(in) :: planes(size(plan%cell))
    real(dp), intent(out) :: values(:)
    real(dp) :: received(size(plan%point))
    call move(plan, planes(plan%cell), plan%slab, received, plan%elements)
    values = 0
    values(plan%point) = received
  end subroutine

  !> From planes(x, y, z) to lines(x, y of this rank, z). Collective.
  subroutine planes_to_lines(plan, planes, lines)
    type(slab_plan), intent(in) :: plan
    real(dp), intent(in) :: planes(:, :, :)
    real(dp), intent(out) :: lines(*)
    real(dp) :: sent(size(planes))
    integer :: r, many
    do r = 1, size(plan%first) - 1
      associate (from => plan%planes%starts(r))
        many = plan%planes%counts(r)
        sent(from + 1:from + many) = &
          reshape(planes(:, plan%first(r):plan%first(r + 1) - 1, :), [many])
      end associate
    end do
    call move(plan, sent, plan%planes, lines, plan%lines)
  end subroutine

  subroutine lines_to_planes(plan, lines, planes)
    type(slab_plan), intent(in) :: plan
    real(dp), intent(in) :: lines(*)
    real(dp), intent(out) :: planes(:, :, :)
    real(dp) :: received(size(planes))
    integer :: r, low, high
    call move(plan, lines, plan%lines, received, plan%planes)
    do r = 1, size(plan%first) - 1
      low = plan%first(r)
      high = plan%first(r + 1) - 1
      associate (from => plan%planes%starts(r), many => plan%planes%counts(r))
        planes(:, low:high, :) = reshape(received(from + 1:from + many), &
                                         [plan%width, high - low + 1, plan%thick])
      end associate
    end do
  end subroutine

  subroutine move(plan, sent, from, received, to)
    type(slab_plan), intent(in) :: plan
    real(dp), intent(in) :: sent(*)
    type(parts), intent(in) :: from, to
    real(dp), intent(inout) :: received(*)
    call MPI_Alltoallv(sent, from%counts, from%starts, MPI_DOUBLE_PRECISION, &
                       received, to%counts, to%starts, MPI_DOUBLE_PRECISION, plan%comm)
  end subroutine

  !> An element gives the first n-1 points along each axis; the last are its neighbours' first.
  subroutine plan_slab(mesh, plan)
    type(spectral_mesh), intent(in) :: mesh
    type(slab_plan), intent(inout) :: plan
    integer :: plane_owner(plan%width), r
    integer, allocatable :: place(:, :), order(:), owner(:)
    plane_owner = [(count(plan%first(2:) <= r), r=1, plan%width)]
    place = first_points(mesh, mesh%numbers)
    owner = plane_owner(place(3, :))
    order = sorted_order(int(owner, int64))
    plan%point = local_first_points(mesh)
    plan%point = plan%point(order)
    plan%elements = parts_of(owner, mesh%ranks)

    place = first_points(mesh, mesh%curve)
    owner = reshape(spread(mesh%owner(mesh%curve), 1, (mesh%n - 1)**3), [size(place, 2)])
    order = pack([(r, r=1, size(owner))], plane_owner(place(3, :)) == mesh%rank)
    plan%cell = place(1, order) + plan%width * (place(2, order) - 1 &
                                                      + plan%width * (place(3, order) - plan%low))
    plan%slab = parts_of(owner(order), mesh%ranks)
  end subroutine

  subroutine plan_transposition(plan)
    type(slab_plan), intent(inout) :: plan
    integer :: ranks, r
    ranks = size(plan%first) - 1
    plan%planes%counts = plan%width * plan%thick &
      * (plan%first(2:) - plan%first(:ranks))
    plan%planes%starts = [(sum(plan%planes%counts(:r)), r=0, ranks - 1)]
    plan%lines = plan%planes
  end subroutine

  !> Where in the box the first points of elements are, counted from 1 along each axis.
  pure function first_points(mesh, elements) result(place)
    type(spectral_mesh), intent(in) :: mesh
    integer, intent(in) :: elements(:)
    integer, allocatable :: place(:, :)
    integer :: e, i, j, k, p, last
    last = mesh%n - 1
    allocate (place(3, size(elements) * last**3))
    p = 0
    do e = 1, size(elements)
      do k = 1, last
        do j = 1, last
          do i = 1, last
            p = p + 1
            place(:, p) = place_of(mesh, elements(e)) * last + [i, j, k]
          end do
        end do
      end do
    end do
  end function

  !> Their numbers among all points of this rank's elements.
  pure function local_first_points(mesh) result(points)
    type(spectral_mesh), intent(in) :: mesh
    integer, allocatable :: points(:)
    logical :: first(mesh%n, mesh%n, mesh%n, mesh%count)
    integer :: p
    first = .true.
    first(mesh%n, :, :, :) = .false.
    first(:, mesh%n, :, :) = .false.
    first(:, :, mesh%n, :) = .false.
    points = pack([(p, p=1, size(first))], reshape(first, [size(first)]))
  end function

  pure function parts_of(owner, ranks) result(p)
    integer, intent(in) :: owner(:), ranks
    type(parts) :: p
    integer :: r
    p%counts = [(count(owner == r), r=0, ranks - 1)]
    p%starts = [(sum(p%counts(:r)), r=0, ranks - 1)]
  end function

end module
