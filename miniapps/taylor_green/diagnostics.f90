! SPDX-License-Identifier: BSD-3-Clause
! A flow at one time in a few numbers: means over the box of energy and dissipation, how solenoidal
! the velocity is, and how long a step its points allow.
module diagnostics
  use, intrinsic :: iso_fortran_env, only: dp => real64, output_unit
  use failure, only: fail
  use mpi_f08
  use operators, only: to_reference_axes, velocity_gradient
  use space, only: spectral_space, total
  use stepping, only: flow
  implicit none
  private
  public :: report, longest_step

contains

  !> Prints a line on rank 0. Collective.
  subroutine report(f, step, viscosity, dt)
    type(flow), intent(in) :: f
    integer, intent(in) :: step
    real(dp), intent(in) :: viscosity, dt
    real(dp) :: energy, enstrophy, divergence, cfl
    call averages(f%space, f%velocity, energy, enstrophy, divergence)
    cfl = dt / longest_step(f%space, f%velocity)
    if (.not. energy < huge(energy)) &
      call fail('the velocity is no longer finite: choose a smaller cfl')
    if (f%space%mesh%rank /= 0) return
    write (output_unit, '(a, i0, 3(a, es22.15), 2(a, es9.3), 2(a, i0))') 'step=', step, &
      ' t=', f%times(1), ' energy=', energy, ' dissipation=', 2 * viscosity * enstrophy, &
      ' divergence=', divergence, ' cfl=', cfl, ' pressure_iterations=', f%pressure_iterations, &
      ' velocity_iterations=', f%velocity_iterations
    flush (output_unit)
  end subroutine

  !> Means of |u|^2 / 2 and |curl u|^2 / 2, and the root of the mean of (div u)^2. Collective.
  subroutine averages(space, velocity, energy, enstrophy, divergence)
    type(spectral_space), intent(in) :: space
    real(dp), intent(in) :: velocity(space%mesh%n**3, 3, space%mesh%count)
    real(dp), intent(out) :: energy, enstrophy, divergence
    real(dp) :: s(space%mesh%n**3, 3, 3), sums(3)
    integer :: e
    sums = 0
    do e = 1, space%mesh%count
      call velocity_gradient(space%mesh, space%metric, e, velocity(:, :, e), s)
      associate (mass => space%metric%mass(:, e))
        sums(1) = sums(1) + sum(mass * sum(velocity(:, :, e)**2, dim=2))
        sums(2) = sums(2) + sum(mass * ((s(:, 2, 3) - s(:, 3, 2))**2 &
                                        + (s(:, 3, 1) - s(:, 1, 3))**2 &
                                        + (s(:, 1, 2) - s(:, 2, 1))**2))
        sums(3) = sums(3) + sum(mass * (s(:, 1, 1) + s(:, 2, 2) + s(:, 3, 3))**2)
      end associate
    end do
    energy = total(space, sums(1)) / (2 * space%volume)
    enstrophy = total(space, sums(2)) / (2 * space%volume)
    divergence = sqrt(total(space, sums(3)) / space%volume)
  end subroutine

  !> The time in which the flow goes from a point to the next, at the fastest place. Collective.
  function longest_step(space, velocity) result(dt)
    type(spectral_space), intent(in) :: space
    real(dp), intent(in) :: velocity(space%mesh%n**3, 3, space%mesh%count)
    real(dp) :: dt, rate, along(space%mesh%n**3, 3), per_distance(space%mesh%n**3, 3)
    integer :: e
    per_distance = points_per_distance(space%mesh%nodes)
    rate = 0
    do e = 1, space%mesh%count
      call to_reference_axes(space%metric%cofactor(:, :, :, e), velocity(:, :, e), along)
      rate = max(rate, maxval(sum(abs(along) * per_distance, dim=2) / space%metric%mass(:, e)))
    end do
    call MPI_Allreduce(MPI_IN_PLACE, rate, 1, MPI_DOUBLE_PRECISION, MPI_MAX, space%mesh%comm)
    dt = 1 / max(rate, tiny(rate))
  end function

  !> One over the distance to the nearest other point along each axis of the reference element.
  pure function points_per_distance(nodes) result(per)
    real(dp), intent(in) :: nodes(:)
    real(dp), dimension(size(nodes), size(nodes), size(nodes), 3) :: cube
    real(dp) :: per(size(nodes)**3, 3), gap(size(nodes))
    integer :: n
    n = size(nodes)
    gap(2:) = nodes(2:) - nodes(:n - 1)
    gap(1) = gap(2)
    gap(2:n - 1) = min(gap(2:n - 1), gap(3:))
    cube(:, :, :, 1) = spread(spread(1 / gap, 2, n), 3, n)
    cube(:, :, :, 2) = spread(spread(1 / gap, 1, n), 3, n)
    cube(:, :, :, 3) = spread(spread(1 / gap, 1, n), 2, n)
    per = reshape(cube, shape(per))
  end function

end module
