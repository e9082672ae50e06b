! SPDX-License-Identifier: BSD-3-Clause
! Derivatives along the axes of the reference element, as small matrix products: n^4 work for n^3
! points. The innermost loops run over i, the fastest index. Where n is a constant, compilers keep
! those vectors in registers: three times as fast, so that usual orders have code of their own.
module tensor
  use, intrinsic :: iso_fortran_env, only: dp => real64
  implicit none
  private
  public :: gradient, transposed_gradient

contains

  !> g(:, :, :, a) = du/dr_a. d(i, l) is the matrix of derivatives, dt its transpose.
  pure subroutine gradient(n, d, dt, u, g)
    integer, intent(in) :: n
    real(dp), intent(in) :: d(n, n), dt(n, n), u(n, n, n)
    real(dp), intent(out) :: g(n, n, n, 3)
    select case (n)
    case (6)
      call gradient_6(d, dt, u, g)
    case (8)
      call gradient_8(d, dt, u, g)
    case (10)
      call gradient_10(d, dt, u, g)
    case default
      call gradient_any(n, d, dt, u, g)
    end select
  end subroutine

  !> v = the sum over a of the transposed derivative along axis a of g(:, :, :, a).
  pure subroutine transposed_gradient(n, d, dt, g, v)
    integer, intent(in) :: n
    real(dp), intent(in) :: d(n, n), dt(n, n), g(n, n, n, 3)
    real(dp), intent(out) :: v(n, n, n)
    select case (n)
    case (6)
      call transposed_gradient_6(d, dt, g, v)
    case (8)
      call transposed_gradient_8(d, dt, g, v)
    case (10)
      call transposed_gradient_10(d, dt, g, v)
    case default
      call transposed_gradient_any(n, d, dt, g, v)
    end select
  end subroutine

  pure subroutine gradient_6(d, dt, u, g)
    integer, parameter :: n = 6
    include 'gradient.inc'
  end subroutine

  pure subroutine gradient_8(d, dt, u, g)
    integer, parameter :: n = 8
    include 'gradient.inc'
  end subroutine

  pure subroutine gradient_10(d, dt, u, g)
    integer, parameter :: n = 10
    include 'gradient.inc'
  end subroutine

  pure subroutine gradient_any(n, d, dt, u, g)
    integer, intent(in) :: n
    include 'gradient.inc'
  end subroutine

  pure subroutine transposed_gradient_6(d, dt, g, v)
    integer, parameter :: n = 6
    include 'transposed_gradient.inc'
  end subroutine

  pure subroutine transposed_gradient_8(d, dt, g, v)
    integer, parameter :: n = 8
    include 'transposed_gradient.inc'
  end subroutine

  pure subroutine transposed_gradient_10(d, dt, g, v)
    integer, parameter :: n = 10
    include 'transposed_gradient.inc'
  end subroutine

  pure subroutine transposed_gradient_any(n, d, dt, g, v)
    integer, intent(in) :: n
    include 'transposed_gradient.inc'
  end subroutine

end module
