! SPDX-License-Identifier: BSD-3-Clause
! Steps of the incompressible Navier-Stokes equations by the splitting of Karniadakis, Israeli and
! Orszag (J. Comput. Phys. 97, 414, 1991): convection is extrapolated from earlier steps, the
! pressure makes the velocity solenoidal, viscosity is implicit; backward differences of up to third
! order, for steps of any length. The box has no walls, so that nothing is lost at boundaries.
module stepping
  use, intrinsic :: iso_fortran_env, only: dp => real64
  use conjugate_gradients, only: solve, work_space
  use elliptic, only: helmholtz_system, new_helmholtz, new_poisson, poisson_system, set_reaction
  use failure, only: fail
  use operators, only: apply_convection, apply_divergence, apply_gradient
  use quadrature, only: lagrange_slopes, lagrange_values
  use space, only: assemble, make_continuous, remove_mean, spectral_space
  implicit none
  private
  public :: flow, new_flow, begin, advance

  type :: flow
    type(spectral_space), pointer :: space
    type(poisson_system) :: poisson
    type(helmholtz_system) :: helmholtz
    real(dp) :: tolerance
    integer :: order !! of the differences in time
    integer :: levels !! known: the present and what came before
    real(dp) :: times(3) !! of the levels, the present first
    real(dp), allocatable :: velocity(:, :, :, :, :) !! i, j, k, component, element
    real(dp), allocatable :: pressure(:, :, :, :, :) !! i, j, k, 1, element; its mean is 0
    real(dp), allocatable :: past(:, :, :, :, :, :) !! velocity one and two steps ago: at ago(1:2)
    real(dp), allocatable :: convection(:, :, :, :, :, :) !! integrals, at level l: at slot(l)
    real(dp), allocatable :: past_pressure(:, :, :, :, :)
    logical :: has_past_pressure
    integer :: ago(2), slot(3)
    real(dp), allocatable :: change(:, :, :, :, :) !! of velocity, but for pressure and viscosity
    real(dp), allocatable :: integrals(:, :, :, :, :)
    type(work_space) :: pressure_work, velocity_work
    integer :: pressure_iterations = 0, velocity_iterations = 0 !! in the last step
  end type

