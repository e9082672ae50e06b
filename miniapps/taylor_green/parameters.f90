! SPDX-License-Identifier: BSD-3-Clause
! The parameters of a run, with their defaults. They are read from a namelist file, if the first
! argument names one, and from arguments NAME=VALUE, which win.
module parameters
  use, intrinsic :: iso_fortran_env, only: dp => real64
  use failure, only: fail
  implicit none
  private
  public :: read_parameters

  character(64), public, protected :: case = 'vortex' ! or 'taylor', 'turbulence'
  integer, public, protected :: elements = 8 ! along each side of the box
  integer, public, protected :: order = 7 ! of the polynomials in an element
  real(dp), public, protected :: deform = 0 ! of the mesh; 0.3 is strong
  real(dp), public, protected :: reynolds = 100 ! 1 / viscosity
  real(dp), public, protected :: end_time = 10
  real(dp), public, protected :: max_dt = 0 ! 0: as cfl says
  real(dp), public, protected :: cfl = 0.4_dp
  integer, public, protected :: time_order = 3
  real(dp), public, protected :: tolerance = 1e-8_dp ! of the iterations
  real(dp), public, protected :: drift(3) = 0 ! velocity that is added in case 'taylor'
  real(dp), public, protected :: peak = 3 ! wave number of 'turbulence'
  integer, public, protected :: seed = 1 ! of 'turbulence'
  integer, public, protected :: report_every = 10 ! steps
  integer, public, protected :: checkpoint_every = 0 ! steps; 0: only at the end
  character(256), public, protected :: checkpoint = '' ! file to write
  character(256), public, protected :: restart = '' ! file to begin from
  character(256), public, protected :: analyses = 'pillion.yaml'

  namelist /run/ case, elements, order, deform, reynolds, end_time, max_dt, cfl, time_order, &
    tolerance, drift, peak, seed, report_every, checkpoint_every, checkpoint, restart, analyses

contains

  subroutine read_parameters()
    character(1024) :: argument
    integer :: number
    do number = 1, command_argument_count()
      call get_command_argument(number, argument)
      if (index(argument, '=') == 0) then
        call read_file(trim(argument))
      else
        call read_setting(trim(argument))
      end if
    end do
    call check()
  end subroutine

  subroutine read_file(name)
    character(*), intent(in) :: name
    character(256) :: message
    integer :: unit, status
    open (newunit=unit, file=name, status='old', action='read', iostat=status, iomsg=message)
    if (status == 0) read (unit, nml=run, iostat=status, iomsg=message)
    if (status /= 0) call fail(name // ': ' // trim(message) // &
      ' (a file of parameters holds a namelist: &run order = 7 /)')
    close (unit)
  end subroutine

  !> Texts need no quotation marks here.
  subroutine read_setting(setting)
    character(*), intent(in) :: setting
    character(:), allocatable :: text
    character(256) :: message
    integer :: equals, status
    equals = index(setting, '=')
    select case (setting(:equals - 1))
    case ('case', 'checkpoint', 'restart', 'analyses')
      text = setting(:equals) // "'" // setting(equals + 1:) // "'"
    case default
      text = setting
    end select
    text = '&run ' // text // ' /'
    read (text, nml=run, iostat=status, iomsg=message)
    if (status /= 0) call fail(setting // ': ' // trim(message))
  end subroutine

  subroutine check()
    select case (case)
    case ('vortex', 'taylor', 'turbulence')
    case default
      call fail("case=" // trim(case) // ": must be vortex, taylor or turbulence")
    end select
    call demand(elements >= 1 .and. elements <= 256, 'elements must be between 1 and 256')
    call demand(order >= 2 .and. order <= 15, 'order must be between 2 and 15')
    call demand(reynolds > 0, 'reynolds must be positive')
    call demand(max_dt >= 0 .and. cfl > 0, 'cfl must be positive, max_dt positive or 0')
    call demand(time_order >= 1 .and. time_order <= 3, 'time_order must be 1, 2 or 3')
    call demand(tolerance > 0 .and. tolerance < 1, 'tolerance must be between 0 and 1')
    call demand(peak >= 1, 'peak must be 1 or more')
    call demand(seed >= 1, 'seed must be positive')
    call demand(report_every >= 1, 'report_every must be positive')
    call demand(checkpoint_every >= 0, 'checkpoint_every must not be negative')
  end subroutine

  subroutine demand(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) call fail(what)
  end subroutine

end module
