! SPDX-License-Identifier: BSD-3-Clause
! Incompressible flow in a periodic box by spectral elements: the Taylor-Green vortex, or turbulence
! that decays. What names Pillion here is all of it in this program.
! Usage: taylor_green [FILE] [NAME=VALUE]..., where pillion.yaml is.
program taylor_green
  use, intrinsic :: iso_fortran_env, only: dp => real64
  use checkpoints, only: read_checkpoint, write_checkpoint
  use diagnostics, only: longest_step, report
  use initial, only: initial_velocity
  use mesh, only: new_mesh
  use mpi_f08
  use outputs, only: fields_of, named_field
  use parameters
  use pillion
  use space, only: new_space, spectral_space
  use stepping, only: advance, begin, flow, new_flow
  implicit none
  type(pillion_session) :: pil
  type(MPI_Comm) :: comm
  type(spectral_space), target :: box
  type(flow), target :: f
  type(named_field), allocatable :: fields(:)
  integer :: first, i, step, steps
  real(dp) :: dt, began, seconds = 0

  call MPI_Init()
  call read_parameters()
  call pillion_open(analyses, MPI_COMM_WORLD, pil)
  if (pillion_serve(pil)) then
    call MPI_Finalize()
    stop
  end if
  call pillion_communicator(pil, comm)
  box = new_space(new_mesh(elements, order, deform, comm))
  f = new_flow(box, 1 / reynolds, time_order, tolerance)
  call begin_flow()
  fields = fields_of(f)
  do step = first, first + steps
    began = MPI_Wtime()
    if (step > first) call advance(f, dt)
    seconds = seconds + MPI_Wtime() - began
    call report_and_keep()
    call pillion_share_elements(pil, 'number', 0, box%mesh%count, box%mesh%numbers)
    do i = 1, size(fields)
      call pillion_share_elements(pil, fields(i)%name, 0, box%mesh%count, fields(i)%values)
    end do
    call pillion_step(pil, step, f%times(1))
  end do
  if (box%mesh%rank == 0) print '(a, f0.4)', 'seconds per step: ', seconds / max(1, steps)
  call pillion_close(pil)
  call MPI_Finalize()

contains

  !> Steps are equally long, and the last ends at end_time.
  subroutine begin_flow()
    real(dp) :: longest
    first = 0
    if (restart /= '') then
      call read_checkpoint(f, trim(restart), first)
    else
      call begin(f, [0.0_dp], spread(initial_velocity(case, box%mesh, drift, peak, seed), 6, 1))
    end if
    longest = max_dt
    if (longest <= 0) longest = cfl * longest_step(box, f%velocity)
    steps = max(0, ceiling((end_time - f%times(1)) / longest * (1 - 1e-9_dp)))
    dt = (end_time - f%times(1)) / max(1, steps)
  end subroutine

  subroutine report_and_keep()
    logical :: due
    if (modulo(step, report_every) == 0 .or. step == first + steps) &
      call report(f, step, 1 / reynolds, dt)
    if (checkpoint == '') return
    due = step == first + steps
    if (checkpoint_every > 0) due = due .or. modulo(step, checkpoint_every) == 0
    if (due) call write_checkpoint(f, trim(checkpoint), step)
  end subroutine

end program
