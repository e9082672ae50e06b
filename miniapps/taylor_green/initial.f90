! SPDX-License-Identifier: BSD-3-Clause
! Velocities to begin from: the Taylor-Green vortex, Taylor's vortices in the plane, whose later
! fate is known exactly, and a random solenoidal field.
module initial
  use, intrinsic :: iso_fortran_env, only: dp => real64
  use mesh, only: spectral_mesh
  use random_modes, only: add_modes, fourier_modes, new_modes
  implicit none
  private
  public :: initial_velocity

contains

  function initial_velocity(case, mesh, drift, peak, seed) result(u)
    character(*), intent(in) :: case
    type(spectral_mesh), intent(in) :: mesh
    real(dp), intent(in) :: drift(3), peak
    integer, intent(in) :: seed
    real(dp), allocatable :: u(:, :, :, :, :)
    type(fourier_modes) :: modes
    allocate (u, mold=mesh%x)
    u = 0
    associate (x => mesh%x(:, :, :, 1, :), y => mesh%x(:, :, :, 2, :), z => mesh%x(:, :, :, 3, :))
      select case (case)
      case ('vortex')
        u(:, :, :, 1, :) = sin(x) * cos(y) * cos(z)
        u(:, :, :, 2, :) = -cos(x) * sin(y) * cos(z)
      case ('taylor')
        u(:, :, :, 1, :) = drift(1) - cos(x) * sin(y)
        u(:, :, :, 2, :) = drift(2) + sin(x) * cos(y)
        u(:, :, :, 3, :) = drift(3)
      case ('turbulence')
        modes = new_modes(peak, seed)
        call add_modes(modes, mesh, u)
      end select
    end associate
  end function

end module
