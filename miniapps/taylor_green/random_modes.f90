! SPDX-License-Identifier: BSD-3-Clause
! A random solenoidal velocity: a sum of waves with whole wave numbers, whose spectrum is
! E(k) ~ k^4 exp(-2 (k / peak)^2) up to k = 2 peak, shell by shell exactly. Every rank draws all
! waves from the same sequence, so that the field depends on nothing but peak and seed.
module random_modes
  use, intrinsic :: iso_fortran_env, only: dp => real64, int64
  use mesh, only: spectral_mesh
  implicit none
  private
  public :: fourier_modes, new_modes, add_modes

  real(dp), parameter :: energy = 1.5_dp !! per mass: each component has an rms of 1

  type :: fourier_modes
    integer :: largest !! wave number
    integer, allocatable :: k(:, :) !! axis, wave: one of each pair k, -k
    complex(dp), allocatable :: amplitude(:, :) !! component, wave: u = sum Re(amplitude exp(i k.x))
  end type

contains

  function new_modes(peak, seed) result(modes)
    real(dp), intent(in) :: peak
    integer, intent(in) :: seed
    type(fourier_modes) :: modes
    modes%largest = nint(2 * peak)
    modes%k = half_of_sphere(modes%largest)
    call draw(modes, int(seed, int64))
    call impose_spectrum(modes, peak)
  end function

  !> Adds the field at the points of this rank's elements.
  subroutine add_modes(modes, mesh, u)
    type(fourier_modes), intent(in) :: modes
    type(spectral_mesh), intent(in) :: mesh
    real(dp), intent(inout) :: u(mesh%n**3, 3, mesh%count)
    complex(dp), dimension(mesh%n**3, -modes%largest:modes%largest, 3) :: wave
    complex(dp) :: here(mesh%n**3)
    integer :: e, m, a, c
    do e = 1, mesh%count
      do a = 1, 3
        do m = -modes%largest, modes%largest
          wave(:, m, a) = exp(cmplx(0, m * reshape(mesh%x(:, :, :, a, e), [mesh%n**3]), dp))
        end do
      end do
      do m = 1, size(modes%k, 2)
        here = wave(:, modes%k(1, m), 1) * wave(:, modes%k(2, m), 2) * wave(:, modes%k(3, m), 3)
        do c = 1, 3
          u(:, c, e) = u(:, c, e) + modes%amplitude(c, m)%re * here%re &
            - modes%amplitude(c, m)%im * here%im
        end do
      end do
    end do
  end subroutine

  pure function half_of_sphere(largest) result(k)
    integer, intent(in) :: largest
    integer, allocatable :: k(:, :)
    integer :: a, b, c, pass, found
    do pass = 1, 2
      found = 0
      do c = 0, largest
        do b = -largest, largest
          do a = -largest, largest
            if (a**2 + b**2 + c**2 > largest**2) cycle
            if (c == 0 .and. (b < 0 .or. (b == 0 .and. a <= 0))) cycle
            found = found + 1
            if (pass == 2) k(:, found) = [a, b, c]
          end do
        end do
      end do
      if (pass == 1) allocate (k(3, found))
    end do
  end function

  !> Gaussian amplitudes, without their part along the wave vector.
  subroutine draw(modes, seed)
    type(fourier_modes), intent(inout) :: modes
    integer(int64), intent(in) :: seed
    integer(int64) :: state
    complex(dp) :: a(3)
    integer :: m, c, skip
    allocate (modes%amplitude(3, size(modes%k, 2)))
    state = 1 + modulo(seed * 7919, 2147483646_int64)
    do skip = 1, 10
      state = following(state)
    end do
    do m = 1, size(modes%k, 2)
      do c = 1, 3
        call gaussian(state, a(c))
      end do
      associate (k => modes%k(:, m))
        modes%amplitude(:, m) = a - k * sum(k * a) / sum(k**2)
      end associate
    end do
  end subroutine

  !> Box and Muller.
  subroutine gaussian(state, z)
    integer(int64), intent(inout) :: state
    complex(dp), intent(out) :: z
    real(dp) :: radius
    state = following(state)
    radius = sqrt(-2 * log(state / 2147483647.0_dp))
    state = following(state)
    z = radius * exp(cmplx(0, 2 * acos(-1.0_dp) * state / 2147483647.0_dp, dp))
  end subroutine

  !> The generator of Park and Miller (Commun. ACM 36, 108, 1993).
  pure integer(int64) function following(state)
    integer(int64), intent(in) :: state
    following = modulo(48271 * state, 2147483647_int64)
  end function

  !> Shells are one wave number thick. A wave has the energy |amplitude|^2 / 4.
  subroutine impose_spectrum(modes, peak)
    type(fourier_modes), intent(inout) :: modes
    real(dp), intent(in) :: peak
    real(dp), dimension(modes%largest) :: wanted, drawn
    integer :: m, s
    wanted = [(s**4 * exp(-2 * (s / peak)**2), s=1, modes%largest)]
    wanted = wanted * energy / sum(wanted)
    drawn = 0
    do m = 1, size(modes%k, 2)
      s = shell(modes%k(:, m))
      drawn(s) = drawn(s) + sum(abs(modes%amplitude(:, m))**2) / 4
    end do
    do m = 1, size(modes%k, 2)
      s = shell(modes%k(:, m))
      modes%amplitude(:, m) = modes%amplitude(:, m) * sqrt(wanted(s) / drawn(s))
    end do
  end subroutine

  pure integer function shell(k)
    integer, intent(in) :: k(3)
    shell = nint(norm2(real(k, dp)))
  end function

end module
