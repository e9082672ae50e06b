! SPDX-License-Identifier: BSD-3-Clause
! A simulation that halts at floating-point exceptions, as compiled with -ffpe-trap, for
! test_halting.py. With an argument it does not.
program halting
  use, intrinsic :: ieee_arithmetic
  use, intrinsic :: ieee_exceptions
  use, intrinsic :: iso_fortran_env, only: output_unit, real64
  use mpi
  use pillion
  implicit none

  type(pillion_session) :: session
  real(real64), target :: heights(12)
  logical :: is_halting(3)
  integer :: code, step, i

  call MPI_Init(code)
  heights = [(1.0_real64*i, i=1, 12)]
  heights(3) = ieee_value(heights(3), ieee_quiet_nan)
  heights(5) = ieee_value(heights(5), ieee_positive_inf)
  heights(7) = 1e300_real64
  heights(9) = -1e300_real64
  if (command_argument_count() == 0) call ieee_set_halting_mode(ieee_usual, .true.)
  call pillion_open('pillion.yaml', MPI_COMM_WORLD, session)
  call pillion_share_box(session, 'height', 0, [1], [12], heights)
  do step = 0, 4
    call pillion_step(session, step, 0.5_real64*step)
  end do
  call pillion_close(session)
  call ieee_get_halting_mode(ieee_usual, is_halting)
  write (output_unit, '(a, l1)') 'halting ', all(is_halting)
  call MPI_Finalize(code)
end program
