! SPDX-License-Identifier: BSD-3-Clause
! A session from opening to closing, but for sharing. Communicators are those of `mpi_f08` or the
! integers of `mpi` and mpif.h. [collective] means that every simulation rank makes the call.
module pillion_sessions
  use, intrinsic :: iso_c_binding, only: c_double, c_int32_t, c_int64_t, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use mpi_f08, only: MPI_Comm
  use pillion_c, only: &
    c_checkpoint, c_close, c_communicator_fortran, c_configure, c_count_fields, c_count_scalars, &
    c_field, c_get_field, c_get_progress, c_get_scalar_name, c_is_due, c_is_enabled, c_offer_catalogue, &
    c_open_with_fortran, c_ready, c_report_path, c_serve, c_set_parameter, c_step, c_version, &
    pillion_progress
  use pillion_opening_options, only: pillion_options
  use pillion_status, only: conclude, conclude_and_continue, from_c, text_of, to_c
  implicit none
  private
  public :: pillion_checkpoint, pillion_close, pillion_communicator, pillion_configure, &
    pillion_count_fields, pillion_count_scalars, pillion_field, pillion_get_field, &
    pillion_get_progress, pillion_get_scalar_name, pillion_is_due, pillion_is_enabled, pillion_offer_catalogue, pillion_open, &
    pillion_open_with, pillion_ready, pillion_report_path, pillion_serve, pillion_session, &
    pillion_set_parameter, pillion_step, pillion_version

  type :: pillion_session
    type(c_ptr) :: handle = c_null_ptr
  end type

  ! A field of the catalogue, and the mesh that it lives on.
  type :: pillion_field
    character(:), allocatable :: name
    character(:), allocatable :: mesh
    integer :: mesh_kind = 0        ! pillion_uniform, pillion_particles or pillion_spectral
    integer :: type = 0             ! pillion_float64 or its like
    integer :: components = 0
    integer :: axes = 0             ! of a uniform mesh: 1 to 3; of others 0
    integer(int64) :: cells(3) = 0  ! of a uniform mesh, 1 beyond its axes; of others 0
    logical :: used = .false.       ! by an analysis or a condition, so that it must be shared
    integer :: order = 0            ! of elements, for a field at their points; of others 0
    integer :: levels = 1           ! of refinement of a uniform mesh; cells are the coarsest's
    logical :: is_partial = .false. ! cells of a uniform mesh may be missing
    logical :: is_constant = .false. ! values never change
    character(:), allocatable :: units
  end type

  ! Opens a session from a YAML file. [collective over comm] Every rank fails, or none.
  interface pillion_open
    module procedure open_f08, open_integer
  end interface
  interface pillion_open_with
    module procedure open_with_f08, open_with_integer
  end interface

  ! Value of `$name` in the YAML file, before pillion_configure; alike on every rank.
  interface pillion_set_parameter
    module procedure set_parameter_text, set_parameter_int32, set_parameter_int64, &
      set_parameter_real32, set_parameter_real64
  end interface

  ! Gives the communicator of the simulation ranks, which may be used until MPI_Finalize.
  interface pillion_communicator
    module procedure communicator_f08, communicator_integer
  end interface

  ! Whether the step would do anything, so that a program may prepare what it shares only then.
  interface pillion_is_due
    module procedure is_due_int32, is_due_int64
  end interface

  ! Offers a step: runs or publishes what is due, and returns at once if nothing is. [collective]
  interface pillion_step
    module procedure step_int32, step_int64
  end interface

