! SPDX-License-Identifier: BSD-3-Clause
! The fields of a flow by their names, for all that only looks on.
module outputs
  use, intrinsic :: iso_fortran_env, only: dp => real64
  use stepping, only: flow
  implicit none
  private
  public :: named_field, fields_of

  type :: named_field
    character(:), allocatable :: name
    real(dp), pointer :: values(:, :, :, :, :) !! i, j, k, component, element
  end type

contains

  !> Nothing is copied: the values are where the solver has them.
  function fields_of(f) result(fields)
    type(flow), intent(in), target :: f
    type(named_field) :: fields(3)
    fields(1)%name = 'xyz'
    fields(1)%values => f%space%mesh%x
    fields(2)%name = 'velocity'
    fields(2)%values => f%velocity
    fields(3)%name = 'pressure'
    fields(3)%values => f%pressure
  end function

end module
