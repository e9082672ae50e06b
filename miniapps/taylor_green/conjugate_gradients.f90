! SPDX-License-Identifier: BSD-3-Clause
! Preconditioned conjugate gradients for a symmetric positive (semi-)definite system, which a type
! describes by extending `linear_system`.
module conjugate_gradients
  use, intrinsic :: iso_fortran_env, only: dp => real64
  implicit none
  private
  public :: linear_system, work_space, solve

  integer, parameter :: most_iterations = 500

  !> Vectors hold a value at every point of this rank's elements; copies of a point are equal.
  type, abstract :: linear_system
    integer :: length
  contains
    procedure(transform), deferred :: apply !! y = A x
    procedure(transform), deferred :: precondition !! y = about what solves A y = x
    procedure(inner_product), deferred :: dot
    procedure(norm), deferred :: size_of_residual
  end type

  !> Vectors that are kept from one solution to the next: to allocate them takes time.
  type :: work_space
    real(dp), dimension(:), allocatable :: r, z, p, ap
  end type

  abstract interface
    subroutine transform(self, x, y)
      import :: dp, linear_system
      class(linear_system), intent(inout) :: self
      real(dp), intent(in) :: x(self%length)
      real(dp), intent(out) :: y(self%length)
    end subroutine

    function inner_product(self, x, y) result(product)
      import :: dp, linear_system
      class(linear_system), intent(in) :: self
      real(dp), intent(in) :: x(self%length), y(self%length)
      real(dp) :: product
    end function

    function norm(self, r) result(length)
      import :: dp, linear_system
      class(linear_system), intent(in) :: self
      real(dp), intent(in) :: r(self%length)
      real(dp) :: length
    end function
  end interface

contains

  !> Improves x until the residual is `tolerance` times as large as b. The result is the number of
  !> iterations, or -1 if they did not converge. Collective.
  function solve(system, work, tolerance, b, x) result(iterations)
    class(linear_system), intent(inout) :: system
    type(work_space), intent(inout) :: work
    real(dp), intent(in) :: tolerance, b(system%length)
    real(dp), intent(inout) :: x(system%length)
    integer :: iterations
    real(dp) :: small, rz, previous, alpha
    if (.not. allocated(work%r)) &
      allocate (work%r(size(x)), work%z(size(x)), work%p(size(x)), work%ap(size(x)))
    associate (r => work%r, z => work%z, p => work%p, ap => work%ap)
      small = tolerance * system%size_of_residual(b)
      call system%apply(x, ap)
      r = b - ap
      p = 0
      rz = 1
      do iterations = 0, most_iterations
        if (system%size_of_residual(r) <= small) return
        call system%precondition(r, z)
        previous = rz
        rz = system%dot(r, z)
        p = z + (rz / previous) * p
        call system%apply(p, ap)
        alpha = rz / system%dot(p, ap)
        x = x + alpha * p
        r = r - alpha * ap
      end do
    end associate
    iterations = -1
  end function

end module