contains

  subroutine open_f08(file, comm, session, ierr)
    character(*), intent(in) :: file
    type(MPI_Comm), intent(in) :: comm
    type(pillion_session), intent(out) :: session
    integer, intent(out), optional :: ierr
    call open_with_integer(file, comm%MPI_VAL, pillion_options(), session, ierr)
  end subroutine

  subroutine open_integer(file, comm, session, ierr)
    character(*), intent(in) :: file
    integer, intent(in) :: comm
    type(pillion_session), intent(out) :: session
    integer, intent(out), optional :: ierr
    call open_with_integer(file, comm, pillion_options(), session, ierr)
  end subroutine

  subroutine open_with_f08(file, comm, options, session, ierr)
    character(*), intent(in) :: file
    type(MPI_Comm), intent(in) :: comm
    type(pillion_options), intent(in) :: options
    type(pillion_session), intent(out) :: session
    integer, intent(out), optional :: ierr
    call open_with_integer(file, comm%MPI_VAL, options, session, ierr)
  end subroutine

  subroutine open_with_integer(file, comm, options, session, ierr)
    character(*), intent(in) :: file
    integer, intent(in) :: comm
    type(pillion_options), intent(in) :: options
    type(pillion_session), intent(out) :: session
    integer, intent(out), optional :: ierr
    call conclude(c_open_with_fortran(to_c(file), comm, options%handle, session%handle), ierr)
  end subroutine

  ! The second phase of a session whose options were set deferred.
  subroutine set_parameter_text(session, name, value, ierr)
    type(pillion_session), intent(in) :: session
    character(*), intent(in) :: name, value
    integer, intent(out), optional :: ierr
    call conclude(c_set_parameter(session%handle, to_c(name), to_c(value)), ierr)
  end subroutine

  subroutine set_parameter_int32(session, name, value, ierr)
    type(pillion_session), intent(in) :: session
    character(*), intent(in) :: name
    integer(int32), intent(in) :: value
    integer, intent(out), optional :: ierr
    call set_parameter_text(session, name, text_of(value), ierr)
  end subroutine

  subroutine set_parameter_int64(session, name, value, ierr)
    type(pillion_session), intent(in) :: session
    character(*), intent(in) :: name
    integer(int64), intent(in) :: value
    integer, intent(out), optional :: ierr
    call set_parameter_text(session, name, text_of(value), ierr)
  end subroutine

  subroutine set_parameter_real32(session, name, value, ierr)
    type(pillion_session), intent(in) :: session
    character(*), intent(in) :: name
    real(real32), intent(in) :: value
    integer, intent(out), optional :: ierr
    call set_parameter_text(session, name, text_of(value), ierr)
  end subroutine

  subroutine set_parameter_real64(session, name, value, ierr)
    type(pillion_session), intent(in) :: session
    character(*), intent(in) :: name
    real(real64), intent(in) :: value
    integer, intent(out), optional :: ierr
    call set_parameter_text(session, name, text_of(value), ierr)
  end subroutine

  ! A catalogue in the place of that of the options, before pillion_configure; alike on every rank.
  subroutine pillion_offer_catalogue(session, yaml, ierr)
    type(pillion_session), intent(in) :: session
    character(*), intent(in) :: yaml
    integer, intent(out), optional :: ierr
    call conclude(c_offer_catalogue(session%handle, to_c(yaml)), ierr)
  end subroutine

  ! Completes the opening; pillion_ready and the first step do it otherwise. [collective] Every rank
  ! fails, or none.
  subroutine pillion_configure(session, ierr)
    type(pillion_session), intent(in) :: session
    integer, intent(out), optional :: ierr
    call conclude(c_configure(session%handle), ierr)
  end subroutine

  ! On a sidecar rank: works until the simulation closes its session, and gives .true.; the session
  ! is closed then. On a simulation rank: gives .false. at once.
  function pillion_serve(session) result(served)
    type(pillion_session), intent(inout) :: session
    logical :: served
    served = c_serve(session%handle) /= 0
    if (served) session%handle = c_null_ptr
  end function

  subroutine communicator_f08(session, comm)
    type(pillion_session), intent(in) :: session
    type(MPI_Comm), intent(out) :: comm
    comm%MPI_VAL = c_communicator_fortran(session%handle)
  end subroutine

  subroutine communicator_integer(session, comm)
    type(pillion_session), intent(in) :: session
    integer, intent(out) :: comm
    comm = c_communicator_fortran(session%handle)
  end subroutine

  ! How many fields the catalogue has.
  subroutine pillion_count_fields(session, count, ierr)
    type(pillion_session), intent(in) :: session
    integer, intent(out) :: count
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: fields
    fields = 0
    call conclude(c_count_fields(session%handle, fields), ierr)
    count = int(fields)
  end subroutine

  ! What the file says of a field; `number` counts from 1.
  subroutine pillion_get_field(session, number, field, ierr)
    type(pillion_session), intent(in) :: session
    integer, intent(in) :: number
    type(pillion_field), intent(out) :: field
    integer, intent(out), optional :: ierr
    type(c_field) :: found
    integer(c_int32_t) :: status
    status = c_get_field(session%handle, int(number - 1, c_int32_t), found)
    if (status == 0) then
      field%name = from_c(found%name)
      field%mesh = from_c(found%mesh)
      field%mesh_kind = int(found%mesh_kind)
      field%type = int(found%type)
      field%components = int(found%components)
      field%axes = int(found%axes)
      field%cells = found%cells
      field%used = found%used /= 0
      field%order = int(found%order)
      field%levels = int(found%levels)
      field%is_partial = found%is_partial /= 0
      field%is_constant = found%is_constant /= 0
      field%units = from_c(found%units)
    end if
    call conclude(status, ierr)
  end subroutine

  ! How many scalars the catalogue has.
  subroutine pillion_count_scalars(session, count, ierr)
    type(pillion_session), intent(in) :: session
    integer, intent(out) :: count
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: scalars
    scalars = 0
    call conclude(c_count_scalars(session%handle, scalars), ierr)
    count = int(scalars)
  end subroutine

  ! The name of a scalar; `number` counts from 1.
  subroutine pillion_get_scalar_name(session, number, name, ierr)
    type(pillion_session), intent(in) :: session
    integer, intent(in) :: number
    character(:), allocatable, intent(out) :: name
    integer, intent(out), optional :: ierr
    type(c_ptr) :: found
    integer(c_int32_t) :: status
    found = c_null_ptr
    status = c_get_scalar_name(session%handle, int(number - 1, c_int32_t), found)
    name = ''
    if (status == 0) name = from_c(found)
    call conclude(status, ierr)
  end subroutine

  ! Checks that everything which analyses need is shared and fits; the first step does it otherwise.
  ! [collective] Every rank gets the same status.
  subroutine pillion_ready(session, ierr)
    type(pillion_session), intent(in) :: session
    integer, intent(out), optional :: ierr
    call conclude(c_ready(session%handle), ierr)
  end subroutine

  function is_due_int32(session, step, time, ierr) result(due)
    type(pillion_session), intent(in) :: session
    integer(int32), intent(in) :: step
    real(real64), intent(in) :: time
    integer, intent(out), optional :: ierr
    logical :: due
    due = is_due_int64(session, int(step, int64), time, ierr)
  end function

  function is_due_int64(session, step, time, ierr) result(due)
    type(pillion_session), intent(in) :: session
    integer(int64), intent(in) :: step
    real(real64), intent(in) :: time
    integer, intent(out), optional :: ierr
    logical :: due
    integer(c_int32_t) :: answer
    answer = 0
    call conclude(c_is_due(session%handle, step, time, answer), ierr)
    due = answer /= 0
  end function

  subroutine step_int32(session, step, time, ierr)
    type(pillion_session), intent(in) :: session
    integer(int32), intent(in) :: step
    real(real64), intent(in) :: time
    integer, intent(out), optional :: ierr
    call conclude(c_step(session%handle, int(step, c_int64_t), time), ierr)
  end subroutine

  subroutine step_int64(session, step, time, ierr)
    type(pillion_session), intent(in) :: session
    integer(int64), intent(in) :: step
    real(real64), intent(in) :: time
    integer, intent(out), optional :: ierr
    call conclude(c_step(session%handle, step, time), ierr)
  end subroutine

  ! Saves what stages remember in the directory `path`, whole or not at all. [collective]
  ! Without ierr a failure prints its message, and the program continues.
  subroutine pillion_checkpoint(session, path, ierr)
    type(pillion_session), intent(in) :: session
    character(*), intent(in) :: path
    integer, intent(out), optional :: ierr
    call conclude_and_continue(c_checkpoint(session%handle, to_c(path)), ierr)
  end subroutine

  ! How the run is doing, as this rank knows it without asking anyone.
  subroutine pillion_get_progress(session, progress, ierr)
    type(pillion_session), intent(in) :: session
    type(pillion_progress), intent(out) :: progress
    integer, intent(out), optional :: ierr
    call conclude(c_get_progress(session%handle, progress), ierr)
  end subroutine

  ! Path of the run report, which is there when the session is closed.
  function pillion_report_path(session) result(path)
    type(pillion_session), intent(in) :: session
    character(:), allocatable :: path
    path = from_c(c_report_path(session%handle))
  end function

  ! Ends the session: waits until sidecars have finished, writes the last products and the report.
  ! [collective] Closing twice is allowed. Without ierr a failure prints its message.
  subroutine pillion_close(session, ierr)
    type(pillion_session), intent(inout) :: session
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: status
    status = c_close(session%handle)
    session%handle = c_null_ptr
    call conclude_and_continue(status, ierr)
  end subroutine

  ! 'MAJOR.MINOR.PATCH' of the library that is running.
  function pillion_version() result(version)
    character(:), allocatable :: version
    version = from_c(c_version())
  end function

  ! Whether this is the library, and not what stands in for it in builds without Pillion.
  pure function pillion_is_enabled() result(enabled)
    logical :: enabled
    enabled = c_is_enabled() /= 0
  end function
end module
