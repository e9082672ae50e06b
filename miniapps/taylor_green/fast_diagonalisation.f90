! SPDX-License-Identifier: BSD-3-Clause
! Solves Poisson's equation on the mesh as it is without deformation, exactly: there the stiffness
! matrix is a sum of tensor products of one-dimensional matrices, whose eigenvectors diagonalise it
! (Lynch, Rice and Thomas, Numer. Math. 6, 185, 1964). With deformation that is a good
! preconditioner.
module fast_diagonalisation
  use, intrinsic :: iso_fortran_env, only: dp => real64
  use eigenvectors, only: diagonalise
  use mesh, only: spectral_mesh
  use slabs
  implicit none
  private
  public :: poisson_inverse, new_poisson_inverse, apply_inverse

  type :: poisson_inverse
    private
    type(slab_plan) :: slabs
    real(dp), allocatable :: vectors(:, :), transposed(:, :), values(:)
  end type

contains

  function new_poisson_inverse(mesh) result(inverse)
    type(spectral_mesh), intent(in) :: mesh
    type(poisson_inverse) :: inverse
    inverse%slabs = new_slabs(mesh)
    call find_modes(mesh, inverse)
  end function

  !> z solves A z = r, where r is complete (summed over elements) and without mean. z is set at one
  !> of the copies of each point, 0 at the others. Collective.
  subroutine apply_inverse(inverse, points, r, z)
    type(poisson_inverse), intent(in) :: inverse
    integer, intent(in) :: points
    real(dp), intent(in) :: r(points)
    real(dp), intent(out) :: z(points)
    real(dp) :: planes(inverse%slabs%width**2 * inverse%slabs%thick)
    call elements_to_planes(inverse%slabs, r, planes)
    call solve_in_slab(inverse, inverse%slabs%width, inverse%slabs%thick, planes)
    call planes_to_elements(inverse%slabs, planes, z)
  end subroutine

  subroutine solve_in_slab(inverse, w, thick, planes)
    type(poisson_inverse), intent(in) :: inverse
    integer, intent(in) :: w, thick
    real(dp), intent(inout) :: planes(w, w, thick)
    real(dp), allocatable :: a(:, :, :), lines(:, :, :)
    integer :: plane
    allocate (a(w, w, thick), lines(w, thick, w))
    call multiply(w, w, w * thick, inverse%transposed, planes, a)
    do plane = 1, thick
      call multiply(w, w, w, a(:, :, plane), inverse%vectors, planes(:, :, plane))
    end do
    call planes_to_lines(inverse%slabs, planes, lines)
    call multiply(w * thick, w, w, lines, inverse%vectors, a)
    call divide_by_eigenvalues(inverse, w, thick, a)
    call multiply(w * thick, w, w, a, inverse%transposed, lines)
    call lines_to_planes(inverse%slabs, lines, planes)
    do plane = 1, thick
      call multiply(w, w, w, planes(:, :, plane), inverse%transposed, a(:, :, plane))
    end do
    call multiply(w, w, w * thick, inverse%vectors, a, planes)
  end subroutine

  subroutine multiply(rows, inner, columns, a, b, c)
    integer, intent(in) :: rows, inner, columns
    real(dp), intent(in) :: a(rows, inner), b(inner, columns)
    real(dp), intent(out) :: c(rows, columns)
    c = matmul(a, b)
  end subroutine

  !> a(x, y of this rank, z); the constant, whose eigenvalue is 0, is left out.
  subroutine divide_by_eigenvalues(inverse, w, thick, a)
    type(poisson_inverse), intent(in) :: inverse
    integer, intent(in) :: w, thick
    real(dp), intent(inout) :: a(w, thick, w)
    real(dp) :: total(w)
    integer :: y, z
    do z = 1, w
      do y = 1, thick
        total = inverse%values + inverse%values(inverse%slabs%low + y - 1) + inverse%values(z)
        where (total > 1e-9_dp)
          a(:, y, z) = a(:, y, z) / total
        elsewhere
          a(:, y, z) = 0
        end where
      end do
    end do
  end subroutine

  !> Eigenvectors s and values l of the assembled matrices along one axis: K s = l M s.
  subroutine find_modes(mesh, inverse)
    type(spectral_mesh), intent(in) :: mesh
    type(poisson_inverse), intent(inout) :: inverse
    real(dp) :: stiffness(inverse%slabs%width, inverse%slabs%width), mass(inverse%slabs%width)
    real(dp) :: element(mesh%n, mesh%n), half
    integer :: e, i, j, p, q
    half = acos(-1.0_dp) / mesh%side
    element = matmul(transpose(mesh%d), spread(mesh%weights, 2, mesh%n) * mesh%d) / half
    stiffness = 0
    mass = 0
    do e = 0, mesh%side - 1
      do j = 1, mesh%n
        q = 1 + modulo(e * (mesh%n - 1) + j - 1, size(mass))
        mass(q) = mass(q) + mesh%weights(j) * half
        do i = 1, mesh%n
          p = 1 + modulo(e * (mesh%n - 1) + i - 1, size(mass))
          stiffness(p, q) = stiffness(p, q) + element(i, j)
        end do
      end do
    end do
    stiffness = stiffness / sqrt(spread(mass, 1, size(mass)) * spread(mass, 2, size(mass)))
    allocate (inverse%values(size(mass)), inverse%vectors(size(mass), size(mass)))
    call diagonalise(stiffness, inverse%values, inverse%vectors)
    inverse%vectors = inverse%vectors / spread(sqrt(mass), 2, size(mass))
    inverse%transposed = transpose(inverse%vectors)
  end subroutine

end module
