! SPDX-License-Identifier: BSD-3-Clause
! Global numbers of the points of the mesh: points of neighbouring elements that coincide, also
! around the periodic box, have one number. And an order that sorts such numbers.
module numbering
  use, intrinsic :: iso_fortran_env, only: int64
  use mesh, only: place_of, spectral_mesh
  implicit none
  private
  public :: surface_points, global_numbers, sorted_order

contains

  !> Which of the n^3 points of an element, from 1, other elements may have too.
  pure function surface_points(n) result(points)
    integer, intent(in) :: n
    integer, allocatable :: points(:)
    logical :: inside(n, n, n)
    integer :: p
    inside = .false.
    inside(2:n - 1, 2:n - 1, 2:n - 1) = .true.
    points = pack([(p, p=1, n**3)], .not. reshape(inside, [n**3]))
  end function

  pure function global_numbers(mesh, element, points) result(numbers)
    type(spectral_mesh), intent(in) :: mesh
    integer, intent(in) :: element, points(:)
    integer(int64) :: numbers(size(points)), along(3), width
    integer :: p
    width = mesh%side * (mesh%n - 1)
    do p = 1, size(points)
      along = modulo([points(p) - 1, (points(p) - 1) / mesh%n, (points(p) - 1) / mesh%n**2], mesh%n)
      along = modulo(place_of(mesh, element) * (mesh%n - 1) + along, width)
      numbers(p) = along(1) + width * (along(2) + width * along(3))
    end do
  end function

  !> numbers(order) ascends, and equal numbers keep their order: a merge sort.
  pure function sorted_order(numbers) result(order)
    integer(int64), intent(in) :: numbers(:)
    integer :: order(size(numbers)), merged(size(numbers))
    integer :: width, first, middle, last, i
    order = [(i, i=1, size(numbers))]
    width = 1
    do while (width < size(numbers))
      do first = 1, size(numbers), 2 * width
        middle = min(first + width, size(numbers) + 1)
        last = min(first + 2 * width, size(numbers) + 1) - 1
        merged(first:last) = merge_runs(numbers, order(first:middle - 1), order(middle:last))
      end do
      order = merged
      width = 2 * width
    end do
  end function

  pure function merge_runs(numbers, a, b) result(both)
    integer(int64), intent(in) :: numbers(:)
    integer, intent(in) :: a(:), b(:)
    integer :: both(size(a) + size(b)), i, from_a, from_b
    logical :: take_a
    from_a = 1
    from_b = 1
    do i = 1, size(both)
      take_a = from_b > size(b)
      if (.not. take_a .and. from_a <= size(a)) take_a = numbers(a(from_a)) <= numbers(b(from_b))
      if (take_a) then
        both(i) = a(from_a)
        from_a = from_a + 1
      else
        both(i) = b(from_b)
        from_b = from_b + 1
      end if
    end do
  end function

end module
