! SPDX-License-Identifier: BSD-3-Clause
! What is around blocks of docs/howto-fortran.md: a program that has arrays.
program arrays
  use mpi_f08
  use pillion
  implicit none
  integer, parameter :: nx = 4, ny = 3, nz = 2
  type(pillion_session) :: pil
  integer :: lo(3), hi(3), count, step, steps
  double precision, target :: rho(0:nx + 1, 0:ny + 1, 0:nz + 1), x(3, 100)
  real, target :: u(nx, ny, nz, 3)
  double precision, pointer :: density(:, :, :)
  call MPI_Init()
  lo = 1
  hi = [nx, ny, nz]
  rho = 1
  u = 0
  x = 0.5d0
  count = 100
  steps = 3
  allocate (density(nx, ny, nz), source=0d0)
  step = 0
  call pillion_open('pillion.yaml', MPI_COMM_WORLD, pil)
  ! block
  call pillion_step(pil, step + count + int(density(1, 1, 1)), 1d0)
  call pillion_close(pil)
  call MPI_Finalize()
end program
