! SPDX-License-Identifier: BSD-3-Clause
! How a session is opened: parameters of the YAML file, a catalogue that the program offers, and who
! hears the log. Options that were never created stand for every default.
module pillion_opening_options
  use, intrinsic :: iso_c_binding, only: &
    c_associated, c_char, c_f_procpointer, c_funloc, c_funptr, c_int32_t, c_null_funptr, &
    c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use pillion_c, only: &
    c_options_create, c_options_free, c_options_override, c_options_set, &
    c_options_set_catalogue, c_options_set_deferred, c_options_set_log, c_options_set_restart, &
    c_options_set_role
  use pillion_status, only: conclude, from_c, text_of, to_c
  implicit none
  private
  public :: pillion_log_handler, pillion_options, pillion_options_create, pillion_options_free, &
    pillion_options_override, pillion_options_set, pillion_options_set_catalogue, &
    pillion_options_set_deferred, pillion_options_set_log, pillion_options_set_restart, &
    pillion_options_set_role

  type :: pillion_options
    type(c_ptr) :: handle = c_null_ptr
  end type

  abstract interface
    ! Receives a message; `level` is one of pillion_log_debug and its like.
    subroutine pillion_log_handler(level, message)
      integer, intent(in) :: level
      character(*), intent(in) :: message
    end subroutine
  end interface

  ! Value of `$name` in the YAML file.
  interface pillion_options_set
    module procedure set_text, set_int32, set_int64, set_real32, set_real64
  end interface

contains

  subroutine pillion_options_create(options, ierr)
    type(pillion_options), intent(out) :: options
    integer, intent(out), optional :: ierr
    call conclude(c_options_create(options%handle), ierr)
  end subroutine

  subroutine pillion_options_free(options)
    type(pillion_options), intent(inout) :: options
    call c_options_free(options%handle)
    options%handle = c_null_ptr
  end subroutine

  subroutine set_text(options, name, value, ierr)
    type(pillion_options), intent(in) :: options
    character(*), intent(in) :: name, value
    integer, intent(out), optional :: ierr
    call conclude(c_options_set(options%handle, to_c(name), to_c(value)), ierr)
  end subroutine

  subroutine set_int32(options, name, value, ierr)
    type(pillion_options), intent(in) :: options
    character(*), intent(in) :: name
    integer(int32), intent(in) :: value
    integer, intent(out), optional :: ierr
    call set_text(options, name, text_of(value), ierr)
  end subroutine

  subroutine set_int64(options, name, value, ierr)
    type(pillion_options), intent(in) :: options
    character(*), intent(in) :: name
    integer(int64), intent(in) :: value
    integer, intent(out), optional :: ierr
    call set_text(options, name, text_of(value), ierr)
  end subroutine

  subroutine set_real32(options, name, value, ierr)
    type(pillion_options), intent(in) :: options
    character(*), intent(in) :: name
    real(real32), intent(in) :: value
    integer, intent(out), optional :: ierr
    call set_text(options, name, text_of(value), ierr)
  end subroutine

  subroutine set_real64(options, name, value, ierr)
    type(pillion_options), intent(in) :: options
    character(*), intent(in) :: name
    real(real64), intent(in) :: value
    integer, intent(out), optional :: ierr
    call set_text(options, name, text_of(value), ierr)
  end subroutine

  ! Role that this rank insists on; by default the session chooses.
  subroutine pillion_options_set_role(options, role, ierr)
    type(pillion_options), intent(in) :: options
    integer, intent(in) :: role
    integer, intent(out), optional :: ierr
    call conclude(c_options_set_role(options%handle, int(role, c_int32_t)), ierr)
  end subroutine

  ! YAML text with `meshes:`, `fields:` and `scalars:` that the program offers; entries of the user's
  ! file win.
  subroutine pillion_options_set_catalogue(options, yaml, ierr)
    type(pillion_options), intent(in) :: options
    character(*), intent(in) :: yaml
    integer, intent(out), optional :: ierr
    call conclude(c_options_set_catalogue(options%handle, to_c(yaml)), ierr)
  end subroutine

  ! Puts YAML in the place of what the file says at a key such as 'sidecars.when_full'.
  subroutine pillion_options_override(options, key, value, ierr)
    type(pillion_options), intent(in) :: options
    character(*), intent(in) :: key, value
    integer, intent(out), optional :: ierr
    call conclude(c_options_override(options%handle, to_c(key), to_c(value)), ierr)
  end subroutine

  ! Directory of a checkpoint to resume from; overrides `restart` of the YAML file.
  subroutine pillion_options_set_restart(options, path, ierr)
    type(pillion_options), intent(in) :: options
    character(*), intent(in) :: path
    integer, intent(out), optional :: ierr
    call conclude(c_options_set_restart(options%handle, to_c(path)), ierr)
  end subroutine

  ! Opens the session in two phases, on all ranks: opening only chooses the sidecars and gives the
  ! communicator. The program reads its inputs with that, and calls pillion_configure.
  subroutine pillion_options_set_deferred(options, ierr)
    type(pillion_options), intent(in) :: options
    integer, intent(out), optional :: ierr
    call conclude(c_options_set_deferred(options%handle), ierr)
  end subroutine

  ! The receiver of log messages, instead of standard error; without a handler there is none. A handler
  ! may be called until the session is closed, so it is no internal procedure of one that has ended.
  subroutine pillion_options_set_log(options, handler, ierr)
    type(pillion_options), intent(in) :: options
    procedure(pillion_log_handler), optional :: handler
    integer, intent(out), optional :: ierr
    if (present(handler)) then
      call conclude(c_options_set_log(options%handle, c_funloc(forward_message), &
        transfer(c_funloc(handler), c_null_ptr)), ierr)
    else
      call conclude(c_options_set_log(options%handle, c_null_funptr, c_null_ptr), ierr)
    end if
  end subroutine

  ! `context` is the address of a handler in Fortran.
  subroutine forward_message(context, level, message) bind(C)
    type(c_ptr), value :: context
    integer(c_int32_t), value :: level
    type(c_ptr), value :: message
    procedure(pillion_log_handler), pointer :: handler
    call c_f_procpointer(transfer(context, c_null_funptr), handler)
    call handler(int(level), from_c(message))
  end subroutine
end module
