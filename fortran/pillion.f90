! SPDX-License-Identifier: BSD-3-Clause
! For simulations in Fortran: `use pillion`, open a session, let sidecar ranks serve, share blocks
! of fields, offer steps. The calls are those of C; docs/howto-fortran.md says what is different.
! Every call has an optional last argument `ierr`; without it a mistake of the program stops the
! job. A failure inside Pillion after the first step never does.
module pillion
  use pillion_c, only: &
    pillion_any_block, pillion_components_first, pillion_components_last, pillion_curvilinear, &
    pillion_error_argument, pillion_error_configuration, pillion_error_file, &
    pillion_error_internal, pillion_error_placement, pillion_error_plugin, pillion_error_sharing, &
    pillion_error_stage, pillion_error_state, pillion_float32, pillion_float64, pillion_int16, &
    pillion_int32, pillion_int64, pillion_int8, pillion_log_debug, pillion_log_error, &
    pillion_log_info, pillion_log_warning, pillion_ok, pillion_particles, pillion_progress, &
    pillion_rectilinear, pillion_role_any, pillion_role_sidecar, pillion_role_simulation, &
    pillion_spectral, pillion_uint16, pillion_uint32, pillion_uint64, pillion_uint8, &
    pillion_uniform, pillion_unstructured, pillion_view
  use pillion_opening_options
  use pillion_sessions
  use pillion_sharing
  use pillion_status, only: pillion_error_message
  implicit none
  public
end module
