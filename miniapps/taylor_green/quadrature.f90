! SPDX-License-Identifier: BSD-3-Clause
! Gauss-Lobatto-Legendre points and weights, and Lagrange's polynomials through any nodes: their
! values interpolate, their slopes differentiate. The same two functions serve elements in space and
! the backward differences in time.
module quadrature
  use, intrinsic :: iso_fortran_env, only: dp => real64
  implicit none
  private
  public :: lobatto_points, lobatto_weights, derivative_matrix, lagrange_values, lagrange_slopes

  real(dp), parameter :: pi = acos(-1.0_dp)

contains

  !> The order+1 points of -1 <= x <= 1 at which (1 - x^2) L'(x) = 0, ascending.
  pure function lobatto_points(order) result(x)
    integer, intent(in) :: order
    real(dp) :: x(0:order), step(0:order), p(0:1)
    integer :: i, iteration
    x = [(-cos(pi * i / order), i = 0, order)]
    do iteration = 1, 100
      do i = 0, order
        p = legendre(order, x(i))
        step(i) = (x(i) * p(1) - p(0)) / ((order + 1) * p(1))
      end do
      x = x - step
      if (maxval(abs(step)) < epsilon(1.0_dp)) exit
    end do
    x = (x - x(order:0:-1)) / 2
  end function

  !> Weights of the quadrature that is exact for polynomials of degree 2 order - 1.
  pure function lobatto_weights(order) result(w)
    integer, intent(in) :: order
    real(dp) :: w(0:order), x(0:order), p(0:1)
    integer :: i
    x = lobatto_points(order)
    do i = 0, order
      p = legendre(order, x(i))
      w(i) = 2 / (order * (order + 1) * p(1)**2)
    end do
  end function

  !> d(i, l) is the slope at node i of the polynomial that is 1 at node l.
  pure function derivative_matrix(nodes) result(d)
    real(dp), intent(in) :: nodes(:)
    real(dp) :: d(size(nodes), size(nodes))
    integer :: i
    do i = 1, size(nodes)
      d(i, :) = lagrange_slopes(nodes, nodes(i))
      d(i, i) = d(i, i) - sum(d(i, :)) ! A constant has no slope, to the last digit.
    end do
  end function

  pure function lagrange_values(nodes, x) result(l)
    real(dp), intent(in) :: nodes(:), x
    real(dp) :: l(size(nodes))
    integer :: i, j
    l = 1
    do i = 1, size(nodes)
      do j = 1, size(nodes)
        if (j /= i) l(i) = l(i) * (x - nodes(j)) / (nodes(i) - nodes(j))
      end do
    end do
  end function

  pure function lagrange_slopes(nodes, x) result(slope)
    real(dp), intent(in) :: nodes(:), x
    real(dp) :: slope(size(nodes)), term
    integer :: i, j, m
    slope = 0
    do i = 1, size(nodes)
      do m = 1, size(nodes)
        if (m == i) cycle
        term = 1 / (nodes(i) - nodes(m))
        do j = 1, size(nodes)
          if (j /= i .and. j /= m) term = term * (x - nodes(j)) / (nodes(i) - nodes(j))
        end do
        slope(i) = slope(i) + term
      end do
    end do
  end function

  !> Legendre's polynomials of degree order-1 and order.
  pure function legendre(order, x) result(p)
    integer, intent(in) :: order
    real(dp), intent(in) :: x
    real(dp) :: p(0:1)
    integer :: k
    p = [1.0_dp, x]
    do k = 2, order
      p = [p(1), ((2 * k - 1) * x * p(1) - (k - 1) * p(0)) / k]
    end do
  end function

end module
