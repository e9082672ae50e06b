! SPDX-License-Identifier: BSD-3-Clause
! The periodic box of side 2 pi as a cube of hexahedral elements, which a smooth map may deform.
! Elements are numbered from 1, x fastest. Each rank has a piece of equal length of the Morton curve
! through them, so that its elements lie together.
module mesh
  use, intrinsic :: iso_fortran_env, only: dp => real64
  use mpi_f08, only: MPI_Comm, MPI_Comm_rank, MPI_Comm_size
  use quadrature, only: derivative_matrix, lobatto_points, lobatto_weights
  implicit none
  private
  public :: spectral_mesh, new_mesh, place_of

  real(dp), parameter :: pi = acos(-1.0_dp)

  type :: spectral_mesh
    type(MPI_Comm) :: comm
    integer :: rank, ranks
    integer :: n !! points along an element's edge
    integer :: side !! elements along an edge of the box
    integer :: count !! of this rank's elements
    integer, allocatable :: numbers(:) !! of this rank's elements
    integer, allocatable :: owner(:) !! rank that has an element, by its number
    integer, allocatable :: curve(:) !! numbers of all elements along it: rank 0's, then rank 1's
    real(dp), allocatable :: nodes(:), weights(:), d(:, :) !! of the reference element
    real(dp), allocatable :: x(:, :, :, :, :) !! coordinates: i, j, k, axis, element
  end type

contains

  function new_mesh(elements, order, deform, comm) result(mesh)
    integer, intent(in) :: elements, order
    real(dp), intent(in) :: deform
    type(MPI_Comm), intent(in) :: comm
    type(spectral_mesh) :: mesh
    integer :: e
    mesh%comm = comm
    call MPI_Comm_rank(comm, mesh%rank)
    call MPI_Comm_size(comm, mesh%ranks)
    mesh%n = order + 1
    mesh%side = elements
    mesh%nodes = lobatto_points(order)
    mesh%weights = lobatto_weights(order)
    mesh%d = derivative_matrix(mesh%nodes)
    call distribute(mesh)
    mesh%numbers = pack(mesh%curve, mesh%owner(mesh%curve) == mesh%rank)
    mesh%count = size(mesh%numbers)
    allocate (mesh%x(mesh%n, mesh%n, mesh%n, 3, mesh%count))
    do e = 1, mesh%count
      call place_points(mesh, place_of(mesh, mesh%numbers(e)), deform, mesh%x(:, :, :, :, e))
    end do
  end function

  !> Where in the cube an element is, from (0, 0, 0).
  pure function place_of(mesh, number) result(place)
    type(spectral_mesh), intent(in) :: mesh
    integer, intent(in) :: number
    integer :: place(3)
    place = modulo([number - 1, (number - 1) / mesh%side, (number - 1) / mesh%side**2], mesh%side)
  end function

  subroutine distribute(mesh)
    type(spectral_mesh), intent(inout) :: mesh
    integer :: code, place(3), found, total, width
    total = mesh%side**3
    allocate (mesh%curve(total), mesh%owner(total))
    width = 1
    do while (width < mesh%side)
      width = 2 * width
    end do
    found = 0
    do code = 0, width**3 - 1
      place = [every_third_bit(code), every_third_bit(code / 2), every_third_bit(code / 4)]
      if (any(place >= mesh%side)) cycle
      found = found + 1
      mesh%curve(found) = 1 + place(1) + mesh%side * (place(2) + mesh%side * place(3))
      mesh%owner(mesh%curve(found)) = int((int(found, 8) * mesh%ranks - 1) / total)
    end do
  end subroutine

  pure integer function every_third_bit(code) result(bits)
    integer, intent(in) :: code
    integer :: b
    bits = 0
    do b = 0, 9
      if (btest(code, 3 * b)) bits = ibset(bits, b)
    end do
  end function

  pure subroutine place_points(mesh, place, deform, x)
    type(spectral_mesh), intent(in) :: mesh
    integer, intent(in) :: place(3)
    real(dp), intent(in) :: deform
    real(dp), intent(out) :: x(:, :, :, :)
    real(dp) :: straight(3)
    integer :: i, j, k
    do k = 1, mesh%n
      do j = 1, mesh%n
        do i = 1, mesh%n
          straight = (place + (1 + mesh%nodes([i, j, k])) / 2) * 2 * pi / mesh%side
          x(i, j, k, :) = straight + deform * sin(straight) * cos(cshift(straight, 1))
        end do
      end do
    end do
  end subroutine

end module
