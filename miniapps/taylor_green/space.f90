! SPDX-License-Identifier: BSD-3-Clause
! The space of functions that are polynomials in each element and continuous across elements: mesh,
! metric, the summation at shared points, and the sums over all ranks that norms need.
module space
  use, intrinsic :: iso_fortran_env, only: dp => real64
  use gather_scatter, only: add_at_shared_points, gather_scatter_plan, multiplicities, &
    new_gather_scatter
  use geometry, only: metric, new_metric
  use mesh, only: spectral_mesh
  use mpi_f08
  implicit none
  private
  public :: spectral_space, new_space, assemble, make_continuous, total, weighted_product, &
    remove_mean

  type :: spectral_space
    type(spectral_mesh) :: mesh
    type(metric) :: metric
    type(gather_scatter_plan) :: plan
    real(dp), allocatable :: share(:, :) !! 1 / number of copies: point, element
    real(dp), allocatable :: inverse_mass(:, :) !! of the mass summed over copies: point, element
    real(dp), allocatable :: residual_weight(:, :) !! share * inverse_mass
    real(dp) :: volume
  end type

contains

  function new_space(mesh) result(space)
    type(spectral_mesh), intent(in) :: mesh
    type(spectral_space) :: space
    space%mesh = mesh
    space%metric = new_metric(mesh)
    space%plan = new_gather_scatter(mesh)
    space%share = 1 / multiplicities(space%plan, mesh%count)
    space%inverse_mass = space%metric%mass
    call assemble(space, 1, space%inverse_mass)
    space%inverse_mass = 1 / space%inverse_mass
    space%residual_weight = space%share * space%inverse_mass
    space%volume = total(space, sum(space%metric%mass))
  end function

  !> Adds what elements contribute at the points that they share. Collective.
  subroutine assemble(space, components, u)
    type(spectral_space), intent(inout) :: space
    integer, intent(in) :: components
    real(dp), intent(inout) :: u(space%mesh%n**3, components, space%mesh%count)
    call add_at_shared_points(space%plan, components, space%mesh%count, u)
  end subroutine

  !> From integrals with test functions, element by element, to values of a function. Collective.
  subroutine make_continuous(space, components, u)
    type(spectral_space), intent(inout) :: space
    integer, intent(in) :: components
    real(dp), intent(inout) :: u(space%mesh%n**3, components, space%mesh%count)
    integer :: c
    call assemble(space, components, u)
    do c = 1, components
      u(:, c, :) = u(:, c, :) * space%inverse_mass
    end do
  end subroutine

  !> The sum over all ranks. Collective.
  function total(space, mine) result(everyones)
    type(spectral_space), intent(in) :: space
    real(dp), intent(in) :: mine
    real(dp) :: everyones
    call MPI_Allreduce(mine, everyones, 1, MPI_DOUBLE_PRECISION, MPI_SUM, space%mesh%comm)
  end function

  !> The sum of weight x y over points and components. Collective.
  function weighted_product(space, components, weight, x, y) result(product)
    type(spectral_space), intent(in) :: space
    integer, intent(in) :: components
    real(dp), intent(in) :: weight(space%mesh%n**3, space%mesh%count)
    real(dp), dimension(space%mesh%n**3, components, space%mesh%count), intent(in) :: x, y
    real(dp) :: product, partial(space%mesh%n**3)
    integer :: c, e
    partial = 0
    do e = 1, space%mesh%count
      do c = 1, components
        partial = partial + weight(:, e) * x(:, c, e) * y(:, c, e)
      end do
    end do
    product = total(space, sum(partial))
  end function

  !> Collective.
  subroutine remove_mean(space, p)
    type(spectral_space), intent(in) :: space
    real(dp), intent(inout) :: p(space%mesh%n**3, space%mesh%count)
    p = p - total(space, sum(space%metric%mass * p)) / space%volume
  end subroutine

end module
