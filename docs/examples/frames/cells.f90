! SPDX-License-Identifier: BSD-3-Clause
! What is around a block of docs/howto-unstructured.md: a tetrahedron and a pyramid.
program cells
  use mpi_f08
  use pillion
  implicit none
  type(pillion_session) :: pil
  double precision, target :: xyz(3, 6), heat(2)
  real, target :: velocity(3, 6)
  integer :: types(2), offsets(3), corners(9)
  call MPI_Init()
  xyz = 0
  heat = 300
  velocity = 0
  types = [10, 14]
  offsets = [1, 5, 10]
  corners = [1, 2, 3, 6, 1, 2, 5, 4, 6]
  call pillion_open('pillion.yaml', MPI_COMM_WORLD, pil)
  ! block
  call pillion_step(pil, 0, 0d0)
  call pillion_close(pil)
  call MPI_Finalize()
end program
