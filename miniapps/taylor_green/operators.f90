! SPDX-License-Identifier: BSD-3-Clause
! The operators of the weak form, without a matrix: each takes fields u(point, component, element)
! and gives integrals with every test function, element by element; what neighbouring elements
! contribute has not been added yet. d_a is the derivative along axis a of the reference element.
module operators
  use, intrinsic :: iso_fortran_env, only: dp => real64
  use geometry, only: metric
  use mesh, only: spectral_mesh
  use tensor, only: gradient, transposed_gradient
  implicit none
  private
  public :: apply_stiffness, stiffness_diagonal, apply_convection, apply_divergence, &
    apply_gradient, velocity_gradient, to_reference_axes

contains

  !> v = reaction * (q, u) + diffusion * (grad q, grad u)
  subroutine apply_stiffness(mesh, m, reaction, diffusion, components, u, v)
    type(spectral_mesh), intent(in) :: mesh
    type(metric), intent(in) :: m
    real(dp), intent(in) :: reaction, diffusion
    integer, intent(in) :: components
    real(dp), intent(in) :: u(mesh%n**3, components, mesh%count)
    real(dp), intent(out) :: v(mesh%n**3, components, mesh%count)
    real(dp) :: slope(mesh%n**3, 3), flux(mesh%n**3, 3), dt(mesh%n, mesh%n)
    integer :: e, c
    dt = transpose(mesh%d)
    do e = 1, mesh%count
      do c = 1, components
        call gradient(mesh%n, mesh%d, dt, u(:, c, e), slope)
        call weigh(m%g(:, :, e), slope, flux)
        call transposed_gradient(mesh%n, mesh%d, dt, flux, v(:, c, e))
        v(:, c, e) = diffusion * v(:, c, e) + reaction * m%mass(:, e) * u(:, c, e)
      end do
    end do
  end subroutine

  pure subroutine weigh(g, slope, flux)
    real(dp), intent(in) :: g(:, :), slope(:, :)
    real(dp), intent(out) :: flux(:, :)
    flux(:, 1) = g(:, 1) * slope(:, 1) + g(:, 4) * slope(:, 2) + g(:, 5) * slope(:, 3)
    flux(:, 2) = g(:, 4) * slope(:, 1) + g(:, 2) * slope(:, 2) + g(:, 6) * slope(:, 3)
    flux(:, 3) = g(:, 5) * slope(:, 1) + g(:, 6) * slope(:, 2) + g(:, 3) * slope(:, 3)
  end subroutine

  !> (grad q, grad u) of each point's own test function with itself.
  function stiffness_diagonal(mesh, m) result(diagonal)
    type(spectral_mesh), intent(in) :: mesh
    type(metric), intent(in) :: m
    real(dp) :: diagonal(mesh%n, mesh%n, mesh%n, mesh%count)
    real(dp) :: g(mesh%n, mesh%n, mesh%n, 6), d(mesh%n)
    integer :: e, i, j, k
    d = [(mesh%d(i, i), i=1, mesh%n)]
    do e = 1, mesh%count
      g = reshape(m%g(:, :, e), shape(g))
      do concurrent(i=1:mesh%n, j=1:mesh%n, k=1:mesh%n)
        diagonal(i, j, k, e) = sum(mesh%d(:, i)**2 * g(:, j, k, 1)) &
          + sum(mesh%d(:, j)**2 * g(i, :, k, 2)) + sum(mesh%d(:, k)**2 * g(i, j, :, 3)) &
          + 2 * d(i) * (d(j) * g(i, j, k, 4) + d(k) * g(i, j, k, 5)) &
          + 2 * d(j) * d(k) * g(i, j, k, 6)
      end do
    end do
  end function

  !> v = [(q, u . grad u) - (u . grad q, u)] / 2: skew-symmetric, so that it makes no energy.
  subroutine apply_convection(mesh, m, u, v)
    type(spectral_mesh), intent(in) :: mesh
    type(metric), intent(in) :: m
    real(dp), intent(in) :: u(mesh%n**3, 3, mesh%count)
    real(dp), intent(out) :: v(mesh%n**3, 3, mesh%count)
    real(dp), dimension(mesh%n**3, 3) :: wind, slope, flux
    real(dp) :: dt(mesh%n, mesh%n)
    integer :: e, c
    dt = transpose(mesh%d)
    do e = 1, mesh%count
      call to_reference_axes(m%cofactor(:, :, :, e), u(:, :, e), wind)
      wind = wind / 2
      do c = 1, 3
        call gradient(mesh%n, mesh%d, dt, u(:, c, e), slope)
        flux = wind * spread(u(:, c, e), 2, 3)
        call transposed_gradient(mesh%n, mesh%d, dt, flux, v(:, c, e))
        v(:, c, e) = wind(:, 1) * slope(:, 1) + wind(:, 2) * slope(:, 2) &
          + wind(:, 3) * slope(:, 3) - v(:, c, e)
      end do
    end do
  end subroutine

  !> v = (grad q, u)
  subroutine apply_divergence(mesh, m, u, v)
    type(spectral_mesh), intent(in) :: mesh
    type(metric), intent(in) :: m
    real(dp), intent(in) :: u(mesh%n**3, 3, mesh%count)
    real(dp), intent(out) :: v(mesh%n**3, mesh%count)
    real(dp) :: flux(mesh%n**3, 3)
    integer :: e
    do e = 1, mesh%count
      call to_reference_axes(m%cofactor(:, :, :, e), u(:, :, e), flux)
      call transposed_gradient(mesh%n, mesh%d, transpose(mesh%d), flux, v(:, e))
    end do
  end subroutine

  !> v = (q, grad p)
  subroutine apply_gradient(mesh, m, p, v)
    type(spectral_mesh), intent(in) :: mesh
    type(metric), intent(in) :: m
    real(dp), intent(in) :: p(mesh%n**3, mesh%count)
    real(dp), intent(out) :: v(mesh%n**3, 3, mesh%count)
    real(dp) :: slope(mesh%n**3, 3)
    integer :: e, c
    do e = 1, mesh%count
      call gradient(mesh%n, mesh%d, transpose(mesh%d), p(:, e), slope)
      do c = 1, 3
        v(:, c, e) = m%cofactor(:, 1, c, e) * slope(:, 1) + m%cofactor(:, 2, c, e) * slope(:, 2) &
          + m%cofactor(:, 3, c, e) * slope(:, 3)
      end do
    end do
  end subroutine

  !> slope(:, b, c) = du_c/dx_b at the points of one element.
  subroutine velocity_gradient(mesh, m, e, u, slope)
    type(spectral_mesh), intent(in) :: mesh
    type(metric), intent(in) :: m
    integer, intent(in) :: e
    real(dp), intent(in) :: u(mesh%n**3, 3)
    real(dp), intent(out) :: slope(mesh%n**3, 3, 3)
    real(dp) :: reference(mesh%n**3, 3)
    integer :: b, c
    do c = 1, 3
      call gradient(mesh%n, mesh%d, transpose(mesh%d), u(:, c), reference)
      do b = 1, 3
        slope(:, b, c) = sum(m%cofactor(:, :, b, e) * reference, dim=2) / m%mass(:, e)
      end do
    end do
  end subroutine

  !> The component of u along each reference axis, times W J.
  pure subroutine to_reference_axes(cofactor, u, along)
    real(dp), intent(in) :: cofactor(:, :, :), u(:, :)
    real(dp), intent(out) :: along(:, :)
    integer :: a
    do a = 1, 3
      along(:, a) = cofactor(:, a, 1) * u(:, 1) + cofactor(:, a, 2) * u(:, 2) &
        + cofactor(:, a, 3) * u(:, 3)
    end do
  end subroutine

end module
