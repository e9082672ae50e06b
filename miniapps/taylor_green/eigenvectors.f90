! SPDX-License-Identifier: BSD-3-Clause
! Eigenvalues and eigenvectors of a small symmetric matrix, by Jacobi's rotations.
module eigenvectors
  use, intrinsic :: iso_fortran_env, only: dp => real64
  implicit none
  private
  public :: diagonalise

contains

  !> matrix = vectors * diag(values) * transpose(vectors); the vectors are orthonormal.
  pure subroutine diagonalise(matrix, values, vectors)
    real(dp), intent(in) :: matrix(:, :)
    real(dp), intent(out) :: values(:), vectors(:, :)
    real(dp) :: a(size(values), size(values)), scale
    integer :: i, p, q, sweep
    a = matrix
    scale = maxval(abs(matrix))
    vectors = 0
    do i = 1, size(values)
      vectors(i, i) = 1
    end do
    do sweep = 1, 60
      do q = 2, size(values)
        do p = 1, q - 1
          if (abs(a(p, q)) > 1e-18_dp * scale) call rotate(p, q, a, vectors)
        end do
      end do
      values = [(a(i, i), i=1, size(values))]
      if (sum(a**2) - sum(values**2) < (1e-15_dp * scale)**2 * size(a)) exit
    end do
  end subroutine

  !> Makes a(p, q) zero (Golub and Van Loan, Matrix Computations, section 8.5).
  pure subroutine rotate(p, q, a, vectors)
    integer, intent(in) :: p, q
    real(dp), intent(inout) :: a(:, :), vectors(:, :)
    real(dp) :: tau, t, c, s
    tau = (a(q, q) - a(p, p)) / (2 * a(p, q))
    t = sign(1.0_dp, tau) / (abs(tau) + sqrt(1 + tau**2))
    c = 1 / sqrt(1 + t**2)
    s = t * c
    call turn(c, s, a(:, p), a(:, q))
    call turn(c, s, a(p, :), a(q, :))
    call turn(c, s, vectors(:, p), vectors(:, q))
  end subroutine

  pure subroutine turn(c, s, x, y)
    real(dp), intent(in) :: c, s
    real(dp), intent(inout) :: x(:), y(:)
    real(dp) :: old(size(x))
    old = x
    x = c * old - s * y
    y = s * old + c * y
  end subroutine

end module
