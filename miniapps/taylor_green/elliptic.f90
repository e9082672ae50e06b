! SPDX-License-Identifier: BSD-3-Clause
! The two systems that every step solves: Poisson's equation for the pressure, and Helmholtz's for
! the three components of the velocity together.
module elliptic
  use, intrinsic :: iso_fortran_env, only: dp => real64
  use conjugate_gradients, only: linear_system
  use fast_diagonalisation, only: apply_inverse, new_poisson_inverse, poisson_inverse
  use operators, only: apply_stiffness, stiffness_diagonal
  use space, only: assemble, spectral_space, weighted_product
  implicit none
  private
  public :: poisson_system, new_poisson, helmholtz_system, new_helmholtz, set_reaction

  type, abstract, extends(linear_system) :: stiffness_system
    type(spectral_space), pointer :: space
    integer :: components
    real(dp) :: reaction, diffusion
  contains
    procedure :: apply
    procedure :: dot
    procedure :: size_of_residual
  end type

  !> (grad q, grad p) = b
  type, extends(stiffness_system) :: poisson_system
    type(poisson_inverse) :: inverse
  contains
    procedure :: precondition => precondition_poisson
  end type

  !> reaction * (q, u) + diffusion * (grad q, grad u) = b
  type, extends(stiffness_system) :: helmholtz_system
    real(dp), allocatable :: stiffness(:, :), inverse_diagonal(:, :)
  contains
    procedure :: precondition => precondition_helmholtz
  end type

contains

  function new_poisson(space) result(system)
    type(spectral_space), intent(in), target :: space
    type(poisson_system) :: system
    system%space => space
    system%components = 1
    system%length = size(space%share)
    system%reaction = 0
    system%diffusion = 1
    system%inverse = new_poisson_inverse(space%mesh)
  end function

  function new_helmholtz(space, diffusion) result(system)
    type(spectral_space), intent(inout), target :: space
    real(dp), intent(in) :: diffusion
    type(helmholtz_system) :: system
    system%space => space
    system%components = 3
    system%length = 3 * size(space%share)
    system%diffusion = diffusion
    system%stiffness = reshape(stiffness_diagonal(space%mesh, space%metric), shape(space%share))
    call assemble(space, 1, system%stiffness)
  end function

  subroutine set_reaction(system, reaction)
    type(helmholtz_system), intent(inout) :: system
    real(dp), intent(in) :: reaction
    system%reaction = reaction
    system%inverse_diagonal = &
      1 / (reaction / system%space%inverse_mass + system%diffusion * system%stiffness)
  end subroutine

  subroutine apply(self, x, y)
    class(stiffness_system), intent(inout) :: self
    real(dp), intent(in) :: x(self%length)
    real(dp), intent(out) :: y(self%length)
    call apply_stiffness(self%space%mesh, self%space%metric, self%reaction, self%diffusion, &
                         self%components, x, y)
    call assemble(self%space, self%components, y)
  end subroutine

  function dot(self, x, y) result(product)
    class(stiffness_system), intent(in) :: self
    real(dp), intent(in) :: x(self%length), y(self%length)
    real(dp) :: product
    product = weighted_product(self%space, self%components, self%space%share, x, y)
  end function

  !> Of the residual as a function, whose values are its integrals divided by the mass.
  function size_of_residual(self, r) result(length)
    class(stiffness_system), intent(in) :: self
    real(dp), intent(in) :: r(self%length)
    real(dp) :: length
    length = sqrt(weighted_product(self%space, self%components, &
                                   self%space%residual_weight, r, r))
  end function

  subroutine precondition_poisson(self, x, y)
    class(poisson_system), intent(inout) :: self
    real(dp), intent(in) :: x(self%length)
    real(dp), intent(out) :: y(self%length)
    call apply_inverse(self%inverse, self%length, x, y)
    call assemble(self%space, 1, y)
  end subroutine

  subroutine precondition_helmholtz(self, x, y)
    class(helmholtz_system), intent(inout) :: self
    real(dp), intent(in) :: x(self%length)
    real(dp), intent(out) :: y(self%length)
    call scale(size(self%inverse_diagonal, 1), size(self%inverse_diagonal, 2), &
               self%inverse_diagonal, x, y)
  end subroutine

  pure subroutine scale(points, elements, factor, x, y)
    integer, intent(in) :: points, elements
    real(dp), intent(in) :: factor(points, elements), x(points, 3, elements)
    real(dp), intent(out) :: y(points, 3, elements)
    integer :: c
    do c = 1, 3
      y(:, c, :) = factor * x(:, c, :)
    end do
  end subroutine

end module