contains

  function new_flow(space, viscosity, order, tolerance) result(f)
    type(spectral_space), intent(inout), target :: space
    real(dp), intent(in) :: viscosity, tolerance
    integer, intent(in) :: order
    type(flow) :: f
    f%space => space
    f%poisson = new_poisson(space)
    f%helmholtz = new_helmholtz(space, viscosity)
    f%tolerance = tolerance
    f%order = order
    associate (n => space%mesh%n, count => space%mesh%count)
      allocate (f%velocity(n, n, n, 3, count), f%past(n, n, n, 3, count, 2))
      allocate (f%convection(n, n, n, 3, count, 3))
      allocate (f%pressure(n, n, n, 1, count), source=0.0_dp)
      allocate (f%past_pressure, mold=f%pressure)
      allocate (f%change, f%integrals, mold=f%velocity)
    end associate
  end function

  !> Begins from the velocity at one or more times, the present first. Collective.
  subroutine begin(f, times, velocity)
    type(flow), intent(inout) :: f
    real(dp), intent(in) :: times(:), velocity(:, :, :, :, :, :)
    integer :: l
    f%levels = size(times)
    f%times(:f%levels) = times
    f%ago = [1, 2]
    f%slot = [1, 2, 3]
    f%has_past_pressure = .false.
    f%past(:, :, :, :, :, :f%levels - 1) = velocity(:, :, :, :, :, 2:)
    do l = f%levels, 1, -1
      f%velocity = velocity(:, :, :, :, :, l)
      call apply_convection(f%space%mesh, f%space%metric, f%velocity, &
                            f%convection(:, :, :, :, :, f%slot(l)))
    end do
    f%change = -f%convection(:, :, :, :, :, f%slot(1))
    call make_continuous(f%space, 3, f%change)
    call find_pressure(f)
  end subroutine

  !> One step of length dt. From a single level it is taken in seven parts, the first of them
  !> short, since they are of lower order. Collective.
  subroutine advance(f, dt)
    type(flow), intent(inout) :: f
    real(dp), intent(in) :: dt
    integer, parameter :: parts(7) = [1, 1, 2, 4, 8, 16, 32]
    integer :: part
    if (f%levels > 1 .or. f%order == 1) then
      call advance_once(f, dt)
    else
      do part = 1, size(parts)
        call advance_once(f, dt * parts(part) / sum(parts))
      end do
    end if
  end subroutine

  subroutine advance_once(f, dt)
    type(flow), intent(inout) :: f
    real(dp), intent(in) :: dt
    real(dp) :: next, slopes(0:3), ahead(3)
    integer :: known
    next = f%times(1) + dt
    known = min(f%levels, f%order)
    slopes(:known) = lagrange_slopes([next, f%times(:known)], next)
    ahead(:known) = lagrange_values(f%times(:known), next)
    call find_change(f, known, slopes, ahead)
    call extrapolate_pressure(f, next)
    call find_pressure(f)
    call extrapolate_velocity(f, ahead(:known))
    call find_velocity(f, slopes(0))
    call shift_levels(f, next)
  end subroutine

  subroutine find_change(f, known, slopes, ahead)
    type(flow), intent(inout) :: f
    integer, intent(in) :: known
    real(dp), intent(in) :: slopes(0:3), ahead(3)
    integer :: l
    f%change = -ahead(1) * f%convection(:, :, :, :, :, f%slot(1))
    do l = 2, known
      f%change = f%change - ahead(l) * f%convection(:, :, :, :, :, f%slot(l))
    end do
    call make_continuous(f%space, 3, f%change)
    f%change = f%change - slopes(1) * f%velocity
    do l = 2, known
      f%change = f%change - slopes(l) * f%past(:, :, :, :, :, f%ago(l - 1))
    end do
  end subroutine

  !> Solves for the pressure that makes change - grad p solenoidal.
  subroutine find_pressure(f)
    type(flow), intent(inout) :: f
    call apply_divergence(f%space%mesh, f%space%metric, f%change, f%integrals)
    call assemble(f%space, 1, f%integrals)
    f%pressure_iterations = &
      solve(f%poisson, f%pressure_work, f%tolerance, f%integrals, f%pressure)
    if (f%pressure_iterations < 0) call fail('the pressure does not converge: choose a smaller cfl')
    call remove_mean(f%space, f%pressure)
  end subroutine

  !> Solves slope * u - viscosity * laplace(u) = change - grad p.
  subroutine find_velocity(f, slope)
    type(flow), intent(inout) :: f
    real(dp), intent(in) :: slope
    call apply_gradient(f%space%mesh, f%space%metric, f%pressure, f%integrals)
    call subtract_from_mass_times(f%space%metric%mass, f%change, f%integrals)
    call assemble(f%space, 3, f%integrals)
    call set_reaction(f%helmholtz, slope)
    f%velocity_iterations = &
      solve(f%helmholtz, f%velocity_work, f%tolerance, f%integrals, f%velocity)
    if (f%velocity_iterations < 0) call fail('the velocity does not converge: choose a smaller cfl')
  end subroutine

  subroutine subtract_from_mass_times(mass, change, b)
    real(dp), intent(in) :: mass(:, :)
    real(dp), intent(in) :: change(size(mass, 1), 3, size(mass, 2))
    real(dp), intent(inout) :: b(size(mass, 1), 3, size(mass, 2))
    integer :: c
    do c = 1, 3
      b(:, c, :) = mass * change(:, c, :) - b(:, c, :)
    end do
  end subroutine

  subroutine extrapolate_pressure(f, next)
    type(flow), intent(inout) :: f
    real(dp), intent(in) :: next
    real(dp) :: ahead(2)
    real(dp), allocatable :: now(:, :, :, :, :)
    if (f%has_past_pressure) then
      ahead = lagrange_values(f%times(:2), next)
      now = f%pressure
      f%pressure = ahead(1) * now + ahead(2) * f%past_pressure
      call move_alloc(now, f%past_pressure)
    else
      f%past_pressure = f%pressure
    end if
    f%has_past_pressure = .true.
  end subroutine

  !> Keeps the present velocity as the first of the past, in the place of the oldest.
  subroutine extrapolate_velocity(f, ahead)
    type(flow), intent(inout) :: f
    real(dp), intent(in) :: ahead(:)
    integer :: l
    f%integrals = ahead(1) * f%velocity
    do l = 2, size(ahead)
      f%integrals = f%integrals + ahead(l) * f%past(:, :, :, :, :, f%ago(l - 1))
    end do
    f%ago = cshift(f%ago, 1)
    f%past(:, :, :, :, :, f%ago(1)) = f%velocity
    f%velocity = f%integrals
  end subroutine

  subroutine shift_levels(f, next)
    type(flow), intent(inout) :: f
    real(dp), intent(in) :: next
    f%times = [next, f%times(:2)]
    f%levels = min(f%levels + 1, size(f%times))
    f%slot = cshift(f%slot, -1)
    call apply_convection(f%space%mesh, f%space%metric, f%velocity, &
                          f%convection(:, :, :, :, :, f%slot(1)))
  end subroutine

end module
