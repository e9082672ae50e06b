! SPDX-License-Identifier: BSD-3-Clause
! The metric of curvilinear elements, from the coordinates of their points. Everything is multiplied
! by the quadrature weight W = w_i w_j w_k, so that sums over points are integrals.
module geometry
  use, intrinsic :: iso_fortran_env, only: dp => real64
  use failure, only: fail_here
  use mesh, only: spectral_mesh
  use tensor, only: gradient
  implicit none
  private
  public :: metric, new_metric

  type :: metric
    real(dp), allocatable :: mass(:, :) !! W J: point, element
    real(dp), allocatable :: cofactor(:, :, :, :) !! W J dr_a/dx_c: point, a, c, element
    real(dp), allocatable :: g(:, :, :) !! W J grad r_a . grad r_b: point, ab, element
  end type

  !> The pairs ab: 11, 22, 33, 12, 13, 23.
  integer, parameter :: a_of(6) = [1, 2, 3, 1, 1, 2], b_of(6) = [1, 2, 3, 2, 3, 3]

contains

  function new_metric(mesh) result(m)
    type(spectral_mesh), intent(in) :: mesh
    type(metric) :: m
    integer :: e, points
    points = mesh%n**3
    allocate (m%mass(points, mesh%count), m%cofactor(points, 3, 3, mesh%count))
    allocate (m%g(points, 6, mesh%count))
    do e = 1, mesh%count
      call fill_element(mesh, e, m%mass(:, e), m%cofactor(:, :, :, e), m%g(:, :, e))
    end do
    if (any(m%mass <= 0)) call fail_here('deform folds the mesh: choose it smaller')
  end function

  subroutine fill_element(mesh, e, mass, cofactor, g)
    type(spectral_mesh), intent(in) :: mesh
    integer, intent(in) :: e
    real(dp), intent(out) :: mass(:), cofactor(:, :, :), g(:, :)
    real(dp) :: dxdr(mesh%n**3, 3, 3) ! point, axis of x, axis of r
    integer :: c, pair
    do c = 1, 3
      call gradient(mesh%n, mesh%d, transpose(mesh%d), mesh%x(:, :, :, c, e), dxdr(:, c, :))
    end do
    call invert(dxdr, product_weights(mesh), mass, cofactor)
    do pair = 1, 6
      g(:, pair) = sum(cofactor(:, a_of(pair), :) * cofactor(:, b_of(pair), :), dim=2) / mass
    end do
  end subroutine

  pure function product_weights(mesh) result(w)
    type(spectral_mesh), intent(in) :: mesh
    real(dp) :: w(mesh%n**3)
    integer :: i, j, k
    w = [(((mesh%weights(i) * mesh%weights(j) * mesh%weights(k), i=1, mesh%n), j=1, mesh%n), &
          k=1, mesh%n)]
  end function

  !> The inverse of dx/dr times its determinant: the cross products of its columns.
  pure subroutine invert(dxdr, weight, mass, cofactor)
    real(dp), intent(in) :: dxdr(:, :, :), weight(:)
    real(dp), intent(out) :: mass(:), cofactor(:, :, :)
    integer :: a, b, c, next, last
    do a = 1, 3
      b = modulo(a, 3) + 1
      c = modulo(a + 1, 3) + 1
      do next = 1, 3
        last = modulo(next, 3) + 1
        cofactor(:, a, modulo(next + 1, 3) + 1) = weight * &
          (dxdr(:, next, b) * dxdr(:, last, c) - dxdr(:, last, b) * dxdr(:, next, c))
      end do
    end do
    mass = sum(dxdr(:, :, 1) * cofactor(:, 1, :), dim=2)
  end subroutine

end module
